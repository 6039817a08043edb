package index

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Statistics are an equi-depth histogram of an index, taken when it is built: the keys that cut its entries into
// parts of equal size. Later changes do not touch them; if they say that little is in a range, the plan looks.
type statistics struct {
	entries int64
	bounds  []string // ascending keys, cut to maxBoundLen; one part ends at each
}

const (
	statisticsSpace   = "index"
	statisticsVersion = 1
	maxBounds         = 256
	maxBoundLen       = 32
)

// estimate says about how many entries lie in r, to within one part; ok is false when the index was built on
// nothing, so that nothing is known.
func (s statistics) estimate(r keyRange) (entries float64, ok bool) {
	if len(s.bounds) == 0 {
		return 0, false
	}
	low := sort.SearchStrings(s.bounds, string(r.low))
	high := sort.SearchStrings(s.bounds, string(r.high))
	return float64(high-low) * s.depth(), true
}

// depth is the number of entries of one part.
func (s statistics) depth() float64 { return float64(s.entries) / float64(max(1, len(s.bounds))) }

// encode writes uvarints: version, entries, number of bounds, and each bound as length and bytes.
func (s statistics) encode() []byte {
	b := binary.AppendUvarint(nil, statisticsVersion)
	b = binary.AppendUvarint(b, uint64(s.entries))
	b = binary.AppendUvarint(b, uint64(len(s.bounds)))
	for _, bound := range s.bounds {
		b = append(binary.AppendUvarint(b, uint64(len(bound))), bound...)
	}
	return b
}

func decodeStatistics(data []byte) (statistics, error) {
	in := input{data: data}
	if version := in.number(1 << 20); version != statisticsVersion {
		return statistics{}, fmt.Errorf("version %d, want %d: %w", version, statisticsVersion, kv.ErrCorrupt)
	}
	s := statistics{entries: int64(in.number(1 << 40))}
	for range in.number(maxBounds) {
		s.bounds = append(s.bounds, string(in.take(in.number(maxBoundLen))))
	}
	if in.failed || len(in.data) > 0 || !slices.IsSorted(s.bounds) {
		return statistics{}, fmt.Errorf("they are cut short or out of order: %w", kv.ErrCorrupt)
	}
	return s, nil
}

func readStatistics(tx *kv.Tx, column string) (statistics, error) {
	data, err := tx.Space(statisticsSpace).Get([]byte(column))
	if err != nil {
		return statistics{}, fmt.Errorf("statistics of the index on %s: %w", column, err)
	}
	s, err := decodeStatistics(data)
	if err != nil {
		return statistics{}, fmt.Errorf("statistics of the index on %s: %w", column, err)
	}
	return s, nil
}

// A boundTaker picks the bounds from keys that pass by in ascending order.
type boundTaker struct {
	statistics
	every int64 // entries of a part
}

func (t *boundTaker) take(key []byte) {
	t.every = max(1, t.every)
	if t.entries++; t.entries%t.every != 0 {
		return
	}
	if len(t.bounds) == maxBounds { // every second one stays, and parts are twice as large from here on
		for i := range maxBounds / 2 {
			t.bounds[i] = t.bounds[2*i+1]
		}
		t.bounds = t.bounds[:maxBounds/2]
		if t.every *= 2; t.entries%t.every != 0 {
			return
		}
	}
	t.bounds = append(t.bounds, string(key[:min(len(key), maxBoundLen)]))
}
