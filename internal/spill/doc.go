// Package spill sorts more records than memory holds.
//
// A sorter collects records up to a number of bytes, sorts them, and writes them as a run into one temporary file; the
// runs are merged while they are read back. What never exceeds the limit never touches the disk.
//
// [Numbers] sorts numbers, which it keeps once each, or numbers with a value, on many goroutines. [Sorter] sorts keys
// with values, by the bytes of the key, and keeps records of equal keys in the order they were added; it belongs to one
// goroutine, and where its runs are too many to give each a buffer, neighbouring runs are first merged into longer
// ones.
//
// Order depends on what was added alone, never on the limit or the number of goroutines. Close removes the file, also
// after a failure.
package spill
