package query

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"os"

	"github.com/graphcleaner/graphcleaner/internal/floatbits"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv"
)

const (
	// defaultGroupBytes is the memory for groups if none was set.
	defaultGroupBytes = 64 << 20

	// groupBytes is about what a group takes in memory beside a text.
	groupBytes = 128
)

// groups count values. As many as fit into memory are counted there; what does not waits in temporary files.
type groups struct {
	limit  int64 // bytes that counts may take
	size   int64 // of them
	counts map[kv.Value]int64

	partial *spill.Sorter // counts of values, some repeated, by groupKey
	sorter  *spill.Sorter // values, those with the largest counts first, by their counts and groupKey
	key     []byte        // scratch
}

// newGroups returns groups that take about so many bytes of memory; 0 is a default.
func newGroups(memory int64) *groups {
	if memory == 0 {
		memory = defaultGroupBytes
	}
	return &groups{
		limit: memory / 4, counts: map[kv.Value]int64{},
		partial: spill.New(os.TempDir(), memory/4), sorter: spill.New(os.TempDir(), memory/4),
	}
}

func (g *groups) close() error { return errors.Join(g.partial.Close(), g.sorter.Close()) }

// release is close for a reader of rows. A temporary file that cannot be removed changes no row.
func (g *groups) release() {
	g.close() //nolint:errcheck // see above
}

// add counts a value.
func (g *groups) add(value kv.Value) error {
	if value.Kind() == kv.KindFloat && value.Float() == 0 {
		value = kv.FloatValue(0) // minus zero is equal to it
	}
	if _, known := g.counts[value]; !known {
		if g.size += groupBytes + int64(len(textOf(value))); g.size > g.limit {
			if err := g.spill(); err != nil {
				return err
			}
			g.size = groupBytes + int64(len(textOf(value)))
		}
	}
	g.counts[value]++
	return nil
}

// spill empties the counts into the sorter.
func (g *groups) spill() error {
	for value, n := range g.counts {
		g.key = appendGroupKey(g.key[:0], value)
		if err := g.partial.Add(g.key, binary.AppendUvarint(nil, uint64(n))); err != nil {
			return err
		}
	}
	clear(g.counts)
	return nil
}

// order adds up the counts and puts the groups in order: the largest first, those of equal size by their values.
func (g *groups) order(ctx context.Context) error {
	if err := g.spill(); err != nil {
		return err
	}
	g.counts = nil
	var of []byte // the group underway
	var sum uint64
	put := func() error {
		if sum == 0 {
			return nil
		}
		g.key = append(binary.BigEndian.AppendUint64(g.key[:0], ^sum), of...)
		return g.sorter.Add(g.key, nil)
	}
	for record, err := range g.partial.Records(ctx) {
		if err != nil {
			return err
		}
		if string(record.Key) != string(of) {
			if err := put(); err != nil {
				return err
			}
			of, sum = append(of[:0], record.Key...), 0
		}
		n, _ := binary.Uvarint(record.Value)
		sum += n
	}
	if err := put(); err != nil {
		return err
	}
	return g.partial.Close()
}

// rows yields the groups with their counts.
func (g *groups) rows(ctx context.Context) iter.Seq2[[]kv.Value, error] {
	return func(yield func([]kv.Value, error) bool) {
		for record, err := range g.sorter.Records(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			count := kv.IntValue(int64(^binary.BigEndian.Uint64(record.Key)))
			if !yield([]kv.Value{parseGroupKey(record.Key[8:]), count}, nil) {
				return
			}
		}
	}
}

// textOf is the text of a string, "" of any other value.
func textOf(v kv.Value) string {
	if v.Kind() == kv.KindString {
		return v.Str()
	}
	return ""
}

// appendGroupKey appends a key that is ordered as index.CompareValues orders the values of one property, those that are null last, and NaN after all
// numbers: a byte for the kind, null last, and the value.
func appendGroupKey(b []byte, v kv.Value) []byte {
	b = append(b, byte(v.Kind()))
	switch v.Kind() {
	case kv.KindNull:
		b[len(b)-1] = math.MaxUint8
	case kv.KindString:
		b = append(b, v.Str()...)
	case kv.KindBool:
		b = append(b, v.String()...)
	case kv.KindInt:
		b = binary.BigEndian.AppendUint64(b, uint64(v.Int())^1<<63)
	default:
		b = binary.BigEndian.AppendUint64(b, floatbits.Order(v.Float()))
	}
	return b
}

// parseGroupKey is the inverse of appendGroupKey.
func parseGroupKey(b []byte) kv.Value {
	kind, b := b[0], b[1:]
	switch kv.Kind(kind) {
	case math.MaxUint8:
		return kv.Value{}
	case kv.KindString:
		return kv.StringValue(string(b))
	case kv.KindBool:
		return kv.BoolValue(string(b) == "true")
	case kv.KindInt:
		return kv.IntValue(int64(binary.BigEndian.Uint64(b) ^ 1<<63))
	}
	return kv.FloatValue(floatbits.From(binary.BigEndian.Uint64(b)))
}
