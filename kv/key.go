package kv

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// A kind is the first byte of every key. Kinds from firstGenerational on are followed by a generation, so that a
// whole column, matrix, space or graph is one key range that can be written beside the one it replaces.
type kind byte

const (
	kindHeader   kind = 0x01 // format version and store id; only a migration changes it
	kindCatalog  kind = 0x02 // part uint16
	kindDocument kind = 0x03 // space 0x00 key 0x00 part uint16
	kindCounts   kind = 0x04 // what small writes change of the catalogue
	kindCommit   kind = 0x05 // number of the last commit

	kindAdjacency          kind = 0x10 // generation, block uint32, part uint32
	kindAdjacencyDirectory kind = 0x11 // generation, chunk uint32: the blocks' ranges and parts
	kindEdgeDelta          kind = 0x12 // generation, NodeID, NodeID: edge added or removed, under both ends
	kindDegreeDelta        kind = 0x13 // generation, NodeID: how many of either
	kindArcs               kind = 0x14 // generation, block uint32, part uint32: of the lists of adjacency

	kindIDs       kind = 0x20 // generation, block uint32: position → external id
	kindIDLookup  kind = 0x21 // generation, bucket uint32: hash of the external id → position
	kindNodeAt    kind = 0x22 // generation, block uint32: position → NodeID
	kindPosition  kind = 0x23 // generation, block uint32: NodeID → position
	kindAddedNode kind = 0x24 // generation, NodeID: → external id of a node added after the load
	kindAddedID   kind = 0x25 // generation, external id: → its NodeID

	kindColumn      kind = 0x30 // generation, block uint32, part uint16
	kindColumnDelta kind = 0x31 // generation, NodeID
	kindMatrix      kind = 0x40 // generation, tile uint32, row block uint32: a tile of all rows is one range
	kindRowDelta    kind = 0x41 // generation, NodeID, part uint16
	kindSpace       kind = 0x50 // generation, the borrower's key
)

// firstGenerational and endGenerational bound the kinds whose keys continue with a generation.
const (
	firstGenerational kind = 0x10
	endGenerational   kind = 0x60
)

var kindNames = map[kind]string{
	kindHeader:             "header",
	kindCatalog:            "catalogue",
	kindDocument:           "document",
	kindCounts:             "counts",
	kindCommit:             "commit number",
	kindAdjacency:          "adjacency block",
	kindAdjacencyDirectory: "adjacency directory",
	kindEdgeDelta:          "edge delta",
	kindDegreeDelta:        "degree delta",
	kindArcs:               "arcs block",
	kindIDs:                "id block",
	kindIDLookup:           "id lookup bucket",
	kindNodeAt:             "file order block",
	kindPosition:           "position block",
	kindAddedNode:          "added node",
	kindAddedID:            "added id",
	kindColumn:             "column block",
	kindColumnDelta:        "column delta",
	kindMatrix:             "matrix block",
	kindRowDelta:           "matrix row delta",
	kindSpace:              "space entry",
}

// A generation numbers one written version of a column, matrix, space or graph. Zero is none; numbers are never used
// twice in the life of a store.
type generation uint32

// generationPrefix is the key range of everything of one kind and generation.
func generationPrefix(k kind, g generation) []byte {
	key := make([]byte, 5, 16)
	key[0] = byte(k)
	binary.BigEndian.PutUint32(key[1:], uint32(g))
	return key
}

// generationOf is the generation in a key of five bytes or more, of a kind that has one.
func generationOf(key []byte) generation { return generation(binary.BigEndian.Uint32(key[1:])) }

// numberKey is a generation's key followed by one number, such as a block or a NodeID.
func numberKey(k kind, g generation, n uint32) []byte {
	return binary.BigEndian.AppendUint32(generationPrefix(k, g), n)
}

// pairKey is a generation's key followed by two numbers, such as a row block and a tile.
func pairKey(k kind, g generation, a, b uint32) []byte {
	return binary.BigEndian.AppendUint32(numberKey(k, g, a), b)
}

func columnKey(g generation, block uint32) []byte       { return numberKey(kindColumn, g, block) } // + part
func columnDeltaKey(g generation, v NodeID) []byte      { return numberKey(kindColumnDelta, g, uint32(v)) }
func matrixKey(g generation, tile, block uint32) []byte { return pairKey(kindMatrix, g, tile, block) }
func rowDeltaKey(g generation, v NodeID) []byte         { return numberKey(kindRowDelta, g, uint32(v)) } // + part
func spaceKey(g generation, key []byte) []byte          { return append(generationPrefix(kindSpace, g), key...) }

// partKey is the key of one part of a record that is chained over several values. prefix is not changed.
func partKey(prefix []byte, part int) []byte {
	key := make([]byte, len(prefix), len(prefix)+2)
	copy(key, prefix)
	return binary.BigEndian.AppendUint16(key, uint16(part))
}

// numberAt reads the i-th number after the generation of a key that a scan found; ErrCorrupt where the key ends before.
func numberAt(key []byte, i int) (uint32, error) {
	at := 5 + 4*i
	if len(key) < at+4 {
		return 0, fmt.Errorf("%s: %w: the key is too short", describeKey(key), ErrCorrupt)
	}
	return binary.BigEndian.Uint32(key[at:]), nil
}

// numberOf is numberAt for a key of which nothing is known.
func numberOf(key []byte, i int) (n uint32, ok bool) {
	n, err := numberAt(key, i)
	return n, err == nil
}

// describeKey says in words what a key is of, for errors.
func describeKey(key []byte) string {
	if len(key) == 0 {
		return "empty key"
	}
	k := kind(key[0])
	name, known := kindNames[k]
	if !known {
		return "unknown key " + hex.EncodeToString(key)
	}
	if k < firstGenerational || len(key) < 5 {
		return name
	}
	rest := key[5:]
	g := generationOf(key)
	switch {
	case k == kindSpace || k == kindAddedID || len(rest) == 0:
		return fmt.Sprintf("%s %q of generation %d", name, rest, g)
	case len(rest) >= 8:
		return fmt.Sprintf("%s %d/%d of generation %d", name, binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:]), g)
	case len(rest) >= 4:
		return fmt.Sprintf("%s %d of generation %d", name, binary.BigEndian.Uint32(rest), g)
	}
	return fmt.Sprintf("%s %x of generation %d", name, rest, g)
}
