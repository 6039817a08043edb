package cleaner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
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

// A workplace is where a job has its long arrays, and where it keeps what it has finished. Of a store that is written
// to it is the directory that kv.Store.Work lends:
//
//	graph-VERSION/   what depends on the graph alone, the diagonals, for as long as the graph is as it is
//	run-KEY/         the joined predictions of one run, until it is finished; KEY names all that they depend on
//
// A finished array is an array of package scratch, on disk before the mark beside it, which has a checksum of it; what
// has no mark or array, or a damaged one, is done again. The nil *workplace keeps arrays in memory, and nothing
// for later.
type workplace struct {
	scratch    *scratch.Dir // of arrays that are gone with the process
	graph, run *scratch.Dir // nil: nothing is kept
	root       *scratch.Dir // which the store lends; nil: what others have kept is read
	done       func() error // gives root back
}

const (
	graphPrefix = "graph-"
	runPrefix   = "run-"
)

// openWorkplace waits for the job that works on the same store. The caller closes it.
func openWorkplace(ctx context.Context, s *kv.Store, tx *kv.Tx) (*workplace, error) {
	version, err := tx.Version(nil, nil)
	if err != nil {
		return nil, err
	}
	root, done, err := s.Work(ctx)
	if err != nil {
		return nil, err
	}
	w := &workplace{scratch: s.Scratch(), root: root, done: done}
	if w.graph, err = w.only(graphPrefix, string(version)); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// readingPlace finds the diagonals that jobs have kept of the same graph, and keeps nothing. It needs no closing.
func readingPlace(tx *kv.Tx) (*workplace, error) {
	w := &workplace{scratch: tx.Store().Scratch()}
	dir, err := tx.Store().Finished()
	if err != nil || dir == nil {
		return w, err
	}
	version, err := tx.Version(nil, nil)
	if err != nil {
		return nil, err
	}
	w.graph = scratch.Existing(filepath.Join(dir.Path(), graphPrefix+string(version)))
	return w, nil
}

// only opens the directory of a prefix and name, and removes the others of the prefix.
func (w *workplace) only(prefix, name string) (*scratch.Dir, error) {
	if err := w.removeOthers(prefix, name); err != nil {
		return nil, err
	}
	return scratch.Open(filepath.Join(w.root.Path(), prefix+name))
}

// removeOthers removes the directories of a prefix with another name.
func (w *workplace) removeOthers(prefix, name string) error {
	root := w.root.Path()
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if other := entry.Name(); strings.HasPrefix(other, prefix) && other != prefix+name {
			if err := os.RemoveAll(filepath.Join(root, other)); err != nil {
				return fmt.Errorf("what another run left: %w", err)
			}
		}
	}
	return nil
}

// beginRun opens the directory of a run, and removes that of any other.
func (w *workplace) beginRun(key string) (err error) {
	w.run, err = w.only(runPrefix, key)
	return err
}

// finishRun removes what was kept of any run, whose arrays must not be used afterwards.
func (w *workplace) finishRun() error {
	w.run = nil
	return w.removeOthers(runPrefix, "")
}

// Close leaves what is kept, and lets the next job in.
func (w *workplace) Close() (err error) {
	for _, d := range []*scratch.Dir{w.graph, w.run} {
		if d != nil {
			err = errors.Join(err, removeEmpty(d.Path()))
		}
	}
	return errors.Join(err, w.done())
}

// removeEmpty removes a directory without files.
func removeEmpty(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) > 0 {
		return err
	}
	return os.Remove(path)
}

// temporary is where arrays are that are gone with the process.
func (w *workplace) temporary() *scratch.Dir {
	if w == nil {
		return nil
	}
	return w.scratch
}

// ofRun is where arrays of the run are, and keeps says whether they are kept.
func (w *workplace) ofRun() (dir *scratch.Dir, keeps bool) {
	if w == nil || w.run == nil {
		return w.temporary(), false
	}
	return w.run, true
}

// markFormat is part of every mark: a mark of another format is none.
const markFormat = 3

// A mark says that a stage is finished.
type mark[T any] struct {
	Format int
	Value  T
}

func markName(stage string) string { return stage + ".done" }

// saveMark notes in a directory, nil for none, that a stage is finished, with what is to be known of it.
func saveMark[T any](d *scratch.Dir, stage string, value T) error {
	if d == nil {
		return nil
	}
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(mark[T]{Format: markFormat, Value: value}); err != nil {
		return fmt.Errorf("checkpoint %s: %w", stage, err)
	}
	return d.Put(markName(stage), text.Bytes())
}

// loadMark returns what was noted of a stage; ok is false if it was not finished, or the mark is damaged.
func loadMark[T any](d *scratch.Dir, stage string) (value T, ok bool) {
	if d == nil {
		return value, false
	}
	text, err := d.Get(markName(stage))
	if err != nil {
		return value, false
	}
	var m mark[T]
	if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&m); err != nil || m.Format != markFormat {
		return value, false
	}
	return m.Value, true
}

// keptArray maps an array whose mark has a checksum, to be read; nil if there is none, or it is damaged.
func keptArray[T float32 | float64](
	ctx context.Context, d *scratch.Dir, name string, length, workers int,
) (*scratch.Array[T], error) {
	want, ok := loadMark[uint32](d, name)
	if !ok {
		return nil, nil
	}
	a, err := scratch.Keep[T](d, name, length, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sum, err := arraySum(ctx, a.Data, workers)
	if _, fault := errors.AsType[*mapped.Fault](err); fault || err == nil && sum != want {
		return nil, a.Detach()
	}
	if err != nil {
		return nil, errors.Join(err, a.Detach())
	}
	return a, nil
}

// keepArray makes an array durable, and marks it finished.
func keepArray[T float32 | float64](
	ctx context.Context, d *scratch.Dir, name string, a *scratch.Array[T], workers int,
) error {
	sum, err := arraySum(ctx, a.Data, workers)
	if err != nil {
		return err
	}
	if err := a.Sync(); err != nil {
		return err
	}
	return saveMark(d, name, sum)
}

// summedValues is how many values are summed at once.
const summedValues = 1 << 16

// arraySum is a checksum of an array.
func arraySum[T float32 | float64](ctx context.Context, values []T, workers int) (uint32, error) {
	blocks := (len(values) + summedValues - 1) / summedValues
	sums := make([]byte, 4*blocks)
	texts := make([][]byte, parallel.Workers(workers))
	err := parallel.Do(ctx, len(texts), blocks, func(_ context.Context, worker, b int) error {
		text := texts[worker][:0]
		for _, x := range values[b*summedValues : min((b+1)*summedValues, len(values))] {
			text = binary.LittleEndian.AppendUint64(text, math.Float64bits(float64(x)))
		}
		binary.LittleEndian.PutUint32(sums[4*b:], crc32c.Of(text))
		texts[worker] = text
		return nil
	})
	return crc32c.Of(sums), err
}

// A heldDiagonals must not be used once it is closed.
type heldDiagonals struct {
	*ops.Diagonals
	arrays []*scratch.Array[float64]
}

// Close gives the memory back, and leaves what is kept. Closing nil is harmless.
func (d *heldDiagonals) Close() (err error) {
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

// diagonalName is that of the array of hop k.
func diagonalName(k int) string { return fmt.Sprintf("diagonal-%d", k) }

// diagonals computes diagonals, or finds those that were kept of the same graph.
func (w *workplace) diagonals(ctx context.Context, g ops.Graph, hops int, opt ops.Options) (*heldDiagonals, error) {
	opt.Scratch = w.temporary()
	powers := ops.Powers{Hops: hops}
	if w == nil || w.graph == nil || g.NumNodes() == 0 {
		diagonals, err := ops.ComputeDiagonals(ctx, g, powers, opt)
		if err != nil {
			return nil, err
		}
		return &heldDiagonals{Diagonals: diagonals}, nil
	}
	all := &heldDiagonals{}
	for k := 1; k <= hops; k++ {
		a, err := keptArray[float64](ctx, w.graph, diagonalName(k), g.NumNodes(), opt.Workers)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		if a == nil {
			break
		}
		all.arrays, powers.Have = append(all.arrays, a), append(powers.Have, a.Data)
	}
	if w.root != nil {
		powers.OnHop = func(k int, values []float64) error {
			return w.keepDiagonal(ctx, diagonalName(k), values, opt.Workers)
		}
	}
	diagonals, err := ops.ComputeDiagonals(ctx, g, powers, opt)
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	all.Diagonals = diagonals
	return all, nil
}

// keepDiagonal keeps numbers of every node for as long as the graph is as it is.
func (w *workplace) keepDiagonal(ctx context.Context, name string, values []float64, workers int) error {
	a, err := scratch.New[float64](w.graph, name, len(values))
	if err != nil {
		return err
	}
	copy(a.Data, values)
	if err := keepArray(ctx, w.graph, name, a, workers); err != nil {
		return errors.Join(err, a.Close())
	}
	return a.Detach()
}

// fingerprint is a short name of some texts.
func fingerprint(parts ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v", parts))
	return hex.EncodeToString(sum[:12])
}
