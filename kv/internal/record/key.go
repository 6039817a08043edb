package record

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// A Kind is the first byte of every key. Kinds from FirstGenerational on are followed by a generation, so that a
// whole column, matrix, space or graph is one key range that can be written beside the one it replaces.
type Kind byte

// The kinds of keys, with what follows the kind.
const (
	KindHeader   Kind = 0x01 // format version and store id
	KindCatalog  Kind = 0x02 // part uint16
	KindDocument Kind = 0x03 // space 0x00 key 0x00 part uint16
	KindCounts   Kind = 0x04 // what small writes change of the catalogue
	KindDecided  Kind = 0x05 // nothing: its version is that of the last commit with decisions

	KindAdjacency          Kind = 0x10 // generation, block uint32, part uint16
	KindAdjacencyPartition Kind = 0x11 // generation, 0 uint32, part uint16: how many nodes each block has
	KindEdgeDelta          Kind = 0x12 // generation, NodeID, NodeID: edge added, removed or changed, under both ends
	KindDegreeDelta        Kind = 0x13 // generation, NodeID: how many of either
	KindArcs               Kind = 0x14 // generation, block uint32, part uint16: of the lists of adjacency

	KindIDs       Kind = 0x20 // generation, block uint32: position → external id
	KindIDLookup  Kind = 0x21 // generation, bucket uint32: hash of the external id → position
	KindNodeAt    Kind = 0x22 // generation, block uint32: position → NodeID
	KindPosition  Kind = 0x23 // generation, block uint32: NodeID → position
	KindAddedNode Kind = 0x24 // generation, NodeID: → external id of a node added after the load
	KindAddedID   Kind = 0x25 // generation, external id: → its NodeID
	KindRemoved   Kind = 0x26 // generation, block uint32: NodeIDs of removed nodes

	KindColumn      Kind = 0x30 // generation, block uint32, part uint16
	KindColumnDelta Kind = 0x31 // generation, NodeID
	KindMatrix      Kind = 0x40 // generation, row block uint32, tile uint32
	KindRowDelta    Kind = 0x41 // generation, NodeID, part uint16
	KindSpace       Kind = 0x50 // generation, the borrower's key
	KindChanges     Kind = 0x51 // generation, commit uint64: the nodes that it touched
)

// FirstGenerational and EndGenerational bound the kinds whose keys continue with a generation.
const (
	FirstGenerational Kind = 0x10
	EndGenerational   Kind = 0x60
)

var kindNames = map[Kind]string{
	KindHeader:             "header",
	KindCatalog:            "catalogue",
	KindDocument:           "document",
	KindCounts:             "counts",
	KindDecided:            "last decisions",
	KindAdjacency:          "adjacency block",
	KindAdjacencyPartition: "adjacency partition",
	KindEdgeDelta:          "edge delta",
	KindDegreeDelta:        "degree delta",
	KindArcs:               "arcs block",
	KindIDs:                "id block",
	KindIDLookup:           "id lookup bucket",
	KindNodeAt:             "file order block",
	KindPosition:           "position block",
	KindAddedNode:          "added node",
	KindAddedID:            "added id",
	KindRemoved:            "block of removed nodes",
	KindColumn:             "column block",
	KindColumnDelta:        "column delta",
	KindMatrix:             "matrix block",
	KindRowDelta:           "matrix row delta",
	KindSpace:              "space entry",
	KindChanges:            "changes of commits",
}

// String is the kind in words; empty if there is no such kind.
func (k Kind) String() string { return kindNames[k] }

// IsBlock says whether records of the kind are written once, with their generation, and never changed.
func (k Kind) IsBlock() bool {
	switch k {
	case KindAdjacency, KindAdjacencyPartition, KindArcs, KindIDs, KindIDLookup, KindNodeAt, KindPosition, KindColumn,
		KindMatrix:
		return true
	}
	return false
}

// InPacks says whether a Bulk or a load may write records of the kind: blocks, and what may be changed later one by
// one.
func (k Kind) InPacks() bool {
	return k.IsBlock() || k == KindRemoved || k == KindColumnDelta || k == KindSpace
}

// ChangesGeneration is the generation of the changes of all commits. It is never replaced.
const ChangesGeneration Generation = 0

// ChangesKey is the key of the changes of a commit.
func ChangesKey(number uint64) []byte {
	return binary.BigEndian.AppendUint64(Prefix(KindChanges, ChangesGeneration), number)
}

// ChangesCommit is the commit of a key of KindChanges; false for any other key.
func ChangesCommit(key []byte) (number uint64, ok bool) {
	if len(key) != 13 || Kind(key[0]) != KindChanges {
		return 0, false
	}
	return binary.BigEndian.Uint64(key[5:]), true
}

// A Generation numbers one written version of a column, matrix, space or graph. Zero is none; numbers are never
// committed twice in the life of a store.
type Generation uint32

// Prefix is the key range of everything of one kind and generation.
func Prefix(k Kind, g Generation) []byte {
	key := make([]byte, 5, 16)
	key[0] = byte(k)
	binary.BigEndian.PutUint32(key[1:], uint32(g))
	return key
}

// GenerationOf is the generation in a key of five bytes or more, of a kind that has one.
func GenerationOf(key []byte) Generation { return Generation(binary.BigEndian.Uint32(key[1:])) }

// NumberKey is a generation's key followed by one number, such as a block or a NodeID.
func NumberKey(k Kind, g Generation, n uint32) []byte {
	return binary.BigEndian.AppendUint32(Prefix(k, g), n)
}

// PairKey is a generation's key followed by two numbers, such as a row block and a tile.
func PairKey(k Kind, g Generation, a, b uint32) []byte {
	return binary.BigEndian.AppendUint32(NumberKey(k, g, a), b)
}

// PartKey is the key of one part of a record that is chained over several values. prefix is not changed.
func PartKey(prefix []byte, part int) []byte {
	key := make([]byte, len(prefix), len(prefix)+2)
	copy(key, prefix)
	return binary.BigEndian.AppendUint16(key, uint16(part))
}

// NumberAt reads the i-th number after the generation of a key that a scan found; ErrCorrupt if the key ends before.
func NumberAt(key []byte, i int) (uint32, error) {
	at := 5 + 4*i
	if len(key) < at+4 {
		return 0, fmt.Errorf("%s: %w: the key is too short", Describe(key), ErrCorrupt)
	}
	return binary.BigEndian.Uint32(key[at:]), nil
}

// IsKnown says whether a key is of a kind that there is, and has its generation.
func IsKnown(key []byte) bool {
	return len(key) > 0 && Kind(key[0]).String() != "" && (Kind(key[0]) < FirstGenerational || len(key) >= 5)
}

// Describe says in words what a key is of, for errors.
func Describe(key []byte) string {
	if len(key) == 0 {
		return "empty key"
	}
	k := Kind(key[0])
	name, known := kindNames[k]
	if !known {
		return "unknown key " + hex.EncodeToString(key)
	}
	if k < FirstGenerational || len(key) < 5 {
		return name
	}
	rest, g := key[5:], GenerationOf(key)
	switch {
	case k == KindSpace || k == KindAddedID || len(rest) < 4:
		return fmt.Sprintf("%s %q of generation %d", name, rest, g)
	case len(rest) >= 8:
		return fmt.Sprintf("%s %d/%d of generation %d", name, binary.BigEndian.Uint32(rest),
			binary.BigEndian.Uint32(rest[4:]), g)
	}
	return fmt.Sprintf("%s %d of generation %d", name, binary.BigEndian.Uint32(rest), g)
}
