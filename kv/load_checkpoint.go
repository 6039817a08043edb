package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/offheap"
	"github.com/graphcleaner/graphcleaner/kv/spill"
)

// A loadCheckpoint is what a load has completed. It is written once the files that it names are on disk, and read by a
// later load with the same Resume. A load that memory holds writes none.
type loadCheckpoint struct {
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
	Stats      LoadStats
	SelfLoops  int64

	Edges *spill.KeptUint64 // nil once the arcs are there

	NodeAt    string            // the file of the NodeIDs by position
	NodeAtSum uint32            // CRC-32C of the file
	Arcs      *spill.KeptUint64 // nil before they are there
}

const (
	// checkpointFormat is the version of a loadCheckpoint and of the files that it names.
	checkpointFormat = 2

	checkpointName = "checkpoint"
)

func (d *loadDirectory) checkpoint() string { return filepath.Join(d.path, checkpointName) }

// keeps reports whether the load is one that a later one may go on with. What was told to BadRow would not be told again,
// and where directories have no locks nobody can know that a load is dead.
func (l *Loader) keeps() bool {
	return l.opt.Resume != "" && l.opt.BadRow == nil && l.arcLoad == nil && l.work.unlock != nil
}

// keepEdges writes the first checkpoint, where the edges were spilled: they and the nodes are complete.
func (l *Loader) keepEdges() error {
	if !l.keeps() {
		return nil
	}
	edges, ok, err := l.edges.Keep()
	if err != nil || !ok {
		return err
	}
	if err := l.rows.sync(); err != nil {
		return err
	}
	return l.writeCheckpoint(loadCheckpoint{Edges: &edges})
}

// keepArcs writes the second checkpoint: the nodes have their numbers, and the arcs are complete. The edges go.
func (l *Loader) keepArcs(arcs *spill.Uint64) error {
	if !l.kept {
		return nil
	}
	kept, ok, err := arcs.Keep()
	if err != nil || !ok {
		return err
	}
	name := filepath.Join(l.work.sort(), "numbers")
	sum, err := writeNumbers(name, l.nodeAt.Data)
	if err != nil {
		return err
	}
	if err := l.writeCheckpoint(loadCheckpoint{NodeAt: filepath.Base(name), NodeAtSum: sum, Arcs: &kept}); err != nil {
		return err
	}
	return l.removeUnnamed()
}

// writeCheckpoint completes c and puts it in the place of the one before.
func (l *Loader) writeCheckpoint(c loadCheckpoint) error {
	c.Format, c.Resume = checkpointFormat, l.opt.Resume
	c.Rows, c.RowBytes, c.RowCount = filepath.Base(l.rows.file.Name()), l.rows.size, l.rows.rows
	c.RowSum = l.rows.sum.sum
	c.Marks, c.Dropped = l.rows.marks, l.rows.dropped
	c.ClassNames, c.ClassUses = l.classes.names, l.classes.uses
	c.IntegerIDs, c.DenseIDs = l.integerIDs, l.denseIDs
	c.Stats, c.SelfLoops = l.stats, l.selfLoops
	body, err := msgpack.Marshal(&c)
	if err != nil {
		return err
	}
	if err := syncDirectory(l.work.sort()); err != nil {
		return err
	}
	sum := binary.LittleEndian.AppendUint32(nil, crc32.Checksum(body, castagnoli))
	begun := l.work.checkpoint() + ".begun"
	if err := writeSynced(begun, append(sum, body...)); err != nil {
		return err
	}
	if err := os.Rename(begun, l.work.checkpoint()); err != nil {
		return err
	}
	l.kept, l.named = true, c
	return syncDirectory(l.work.path)
}

func writeSynced(name string, body []byte) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// errNoCheckpoint says that a directory has no checkpoint to go on with.
var errNoCheckpoint = errors.New("no checkpoint")

// readCheckpoint returns the checkpoint of a load with a Resume.
func (d *loadDirectory) readCheckpoint(resume string) (c loadCheckpoint, err error) {
	b, err := os.ReadFile(d.checkpoint())
	if errors.Is(err, fs.ErrNotExist) {
		return c, errNoCheckpoint
	}
	if err != nil {
		return c, err
	}
	if len(b) < 4 || crc32.Checksum(b[4:], castagnoli) != binary.LittleEndian.Uint32(b) {
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
	s.sum = crc32.Update(s.sum, castagnoli, b[:n])
	return n, err
}

// restore takes over what a checkpoint names, once it has read all of it and found it undamaged. After an error the
// load has nothing of it.
func (l *Loader) restore(c loadCheckpoint) (err error) {
	classes, err := restoreClasses(c)
	if err != nil {
		return err
	}
	rows, err := restoreRows(l.work.sort(), c)
	if err != nil {
		return err
	}
	restored := &Loader{opt: l.opt, work: l.work, stats: c.Stats}
	restored.setWidth()
	var nodeAt offheap.Array[uint32]
	var edges, arcs *spill.Uint64
	switch memory := restored.sortMemory(); {
	case rows.len() != int(c.Stats.Nodes):
		err = errNoCheckpoint
	case c.Arcs != nil:
		name := filepath.Join(l.work.sort(), filepath.Base(c.NodeAt))
		if nodeAt, err = readNumbers(name, rows.len(), c.NodeAtSum); err == nil {
			arcs, err = spill.RestoreUint64(l.work.sort(), memory, 2*restored.width, l.opt.Workers, *c.Arcs)
		}
	case c.Edges != nil:
		edges, err = spill.RestoreUint64(l.work.sort(), memory, 2*restored.width, l.opt.Workers, *c.Edges)
	default:
		err = errNoCheckpoint
	}
	if err != nil {
		return errors.Join(err, rows.file.Close(), nodeAt.Free())
	}
	l.kept, l.named, l.edgesBegun = true, c, true
	l.classes, l.rows, l.nodeAt, l.edges, l.arcs = classes, rows, nodeAt, edges, arcs
	l.stats, l.selfLoops, l.width = c.Stats, c.SelfLoops, restored.width
	l.integerIDs, l.denseIDs = c.IntegerIDs, c.DenseIDs
	return nil
}

func restoreClasses(c loadCheckpoint) (*loadClasses, error) {
	if len(c.ClassNames) != len(c.ClassUses) {
		return nil, errNoCheckpoint
	}
	classes := &loadClasses{names: c.ClassNames, uses: c.ClassUses, numbers: map[string]int{}}
	for number, name := range c.ClassNames {
		classes.numbers[name] = number
	}
	return classes, nil
}

// removeUnnamed deletes every file of the load that its checkpoint does not name.
func (l *Loader) removeUnnamed() error {
	keep := []string{l.named.Rows, l.named.NodeAt}
	for _, sorted := range []*spill.KeptUint64{l.named.Edges, l.named.Arcs} {
		if sorted != nil {
			keep = append(keep, sorted.File)
		}
	}
	entries, err := os.ReadDir(l.work.sort())
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !slices.Contains(keep, entry.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(l.work.sort(), entry.Name())))
		}
	}
	return err
}

// numbersChunk is how many numbers are written or read at once.
const numbersChunk = 64 << 10

// writeNumbers writes numbers to a file of a name, durably, and returns the file's CRC-32C.
func writeNumbers(name string, numbers []uint32) (sum uint32, err error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := &sumWriter{w: f}
	var body []byte
	for chunk := range slices.Chunk(numbers, numbersChunk) {
		body = body[:0]
		for _, n := range chunk {
			body = binary.LittleEndian.AppendUint32(body, n)
		}
		if _, err := w.Write(body); err != nil {
			return 0, fmt.Errorf("keeping the numbers of nodes needs more room on disk: %w", err)
		}
	}
	return w.sum, f.Sync()
}

// readNumbers is the inverse of writeNumbers: errNoCheckpoint where the file is damaged, or the numbers are no
// permutation.
func readNumbers(name string, count int, want uint32) (numbers offheap.Array[uint32], err error) {
	f, err := os.Open(name)
	if err != nil {
		return numbers, err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, numbers.Free())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return numbers, err
	}
	if info.Size() != 4*int64(count) {
		return numbers, errNoCheckpoint
	}
	if numbers, err = offheap.New[uint32](count); err != nil {
		return numbers, err
	}
	seen := make([]uint64, (count+63)/64)
	body := make([]byte, 4*numbersChunk)
	sum := uint32(0)
	for chunk := range slices.Chunk(numbers.Data, numbersChunk) {
		b := body[:4*len(chunk)]
		if _, err := io.ReadFull(f, b); err != nil {
			return numbers, err
		}
		sum = crc32.Update(sum, castagnoli, b)
		for i := range chunk {
			n := binary.LittleEndian.Uint32(b[4*i:])
			if int64(n) >= int64(count) || seen[n/64]&(1<<(n%64)) != 0 {
				return numbers, errNoCheckpoint
			}
			seen[n/64] |= 1 << (n % 64)
			chunk[i] = n
		}
	}
	if sum != want {
		return numbers, errNoCheckpoint
	}
	return numbers, nil
}
