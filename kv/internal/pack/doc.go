// Package pack writes and reads sorted, checksummed, immutable tables of records, in the format of Badger. It knows
// nothing of stores: of which tables there are, who names them and when they go.
package pack
