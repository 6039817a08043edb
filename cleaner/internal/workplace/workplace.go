// Package workplace is where a job has its long arrays, and where it keeps the diagonals of a graph for the jobs after
// it. It knows no labels.
package workplace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/internal/mapped"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A Place is the workplace of a job. Of a store that is written to, it keeps diagonals in the directory that
// kv.Store.Work gives.
//
// A kept diagonal is an array of package scratch, on disk before the mark beside it, which has the version of the graph
// and a checksum of the array. One of another graph, without a mark or an array, or with a damaged one, is computed
// again, in its place. The nil *Place has arrays in memory, and keeps nothing.
type Place struct {
	scratch *scratch.Dir // of arrays that are gone with the process
	results *scratch.Dir // nil: nothing is kept
	version string       // of the graph
	done    func() error // lets the next job of the store in; nil: what others have kept is read
}

// Open waits for the job that works on the same store. The caller closes the place.
func Open(ctx context.Context, s *kv.Store, tx *kv.Tx) (*Place, error) {
	version, err := tx.Version(nil, nil)
	if err != nil {
		return nil, err
	}
	results, done, err := s.Work(ctx)
	if err != nil {
		return nil, err
	}
	for k := range ops.MaxHops { // those of an earlier graph go
		if mark, err := results.Get(markName(k + 1)); err == nil && !strings.HasPrefix(string(mark), version) {
			os.Remove(filepath.Join(results.Path(), markName(k+1)))  //nolint:errcheck // they take room, no more
			os.Remove(filepath.Join(results.Path(), arrayName(k+1))) //nolint:errcheck // as above
		}
	}
	return &Place{s.Scratch(), results, version, done}, nil
}

// Reading finds the diagonals that jobs have kept of the same graph, and keeps nothing. It needs no closing.
func Reading(tx *kv.Tx) (*Place, error) {
	results, err := tx.Store().Finished()
	if err != nil || results == nil {
		return Temporary(tx.Store().Scratch()), err
	}
	version, err := tx.Version(nil, nil)
	return &Place{scratch: tx.Store().Scratch(), results: results, version: version}, err
}

// Temporary has its arrays in a directory, and neither finds nor keeps anything.
func Temporary(dir *scratch.Dir) *Place { return &Place{scratch: dir} }

// Close leaves the kept results, and lets the next job in.
func (p *Place) Close() error { return p.done() }

// Scratch is where arrays are that are gone with the process.
func (p *Place) Scratch() *scratch.Dir {
	if p == nil {
		return nil
	}
	return p.scratch
}

// Diagonals must not be used once they are closed.
type Diagonals struct {
	*ops.Diagonals
	arrays []*scratch.Array[float64]
}

// Close gives the memory back, and leaves the kept results. Closing nil is harmless.
func (d *Diagonals) Close() (err error) {
	if d == nil {
		return nil
	}
	if d.Diagonals != nil {
		err = d.Diagonals.Close()
	}
	for _, a := range d.arrays {
		err = errors.Join(err, a.Detach())
	}
	return err
}

// Diagonals computes the diagonals of so many hops, or finds those that were kept of the same graph.
func (p *Place) Diagonals(ctx context.Context, g ops.Graph, hops int, opt ops.Options) (*Diagonals, error) {
	opt.Scratch = p.Scratch()
	powers, all := ops.Powers{Hops: hops}, &Diagonals{}
	if p != nil && p.results != nil && g.NumNodes() > 0 {
		for k := 1; k <= hops; k++ {
			a, err := p.kept(ctx, k, g.NumNodes(), opt.Workers)
			if err != nil {
				return nil, errors.Join(err, all.Close())
			}
			if a == nil {
				break
			}
			all.arrays, powers.Have = append(all.arrays, a), append(powers.Have, a.Data)
		}
		if p.done != nil {
			powers.OnHop = func(k int, values []float64) error { return p.keep(ctx, k, values, opt.Workers) }
		}
	}
	diagonals, err := ops.ComputeDiagonals(ctx, g, powers, opt)
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	all.Diagonals = diagonals
	return all, nil
}

func arrayName(k int) string { return fmt.Sprintf("diagonal-%d", k) }

func markName(k int) string { return arrayName(k) + ".done" }

// kept maps the diagonal of hop k, to be read; nil if none was kept, or it is damaged.
func (p *Place) kept(ctx context.Context, k, length, workers int) (*scratch.Array[float64], error) {
	mark, err := p.results.Get(markName(k))
	if err != nil {
		return nil, nil //nolint:nilerr // without a mark it was not finished
	}
	want, isOfGraph := strings.CutPrefix(string(mark), p.version)
	if !isOfGraph {
		return nil, nil
	}
	a, err := scratch.Keep[float64](p.results, arrayName(k), length, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sum, err := checksum(ctx, a.Data, workers)
	if _, fault := errors.AsType[*mapped.Fault](err); fault || err == nil && sum != want {
		return nil, a.Detach()
	}
	if err != nil {
		return nil, errors.Join(err, a.Detach())
	}
	return a, nil
}

// keep keeps the diagonal of hop k for as long as the graph is as it is.
func (p *Place) keep(ctx context.Context, k int, values []float64, workers int) error {
	a, err := scratch.New[float64](p.results, arrayName(k), len(values))
	if err != nil {
		return err
	}
	copy(a.Data, values)
	sum, err := checksum(ctx, a.Data, workers)
	if err == nil {
		err = a.Sync()
	}
	if err == nil {
		err = p.results.Put(markName(k), []byte(p.version+sum))
	}
	if err != nil {
		return errors.Join(err, a.Close())
	}
	return a.Detach()
}

// summedValues is how many values are summed at once.
const summedValues = 1 << 16

// checksum is that of an array, as a mark has it.
func checksum(ctx context.Context, values []float64, workers int) (string, error) {
	blocks := (len(values) + summedValues - 1) / summedValues
	sums := make([]byte, 4*blocks)
	texts := make([][]byte, parallel.Workers(workers))
	err := parallel.Do(ctx, len(texts), blocks, func(_ context.Context, worker, b int) error {
		text := texts[worker][:0]
		for _, x := range values[b*summedValues : min((b+1)*summedValues, len(values))] {
			text = binary.LittleEndian.AppendUint64(text, math.Float64bits(x))
		}
		binary.LittleEndian.PutUint32(sums[4*b:], crc32c.Of(text))
		texts[worker] = text
		return nil
	})
	return fmt.Sprintf(" %08x\n", crc32c.Of(sums)), err
}
