package cleaner

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/kv/scratch"
)

// A Checkpoint keeps the measures of finished repeats, a small file for an evaluation, until all are finished. An
// evaluation that was cancelled or killed and is asked for again, with as many repeats or others, goes on after them.
// With OnMeasured nothing is kept.
type Checkpoint struct {
	// Dir is where; it is made where it is not there.
	Dir string

	// Graph names nodes, edges, labels, splits and features, where the store is one that does not outlive the process.
	// Empty: the store's own versions of them do.
	Graph string

	// Kept is set by Evaluate: how many repeats are finished and kept.
	Kept int
}

// evalFormat is part of the name of every checkpoint. It changes with what methods measure.
const evalFormat = 1

// identify names everything that the measures depend on but the number of repeats.
func (e *evaluator) identify() error {
	if e.opt.Checkpoint == nil || e.opt.OnMeasured != nil {
		return nil
	}
	graph := []string{e.opt.Checkpoint.Graph}
	if graph[0] == "" {
		version := func(v kv.Version, err error) error {
			if errors.Is(err, kv.ErrNoColumn) || errors.Is(err, kv.ErrNotFound) {
				err = nil
			}
			graph = append(graph, string(v))
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
		evalFormat, graph, predictions, o.Noise, checksum(o.NoisyLabels), o.NoiseMatrix, o.ModelSeeds, checksum(o.Splits),
		o.Split, o.SplitByClass, o.Methods, o.Hops, o.Diagonal, o.Direction, o.Threshold, o.Seed,
	)
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
func (e *evaluator) resume() [][]Metrics {
	if e.key == "" {
		return nil
	}
	kept, ok := loadMark[[][]Metrics](scratch.Existing(e.opt.Checkpoint.Dir), e.key)
	if !ok {
		return nil
	}
	for _, repeat := range kept {
		if len(repeat) != len(e.opt.Methods) {
			return nil
		}
	}
	all := e.opt.Repeats * e.opt.ModelSeeds
	kept = kept[:min(len(kept), all)]
	e.opt.Checkpoint.Kept = len(kept)
	if len(kept) > 0 {
		e.opt.notice("went on after %d of %d repeats that an earlier evaluation of the same finished", len(kept), all)
	}
	return kept
}

// keep notes the measures of the finished repeats. Where that cannot be done it says so, and keeps none from there on.
func (e *evaluator) keep(measured [][]Metrics) {
	if e.key == "" {
		return
	}
	dir, err := scratch.Open(e.opt.Checkpoint.Dir)
	if err == nil {
		err = saveMark(dir, e.key, measured)
	}
	if err != nil {
		e.opt.notice("an interrupted evaluation will not go on from here: %v", err)
		e.key = ""
		return
	}
	e.opt.Checkpoint.Kept = len(measured)
}

// forget removes the checkpoint of an evaluation that is finished.
func (e *evaluator) forget() error {
	if e.key == "" {
		return nil
	}
	e.opt.Checkpoint.Kept = 0
	err := os.Remove(filepath.Join(e.opt.Checkpoint.Dir, markName(e.key)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
