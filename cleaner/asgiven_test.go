package cleaner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// predictSome gives the store the predictions of the nodes at some positions.
func (p plantedPartition) predictSome(t *testing.T, s *kv.Store, has func(position int) bool) {
	t.Helper()
	must.Do(t, importPredictions(s, []string{"alpha", "beta", "gamma", "δelta"}, PredictionOptions{Partial: true},
		func(w *PredictionWriter, tx *kv.Tx) error {
			for position, row := range p.scores {
				if !has(position) {
					continue
				}
				v, err := nodeAt(tx, position)
				if err == nil {
					err = w.Put(v, row)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}))
}

// cells are the results of a run for every node, in file order: score, suggestion, confidence.
func cells(t *testing.T, s *kv.Store) (rows []string) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		for v, err := range tx.InFileOrder() {
			must.Do(t, err)
			var row []string
			for _, name := range []string{ScoreColumn, SuggestedColumn, ConfidenceColumn} {
				value := must.Get(tx.Value(v, name))(t)
				if value.IsNull() {
					row = append(row, "null")
				} else {
					row = append(row, value.String())
				}
			}
			rows = append(rows, strings.Join(row, " "))
		}
		return nil
	})
	return rows
}

// TestAsGiven wants imported predictions to be taken as they are, without training: whatever a run before has joined,
// and to the same bits at any number of workers. With predictions of the built-in classifier it changes nothing.
func TestAsGiven(t *testing.T) {
	p := newPlanted(31, 600)
	p.honest(4)
	s := p.load(t, false)
	joined := mustClean(t, s, Options{Seed: 3})
	if !strings.Contains(joined.PredictionUse, "joined") {
		t.Fatalf("got %q, want joined predictions", joined.PredictionUse)
	}
	var stages, notices []string
	run := mustClean(t, s, Options{
		Seed: 3, Imported: AsGiven, Notice: func(text string) { notices = append(notices, text) },
		OnStage: func(stage ops.Stage) { stages = append(stages, stage.Name) },
	})
	if slices.Contains(stages, "train") || slices.Contains(stages, "combine") || len(notices) > 0 {
		t.Errorf("got stages %v and notices %q, want no training, and nothing to tell", stages, notices)
	}
	if want := "they are taken as they are, as was asked for"; run.PredictionUse != want {
		t.Errorf("got %q, want %q", run.PredictionUse, want)
	}
	view(t, s, func(tx *kv.Tx) error {
		for _, position := range []int{0, 17, 599} {
			v := must.Get(nodeAt(tx, position))(t)
			row := mustExplain(t, tx, v, ops.Options{}).TopClasses[0].Share
			if want := slices.Max(p.scores[position]); !near(row, want, 1e-5) {
				t.Errorf("position %d: got a largest prediction of %v, want that of the imported row, %v", position, row, want)
			}
		}
		if _, err := tx.Matrix(CombinedMatrix); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("joined predictions: got %v, want ErrNotFound", err)
		}
		return nil
	})
	want := outcome(t, s)
	other := p.load(t, false)
	mustClean(t, other, Options{Seed: 3, Imported: AsGiven, Workers: 3})
	if !bytes.Equal(outcome(t, other), want) {
		t.Error("another number of workers, and no run before: the outcome is another")
	}
	var builtIn [2][]byte
	for i := range builtIn {
		s := p.load(t, true)
		mustClean(t, s, Options{Seed: 3, Imported: [2]Imported{"", AsGiven}[i]})
		builtIn[i] = outcome(t, s)
	}
	if !bytes.Equal(builtIn[0], builtIn[1]) {
		t.Error("built-in predictions: the outcome is another")
	}
}

// TestAsGivenWithoutRows wants nodes without predictions to get nothing, to be fitted on in no way, and to vote.
func TestAsGivenWithoutRows(t *testing.T) {
	lacks := func(position int) bool { return position%12 == 5 }
	for _, by := range []method.Method{nil, paper.Published} {
		for _, split := range []bool{true, false} {
			t.Run(fmt.Sprintf("%T, split %v", by, split), func(t *testing.T) {
				p := newPlanted(33, 600)
				p.honest(4)
				if !split {
					p.withoutSplit()
				}
				opt := Options{Method: by, Seed: 3, Imported: AsGiven}
				cleaned := func(p plantedPartition) (*kv.Store, *Run) {
					s := p.load(t, true)
					p.predictSome(t, s, func(position int) bool { return !lacks(position) })
					return s, mustClean(t, s, opt)
				}
				var notices []string
				opt.Notice = func(text string) { notices = append(notices, text) }
				s, run := cleaned(p)
				opt.Notice = nil
				if want := "50 nodes without predictions, and so without a score"; !slices.Contains(notices, want) ||
					!strings.HasSuffix(run.PredictionUse, want) {
					t.Errorf("got notices %q and %q, want %q in both", notices, run.PredictionUse, want)
				}
				rows := cells(t, s)
				scored, fitting := int64(0), int64(0)
				for position, row := range rows {
					switch {
					case lacks(position) && row != "null null null":
						t.Errorf("position %d, which has no predictions: got %s", position, row)
					case !lacks(position) && p.nodes[position].Label != "":
						if scored++; split && p.nodes[position].Values[0].Str() == "val" {
							fitting++
						}
						if strings.Contains(row, "null") {
							t.Errorf("position %d: got %s, want score, suggestion and confidence", position, row)
						}
					}
				}
				if run.Scored != scored || split && run.FittingNodes != fitting {
					t.Errorf("got %d nodes scored, %d fitting, want %d and %d", run.Scored, run.FittingNodes, scored, fitting)
				}
				if by == nil {
					must.Get(Rescore(t.Context(), s, RescoreOptions{Full: true}))(t)
					if !slices.Equal(cells(t, s), rows) {
						t.Error("a rescore of all nodes: the scores are others")
					}
				}
				if split { // what split such a node is of is all the same
					other := p
					other.nodes = slices.Clone(p.nodes)
					for position := range other.nodes {
						if lacks(position) {
							other.nodes[position].Values = []kv.Value{kv.ValueOf("test")}
						}
					}
					if moved, _ := cleaned(other); !slices.Equal(cells(t, moved), rows) {
						t.Error("nodes without predictions in the test split: the scores are others")
					}
				}
				other := p
				other.nodes = slices.Clone(p.nodes)
				for position := range other.nodes {
					if lacks(position) {
						other.nodes[position].Label = ""
					}
				}
				if silent, _ := cleaned(other); slices.Equal(cells(t, silent), rows) {
					t.Error("nodes without predictions have no label: the scores are the same, want votes to be missed")
				}
				if _, err := Clean(t.Context(), s, Options{Method: paper.Published, Seed: 3}); !errors.Is(err, ErrMissingRows) {
					t.Errorf("preset paper, not as given: got %v, want ErrMissingRows", err)
				}
			})
		}
	}
}

// TestAsGivenVerdicts wants what people have said of nodes without predictions to be left out of the fit.
func TestAsGivenVerdicts(t *testing.T) {
	p := newPlanted(34, 400)
	p.honest(4)
	lacking := []int{0, 1, 2, 3}
	var outcomes [2][]string
	for i := range outcomes {
		s := p.load(t, false)
		mustClean(t, s, Options{Seed: 3, Imported: AsGiven})
		var requests []decide.Request
		view(t, s, func(tx *kv.Tx) error {
			for _, position := range lacking {
				v := must.Get(nodeAt(tx, position))(t)
				if p.nodes[position].Label != "" {
					requests = append(requests, decide.Request{Node: v, Kind: decide.Unlabel})
				}
			}
			return nil
		})
		if len(requests) == 0 {
			t.Fatal("no labelled node to decide on")
		}
		mustDecide(t, s, decide.Options{}, requests...)
		p.predictSome(t, s, func(position int) bool { return !slices.Contains(lacking, position) })
		if i == 1 { // the same labels, which nobody has decided on
			q := p
			q.nodes = slices.Clone(p.nodes)
			for _, position := range lacking {
				q.nodes[position].Label = ""
			}
			s = q.load(t, true)
			q.predictSome(t, s, func(position int) bool { return !slices.Contains(lacking, position) })
		}
		must.Get(Clean(context.Background(), s, Options{Seed: 3, Imported: AsGiven}))(t)
		outcomes[i] = cells(t, s)
	}
	if !slices.Equal(outcomes[0], outcomes[1]) {
		t.Error("the scores depend on decisions about nodes without predictions")
	}
}
