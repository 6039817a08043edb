package cleaner

import (
	"bytes"
	"errors"
	"io"
	"math"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// scoreForms are stores of every form that a run may meet, with the options of the run.
func scoreForms() map[string]func(t *testing.T) (*kv.Store, Options) {
	return map[string]func(t *testing.T) (*kv.Store, Options){
		"joined predictions": func(t *testing.T) (*kv.Store, Options) {
			return newPlanted(8, 300).load(t, false), Options{Seed: 2}
		},
		"built-in predictions": func(t *testing.T) (*kv.Store, Options) {
			return newPlanted(9, 300).load(t, true), Options{Seed: 2}
		},
		"one hop": func(t *testing.T) (*kv.Store, Options) {
			return newPlanted(3, 200).load(t, false), Options{Hops: 1, Imported: AsGiven}
		},
		"five hops": func(t *testing.T) (*kv.Store, Options) {
			return newPlanted(3, 120).load(t, false), Options{Hops: 5, Imported: AsGiven}
		},
		"neighbours disagree": func(t *testing.T) (*kv.Store, Options) {
			p := newPlanted(4, 300)
			for i := range p.edges {
				p.edges[i][1] = (p.edges[i][0]*7 + i) % 300
			}
			return p.load(t, false), Options{Seed: 3, Imported: AsGiven}
		},
	}
}

// cleanedForms are backups of the stores of scoreForms after their runs, which take the longest.
var cleanedForms = map[string][]byte{}

// cleanedForm is a copy of a store of scoreForms after its run, which is made once for all tests.
func cleanedForm(t *testing.T, name string) *kv.Store {
	t.Helper()
	if cleanedForms[name] == nil {
		s, opt := scoreForms()[name](t)
		mustClean(t, s, opt)
		var backup bytes.Buffer
		must.Get(s.Backup(t.Context(), &backup, kv.BackupOptions{}))(t)
		cleanedForms[name] = backup.Bytes()
	}
	dir := filepath.Join(t.TempDir(), "copy")
	must.Get(kv.Restore(t.Context(), dir, []io.Reader{bytes.NewReader(cleanedForms[name])}, kv.Options{}, nil))(t)
	s := openPlanted(t, dir)
	endSound(t, s)
	return s
}

// mustEqualStored compares the scores of all nodes with those that are stored.
func mustEqualStored(t *testing.T, tx *kv.Tx) {
	t.Helper()
	var nodes []kv.NodeID
	for v, err := range tx.InFileOrder() {
		must.Do(t, err)
		nodes = append(nodes, v)
	}
	scores := must.Get(Score(t.Context(), tx, nodes, ops.Options{}))(t)
	s := mustScorer(t, tx)
	for _, v := range nodes { // computed, also if the stored score is up to date
		scores = append(scores, must.Get(s.score(v))(t))
	}
	for _, got := range scores {
		e := Explanation{Node: got.Node}
		must.Do(t, e.readNode(tx))
		if got.ID != e.ID || got.Label != e.Label || got.Suggestion != e.Suggestion || got.Run != e.Run {
			t.Errorf("got %+v, stored are id %s, label %q, suggestion %q, run %d", got, e.ID, e.Label, e.Suggestion, e.Run)
		}
		if !near(got.Score, e.Score, 1e-5) || !near(got.Confidence, e.Confidence, 1e-6) {
			t.Errorf("node %s: got score %v and confidence %v, stored are %v and %v", got.ID, got.Score, got.Confidence, e.Score,
				e.Confidence)
		}
	}
}

// TestScoreOfMany wants nodes in their order whatever their number, and an error of a node whose ball memory does not
// hold.
func TestScoreOfMany(t *testing.T) {
	s := cleanedForm(t, "built-in predictions")
	view(t, s, func(tx *kv.Tx) error {
		nodes := []kv.NodeID{211, 200, 7, 205, 200}
		for i, got := range must.Get(Score(t.Context(), tx, nodes, ops.Options{}))(t) {
			one := must.Get(Score(t.Context(), tx, nodes[i:i+1], ops.Options{}))(t)[0]
			if got.Node != nodes[i] || got.Suggestion != one.Suggestion || !near(got.Score, one.Score, 0) {
				t.Errorf("got %+v, want %+v", got, one)
			}
		}
		if _, err := Score(t.Context(), tx, []kv.NodeID{1 << 20}, ops.Options{}); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("a node that is not there: got %v, want ErrNotFound", err)
		}
		small := mustScorer(t, tx)
		small.opt.MemoryBudget = 4 * ballNodeBytes
		if _, err := small.score(7); !errors.Is(err, ops.ErrReach) {
			t.Errorf("memory of four nodes: got %v, want ErrReach", err)
		}
		return nil
	})
}

// mustScorer is a scorer by the last run that walks around all nodes.
func mustScorer(t *testing.T, tx *kv.Tx) *scorer {
	t.Helper()
	run := must.Get(lastFit(tx))(t)
	work := &scoreWork{tx: tx, run: run}
	return must.Get(work.newScorer(t.Context()))(t)
}

// near says that two numbers differ by no more than a tolerance, or are both NaN.
func near(got, want, tolerance float64) bool {
	return math.IsNaN(got) && math.IsNaN(want) || math.Abs(got-want) <= tolerance
}
