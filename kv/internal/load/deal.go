package load

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
)

// dealtSorters sort records whose keys are ids, all those of one id in one of them. So each can be sorted by itself.
type dealtSorters []*dealtSorter

type dealtSorter struct {
	mu sync.Mutex
	*spill.Sorter
}

// leastDealt is how many bytes a dealtSorter holds at least if there is another: with less it would merge its records
// over and over.
const leastDealt = 256 << 10

// newDealtSorters returns a sorter for each worker, which hold about limit bytes together; fewer if that is little.
func newDealtSorters(dir string, limit int64, workers int) dealtSorters {
	d := make(dealtSorters, max(1, min(int64(parallel.Workers(workers)), limit/leastDealt)))
	for i := range d {
		d[i] = &dealtSorter{Sorter: spill.New(dir, limit/int64(len(d)))}
	}
	return d
}

// each calls do for every sorter, side by side.
func (d dealtSorters) each(ctx context.Context, do func(ctx context.Context, i int) error) error {
	return parallel.Do(ctx, len(d), len(d), func(ctx context.Context, _, i int) error { return do(ctx, i) })
}

func (d dealtSorters) close() (err error) {
	for _, s := range d {
		err = errors.Join(err, s.Close())
	}
	return err
}

// dealtBytes is how much a dealer collects before it waits for the sorters.
const dealtBytes = 64 << 10

// A dealer hands records to dealtSorters, which any number of dealers share. It belongs to one goroutine.
type dealer struct {
	to      dealtSorters
	records [][]byte // collected for each: the lengths of key and value as varints, then both
	bytes   int
}

func (d dealtSorters) dealer() *dealer { return &dealer{to: d, records: make([][]byte, len(d))} }

// add copies a record.
func (d *dealer) add(id string, value []byte) error {
	at := &d.records[dict.Hash(id)%uint64(len(d.to))]
	before := len(*at)
	*at = binary.AppendUvarint(*at, uint64(len(id)))
	*at = binary.AppendUvarint(*at, uint64(len(value)))
	*at = append(append(*at, id...), value...)
	if d.bytes += len(*at) - before; d.bytes < dealtBytes {
		return nil
	}
	return d.flush()
}

// flush hands over what is collected, first to the sorters that nobody else uses.
func (d *dealer) flush() error {
	var later []int
	for i, s := range d.to {
		switch {
		case len(d.records[i]) == 0:
		case s.mu.TryLock():
			if err := d.handOver(i); err != nil {
				return err
			}
		default:
			later = append(later, i)
		}
	}
	for _, i := range later {
		d.to[i].mu.Lock()
		if err := d.handOver(i); err != nil {
			return err
		}
	}
	d.bytes = 0
	return nil
}

// handOver gives a sorter, which is locked, its records, and unlocks it.
func (d *dealer) handOver(i int) error {
	s := d.to[i]
	defer s.mu.Unlock()
	for rest := d.records[i]; len(rest) > 0; {
		key, n := binary.Uvarint(rest)
		value, m := binary.Uvarint(rest[n:])
		rest = rest[n+m:]
		if err := s.Add(rest[:key], rest[key:key+value]); err != nil {
			return err
		}
		rest = rest[key+value:]
	}
	d.records[i] = d.records[i][:0]
	return nil
}
