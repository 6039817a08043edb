package cleaner

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A Checkpoint keeps the measures of finished repeats in a small file, until Forget. Run an interrupted evaluation again
// with the same executable: it continues after these repeats. The number of repeats may differ. With OnMeasurement nothing
// is kept.
type Checkpoint struct {
	// Dir is the directory of the file. Evaluate makes it if it is missing.
	Dir string

	// Graph identifies nodes, edges, labels, splits and features of a store that does not outlive the process. If it is
	// empty, the versions in the store identify them.
	Graph string

	// Repeats is set by Evaluate: how many repeats are finished and kept.
	Repeats int

	file string // where they are, set by Evaluate
}

// Forget removes the kept measures of the last evaluation. Call it when its results are safe.
func (c *Checkpoint) Forget() error {
	if c.file == "" {
		return nil
	}
	c.Repeats = 0
	if err := os.Remove(c.file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// thisBuild names the executable that runs, by its content: another one may measure something else. The version in its
// build information would not do. It says nothing of changes since the commit, nor, in a program that has this
// package from a directory of its own, of this package.
var thisBuild = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	return buildOf(path)
})

// buildOf names an executable file.
func buildOf(path string) (name string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)[:12]), nil
}

// measuredFormat is part of every key. It changes with the shape of what is kept.
const measuredFormat = 3

// identify names everything that the measures depend on but the number of repeats.
func (e *evaluator) identify() error {
	if e.opt.Checkpoint == nil || e.opt.OnMeasurement != nil {
		return nil
	}
	build, err := thisBuild()
	if err != nil {
		e.keepNothing(err)
		return nil
	}
	graph := []string{e.opt.Checkpoint.Graph}
	if graph[0] == "" {
		version := func(v string, err error) error {
			if errors.Is(err, kv.ErrNoColumn) || errors.Is(err, kv.ErrNotFound) {
				err = nil
			}
			graph = append(graph, v)
			return err
		}
		if err := errors.Join(
			version(e.tx.GraphVersion()), version(e.tx.ColumnVersion(kv.LabelColumn)),
			version(e.tx.ColumnVersion(splitColumn)), version(e.tx.MatrixVersion(FeaturesMatrix)),
		); err != nil {
			return err
		}
	}
	var predictions []string
	for _, set := range e.opt.Predictions {
		predictions = append(predictions, set.Name)
	}
	o := &e.opt
	e.key = "eval-" + fingerprint(
		measuredFormat, build, graph, predictions, o.Noise, checksum(o.NoisyLabels), o.NoiseMatrix, o.ModelSeeds, checksum(o.Splits),
		o.Split, o.SplitByClass, o.Methods, o.Hops, o.Direction, o.Threshold, o.Expect, o.Seed,
	)
	o.Checkpoint.file = filepath.Join(o.Checkpoint.Dir, markName(e.key))
	return nil
}

// checksum is a short name of a vector.
func checksum[T kv.Class | Split](values []T) string {
	sum := sha256.New()
	var one [4]byte
	for _, value := range values {
		binary.LittleEndian.PutUint32(one[:], uint32(value))
		sum.Write(one[:]) // never fails
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// resume returns the measures of the repeats that an earlier evaluation finished.
func (e *evaluator) resume() [][]MethodMetrics {
	if e.key == "" {
		return nil
	}
	repeats, ok := loadMark[[][]MethodMetrics](scratch.Existing(e.opt.Checkpoint.Dir), e.key)
	if !ok {
		return nil
	}
	for _, repeat := range repeats {
		if len(repeat) != len(e.opt.Methods) {
			return nil
		}
	}
	all := e.opt.Repeats * e.opt.ModelSeeds
	repeats = repeats[:min(len(repeats), all)]
	e.opt.Checkpoint.Repeats = len(repeats)
	if len(repeats) > 0 {
		e.opt.notice("went on after %d of %d repeats that an earlier evaluation of the same finished", len(repeats), all)
	}
	return repeats
}

// keep notes the measures of the finished repeats. If that cannot be done it says so, and keeps none from there on.
func (e *evaluator) keep(repeats [][]MethodMetrics) {
	if e.key == "" {
		return
	}
	dir, err := scratch.Open(e.opt.Checkpoint.Dir)
	if err == nil {
		err = saveMark(dir, e.key, repeats)
	}
	if err != nil {
		e.keepNothing(err)
		return
	}
	e.opt.Checkpoint.Repeats = len(repeats)
}

// keepNothing says that nothing is kept from here on.
func (e *evaluator) keepNothing(why error) {
	e.opt.notice("an interrupted evaluation will not go on from here: %v", why)
	e.key, e.opt.Checkpoint.file = "", ""
}
