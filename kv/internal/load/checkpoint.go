package load

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/internal/spill"
)

// A checkpoint is what a load has completed. It is written once the files that it names are on disk, and read by a
// later load with the same Resume. Edges and Arcs are of numbers or of pairs, as edgeKind says.
type checkpoint struct {
	Format int
	Resume string

	Rows       string // the file of the rows
	RowBytes   int64
	RowSum     uint32 // CRC-32C of the file
	RowCount   int
	Marks      []int64
	Dropped    []uint32
	ClassNames []string
	ClassUses  []int64
	IntegerIDs bool
	DenseIDs   bool
	Stats      Stats
	SelfLoops  int64

	Saved    string // the file of LoadOptions.Save; "" if there is none
	SavedSum uint32 // CRC-32C of the file

	Edges *spill.KeptNumbers // nil once the arcs are there

	NodeAt    string             // the file of the NodeIDs by position
	NodeAtSum uint32             // CRC-32C of the file
	Arcs      *spill.KeptNumbers // nil before they are there
}

// checkpointFormat is the version of a checkpoint and of the files that it names.
const checkpointFormat = 3

// keeps reports whether a later load may resume this one. The errors passed to BadRow would not be passed again.
func (l *Load) keeps() bool {
	saved := l.opt.BadRow == nil || l.opt.Save != nil && l.opt.Restore != nil
	return l.opt.Resume != "" && saved
}

// keepEdges writes the first checkpoint: the nodes and the edges are complete. Edges that memory holds, and that are not
// many, need none.
func (l *Load) keepEdges(ctx context.Context, edges sorter) error {
	if !l.keeps() {
		return nil
	}
	file, ok, err := edges.Keep(ctx, l.rows.size+edges.MemoryBytes() >= l.opt.KeepBytes)
	if err != nil || !ok {
		return err
	}
	if err := l.rows.sync(); err != nil {
		return err
	}
	c := checkpoint{Edges: &file}
	if l.opt.Save != nil {
		c.Saved = "saved"
		if c.SavedSum, err = writeSummed(l.path(c.Saved), l.opt.Save); err != nil {
			return fmt.Errorf("keeping what is known of the load: %w", err)
		}
	}
	return l.writeCheckpoint(c)
}

// restoreSaved has the caller read what Save wrote: errNoCheckpoint if it is damaged.
func (l *Load) restoreSaved(ctx context.Context, c checkpoint) (err error) {
	if (l.opt.Restore == nil) != (c.Saved == "") {
		return errNoCheckpoint
	}
	if c.Saved == "" {
		return nil
	}
	f, err := openSummed(ctx, l.path(c.Saved), c.SavedSum)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return l.opt.Restore(bufio.NewReader(f))
}

// writeSummed makes a file of what write writes, durably, and returns its CRC-32C.
func writeSummed(name string, write func(w io.Writer) error) (sum uint32, err error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := &sumWriter{w: f}
	buffer := bufio.NewWriter(w)
	err = errors.Join(write(buffer), buffer.Flush(), f.Sync())
	return w.sum, err
}

// openSummed opens a file that has a CRC-32C: errNoCheckpoint if it has another.
func openSummed(ctx context.Context, name string, want uint32) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	sum := crc32c.New()
	for err == nil {
		_, err = io.CopyN(sum, f, 4<<20)
		err = cmp.Or(err, ctx.Err())
	}
	if errors.Is(err, io.EOF) {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil && sum.Sum32() != want {
		err = errNoCheckpoint
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// keepArcs writes the second checkpoint, if the arcs were spilled: the nodes have their numbers, and the arcs are complete.
// The edges go.
func (l *Load) keepArcs(ctx context.Context, arcs sorter) error {
	if l.checkpoint == nil {
		return nil
	}
	file, ok, err := arcs.Keep(ctx, false)
	if err != nil || !ok {
		return err
	}
	const name = "numbers"
	sum, err := writeNumbers(l.path(name), l.nodeAt.Data)
	if err != nil {
		return fmt.Errorf("keeping the numbers of nodes needs more room on disk: %w", err)
	}
	err = l.writeCheckpoint(checkpoint{
		NodeAt: name, NodeAtSum: sum, Arcs: &file, Saved: l.checkpoint.Saved, SavedSum: l.checkpoint.SavedSum,
	})
	if err != nil {
		return err
	}
	return l.removeUnnamed()
}

// writeCheckpoint completes c and puts it in the place of the one before.
func (l *Load) writeCheckpoint(c checkpoint) error {
	c.Format, c.Resume = checkpointFormat, l.opt.Resume
	c.Rows, c.RowBytes, c.RowCount = filepath.Base(l.rows.file.Name()), l.rows.size, l.rows.rows
	c.RowSum = l.rows.sum.sum
	c.Marks, c.Dropped = l.rows.marks, l.rows.holes
	c.ClassNames, c.ClassUses = l.classes.names, l.classes.uses
	c.IntegerIDs, c.DenseIDs = l.integerIDs, l.denseIDs
	c.Stats, c.SelfLoops = l.stats, l.selfLoops
	body, err := msgpack.Marshal(&c)
	if err != nil {
		return err
	}
	if err := durable.SyncDirectory(l.opt.Dir); err != nil {
		return err
	}
	sum := binary.LittleEndian.AppendUint32(nil, crc32c.Of(body))
	err = durable.ReplaceFile(l.opt.Checkpoint, l.opt.Checkpoint+".begun", append(sum, body...))
	if err == nil {
		l.checkpoint = &c
	}
	return err
}

// errNoCheckpoint says that a directory has no checkpoint to go on with.
var errNoCheckpoint = errors.New("no checkpoint")

// readCheckpoint returns the checkpoint of a load with a Resume.
func readCheckpoint(path, resume string) (c checkpoint, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, errNoCheckpoint
	}
	if err != nil {
		return c, err
	}
	if len(b) < 4 || crc32c.Of(b[4:]) != binary.LittleEndian.Uint32(b) {
		return c, errNoCheckpoint
	}
	if err := msgpack.Unmarshal(b[4:], &c); err != nil || c.Format != checkpointFormat || c.Resume != resume {
		return c, errNoCheckpoint
	}
	return c, nil
}

// A sumWriter keeps the CRC-32C of what it hands on.
type sumWriter struct {
	w   io.Writer
	sum uint32
}

func (s *sumWriter) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.sum = crc32c.Update(s.sum, b[:n])
	return n, err
}

// restore takes over what a checkpoint names, once it has read all of it and found it undamaged. After an error the
// load has nothing of it.
func (l *Load) restore(ctx context.Context, c checkpoint) (err error) {
	classes, err := restoreClasses(c)
	if err != nil {
		return err
	}
	rows, err := restoreRows(ctx, l.opt.Dir, c)
	if err != nil {
		return err
	}
	l.stats = c.Stats
	if rows.len() != int(c.Stats.Nodes) || c.Edges == nil && c.Arcs == nil {
		err = errNoCheckpoint
	}
	if err == nil && c.Arcs != nil {
		l.nodeAt, err = readNumbers(ctx, l.path(c.NodeAt), rows.len(), c.NodeAtSum)
	}
	if err == nil {
		err = l.edges.restore(ctx, c)
	}
	if err == nil {
		err = l.restoreSaved(ctx, c)
	}
	if err != nil {
		err = errors.Join(err, l.edges.close(), rows.file.Close(), l.nodeAt.Free())
		l.edges, l.stats = newEdgeSorter(l), Stats{}
		return err
	}
	l.checkpoint, l.edgesBegun = &c, true
	l.classes, l.rows, l.selfLoops = classes, rows, c.SelfLoops
	l.integerIDs, l.denseIDs = c.IntegerIDs, c.DenseIDs
	return nil
}

func restoreClasses(c checkpoint) (*classes, error) {
	if len(c.ClassNames) != len(c.ClassUses) {
		return nil, errNoCheckpoint
	}
	all := &classes{names: c.ClassNames, uses: c.ClassUses, numbers: map[string]int{}}
	for number, name := range c.ClassNames {
		all.numbers[name] = number
	}
	return all, nil
}

// removeUnnamed deletes every file of the load that its checkpoint does not name.
func (l *Load) removeUnnamed() error {
	keep := []string{l.checkpoint.Rows, l.checkpoint.NodeAt, l.checkpoint.Saved}
	for _, file := range []*spill.KeptNumbers{l.checkpoint.Edges, l.checkpoint.Arcs} {
		if file != nil {
			keep = append(keep, file.File)
		}
	}
	entries, err := os.ReadDir(l.opt.Dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !slices.Contains(keep, entry.Name()) {
			err = errors.Join(err, os.RemoveAll(l.path(entry.Name())))
		}
	}
	return err
}

// numbersChunk is how many numbers are written or read at once.
const numbersChunk = 64 << 10

// writeNumbers is writeSummed of numbers of nodes.
func writeNumbers(name string, numbers []uint32) (sum uint32, err error) {
	return writeSummed(name, func(w io.Writer) (err error) {
		for chunk := range slices.Chunk(numbers, numbersChunk) {
			err = cmp.Or(err, binary.Write(w, binary.LittleEndian, chunk))
		}
		return err
	})
}

// readNumbers returns so many numbers of nodes: errNoCheckpoint if the file is damaged, or they are no permutation.
func readNumbers(ctx context.Context, name string, count int, want uint32) (numbers offheap.Array[uint32], err error) {
	f, err := openSummed(ctx, name, want)
	if err != nil {
		return numbers, err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, numbers.Free())
		}
	}()
	if info, err := f.Stat(); err != nil || info.Size() != 4*int64(count) {
		return numbers, cmp.Or(err, errNoCheckpoint)
	}
	if numbers, err = offheap.New[uint32](count); err != nil {
		return numbers, err
	}
	seen := make([]uint64, (count+63)/64)
	for chunk := range slices.Chunk(numbers.Data, numbersChunk) {
		if err := cmp.Or(ctx.Err(), binary.Read(f, binary.LittleEndian, chunk)); err != nil {
			return numbers, err
		}
		for _, n := range chunk {
			if int64(n) >= int64(count) || seen[n/64]&(1<<(n%64)) != 0 {
				return numbers, errNoCheckpoint
			}
			seen[n/64] |= 1 << (n % 64)
		}
	}
	return numbers, nil
}
