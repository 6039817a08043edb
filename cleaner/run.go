package cleaner

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A Run is one finished cleaning: what was asked, what was found, and what explains its scores. Together with the columns it
// wrote it describes the store as it was when the cleaning began.
type Run struct {
	ID      int64     // 1, 2, … in the store; the value of column "run"
	Started time.Time // to the second, UTC
	Seconds float64   // from beginning to end, base classifier included

	Preset    Preset
	Hops      int // K
	Threshold float64
	Seed      uint64

	Nodes, Edges     int64
	Scored           int64  // labelled nodes
	Suspects         int64  // of them, scores above Threshold
	FittingNodes     int64  // labelled nodes of the validation split
	PredictionSource string // SourceImported or SourceBuiltIn

	// The noise, rows and columns in the order of Classes.
	Classes         []string
	FittingCounts   []float64   // fitting nodes by given label [c]
	ConfidentJoint  [][]float64 // counts [c×c], row given, column true
	ClassThresholds []float64   // [c]; NaN: the class takes no part
	Joint           [][]float64 // [c×c], sums to 1
	Transition      [][]float64 // [c×c], P(given i | true j); a column of NaN has no mass
	MislabelRate    float64     // mass of Joint off its diagonal: the p of the conformal thresholds

	// Detectors are kept of the last run only.
	Detectors []Detector
}

// Where runs are kept: a document each by runKey, and in one more the detectors of the last, which are all that Explain needs.
const (
	runsSpace      = "runs"
	detectorsSpace = "detectors"
	detectorsKey   = "last"
)

func runKey(id int64) string { return fmt.Sprintf("%012d", id) }

// runRecord is a Run on disk: without the detectors, and without what setNoise derives.
type runRecord struct {
	ID                                           int64
	Started                                      int64 // Unix seconds
	Seconds                                      float64
	Preset                                       string
	Hops                                         int
	Threshold                                    float64
	Seed                                         uint64
	Nodes, Edges, Scored, Suspects, FittingNodes int64
	PredictionSource                             string
	Classes                                      []string
	FittingCounts, ClassThresholds               []float64
	ConfidentJoint                               [][]float64
}

// setNoise fills the fields of the noise.
func (r *Run) setNoise(n noise) {
	r.FittingCounts = n.givenCounts
	r.ConfidentJoint = n.joint
	r.ClassThresholds = n.thresholds
	r.Joint = n.distribution
	r.Transition = n.transition
	r.MislabelRate = mislabelRate(n.distribution)
}

// put writes the run, in an update.
func (r *Run) put(tx *kv.Tx) error {
	err := tx.PutDocument(runsSpace, runKey(r.ID), runRecord{
		ID: r.ID, Started: r.Started.Unix(), Seconds: r.Seconds,
		Preset: string(r.Preset), Hops: r.Hops, Threshold: r.Threshold, Seed: r.Seed,
		Nodes: r.Nodes, Edges: r.Edges, Scored: r.Scored, Suspects: r.Suspects, FittingNodes: r.FittingNodes,
		PredictionSource: r.PredictionSource, Classes: r.Classes,
		FittingCounts: r.FittingCounts, ClassThresholds: r.ClassThresholds, ConfidentJoint: r.ConfidentJoint,
	})
	if err != nil {
		return err
	}
	return tx.PutDocument(detectorsSpace, detectorsKey, r.Detectors)
}

// readRun reads a run by its key in runsSpace, without its detectors.
func readRun(tx *kv.Tx, key string) (*Run, error) {
	var record runRecord
	if err := tx.Document(runsSpace, key, &record); err != nil {
		return nil, err
	}
	c := len(record.Classes)
	square := len(record.ConfidentJoint) == c && !slices.ContainsFunc(record.ConfidentJoint, func(row []float64) bool { return len(row) != c })
	if len(record.FittingCounts) != c || len(record.ClassThresholds) != c || !square {
		return nil, fmt.Errorf("run %d: its noise is not of %d classes: %w", record.ID, c, kv.ErrCorrupt)
	}
	run := &Run{
		ID: record.ID, Started: time.Unix(record.Started, 0).UTC(), Seconds: record.Seconds,
		Preset: Preset(record.Preset), Hops: record.Hops, Threshold: record.Threshold, Seed: record.Seed,
		Nodes: record.Nodes, Edges: record.Edges, Scored: record.Scored, Suspects: record.Suspects,
		FittingNodes: record.FittingNodes, PredictionSource: record.PredictionSource, Classes: record.Classes,
	}
	run.setNoise(newNoise(record.FittingCounts, record.ClassThresholds, record.ConfidentJoint))
	return run, nil
}

// LastRun returns the newest run with its detectors; kv.ErrNotFound when the store was never cleaned.
func LastRun(tx *kv.Tx) (*Run, error) {
	key, err := lastRunKey(tx)
	if err != nil {
		return nil, err
	}
	run, err := readRun(tx, key)
	if err != nil {
		return nil, err
	}
	if err := tx.Document(detectorsSpace, detectorsKey, &run.Detectors); err != nil {
		return nil, err
	}
	return run, nil
}

// Runs returns every run, oldest first, without detectors.
func Runs(tx *kv.Tx) ([]*Run, error) {
	var runs []*Run
	for key, err := range tx.Documents(runsSpace) {
		if err != nil {
			return nil, err
		}
		run, err := readRun(tx, key)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// lastRunKey is the key of the newest run in runsSpace.
func lastRunKey(tx *kv.Tx) (string, error) {
	last := ""
	for key, err := range tx.Documents(runsSpace) {
		if err != nil {
			return "", err
		}
		last = key
	}
	if last == "" {
		return "", fmt.Errorf("run: %w", kv.ErrNotFound)
	}
	return last, nil
}

// nextRunID is one more than the newest run's.
func nextRunID(tx *kv.Tx) (int64, error) {
	key, err := lastRunKey(tx)
	if errors.Is(err, kv.ErrNotFound) {
		return 1, nil
	}
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseInt(key, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("run %q: %w", key, kv.ErrCorrupt)
	}
	return id + 1, nil
}
