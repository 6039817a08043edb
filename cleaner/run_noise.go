package cleaner

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/kv"
)

// The confident joint of a run is a kv.Space of its own, and nothing but the counts that are not zero is in it: at most
// one for every fitting node, however many classes there are. A record holds many of them in order of their cell,
// given·c + true, under the cell of the first, 8 bytes big endian; its value is uvarints, two a count: the distance to
// the cell before, and the count.

// jointRecord is how many counts a record holds: far less than kv.MaxSpaceValue at two uvarints each.
const jointRecord = 2048

func jointSpace(run string) string { return "joint/" + run }

// writeJoint writes the counts [c×c] of a run.
func writeJoint(b *kv.Bulk, run string, joint *classmatrix.Matrix) error {
	w, err := b.Space(jointSpace(run))
	if err != nil {
		return err
	}
	var key, value []byte
	var last uint64
	count := 0
	flush := func() error {
		if count == 0 {
			return nil
		}
		err := w.Put(key, value)
		key, value, count = key[:0], value[:0], 0
		return err
	}
	for _, c := range joint.Cells {
		cell := uint64(c.Row)*uint64(joint.Classes) + uint64(c.Column)
		if count == 0 {
			key, last = binary.BigEndian.AppendUint64(key, cell), cell
		}
		value = binary.AppendUvarint(value, cell-last)
		value = binary.AppendUvarint(value, uint64(c.Value))
		last = cell
		if count++; count == jointRecord {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// readJoint reads what writeJoint wrote for c classes.
func readJoint(tx *kv.Tx, run string, c int) (*classmatrix.Matrix, error) {
	counts := make(map[uint64]uint32)
	for e, err := range tx.Space(jointSpace(run)).Ascend(nil) {
		if err != nil {
			return nil, err
		}
		if len(e.Key) != 8 {
			return nil, corruptJoint(run, c)
		}
		cell := binary.BigEndian.Uint64(e.Key)
		for value := e.Value; len(value) > 0; {
			gap, n := binary.Uvarint(value)
			count, m := binary.Uvarint(value[max(n, 0):])
			cells := uint64(c) * uint64(c)
			if n <= 0 || m <= 0 || count == 0 || count > math.MaxUint32 || gap >= cells || cell >= cells-gap {
				return nil, corruptJoint(run, c)
			}
			value = value[n+m:]
			cell += gap
			counts[cell] = uint32(count)
		}
	}
	return classmatrix.OfCounts(c, counts), nil
}

func corruptJoint(run string, c int) error {
	return fmt.Errorf("run %s: its confident joint is not one of %d classes: %w", run, c, kv.ErrCorrupt)
}
