package cleaner

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// interrupted runs Clean until so many stages are told of, and says whether it was cancelled there.
func interrupted(t *testing.T, s *kv.Store, opt Options, stages int) bool {
	t.Helper()
	return interruptedAt(t, s, opt, func(ops.Stage) bool {
		stages--
		return stages == 0
	})
}

// interruptedAt is interrupted after a stage that is the one.
func interruptedAt(t *testing.T, s *kv.Store, opt Options, isOne func(ops.Stage) bool) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	opt.OnStage = func(stage ops.Stage) {
		if isOne(stage) {
			cancel()
		}
	}
	_, err := Clean(ctx, s, opt)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled after a stage: got %v, want context.Canceled", err)
	}
	return err != nil
}

// kept are the names under the store's directory of work, with slashes.
func kept(t *testing.T, s *kv.Store) (names []string) {
	t.Helper()
	root := filepath.Join(s.Dir(), "work")
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			var name string
			name, err = filepath.Rel(root, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return names
}

// TestCleanGoesOnWhereItWasInterrupted interrupts runs after every stage, which join the predictions that are there.
func TestCleanGoesOnWhereItWasInterrupted(t *testing.T) {
	opt := Options{Seed: 3}
	p := newPlanted(21, 120)
	s := p.load(t, false)
	last := 0
	counted := opt
	counted.OnStage = func(ops.Stage) { last++ }
	mustClean(t, s, counted)
	want := outcome(t, s)
	if names := kept(t, s); slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, runPrefix) }) {
		t.Errorf("after a finished run: got %v kept, want only what depends on the graph", names)
	}
	resumed := map[string]bool{}
	for stages := last - 1; stages > 0; stages -= longtest.Of(3, 1) {
		s := p.load(t, false)
		if !interrupted(t, s, opt, stages) {
			t.Fatalf("the run was not interrupted after stage %d of %d", stages, last)
		}
		var done []string
		again := opt
		again.OnStage = func(stage ops.Stage) { done = append(done, stage.Name) }
		mustClean(t, s, again)
		if !bytes.Equal(outcome(t, s), want) {
			t.Errorf("interrupted after stage %d: the outcome differs from that of a run that was not", stages)
		}
		for _, stage := range []string{"diagonal", "train"} {
			if !slices.Contains(done, stage) {
				resumed[stage] = true
			}
		}
	}
	if len(resumed) != 2 {
		t.Errorf("stages that were not done again: got %v, want both", resumed)
	}
}

// TestCleanAfterDamage damages what a run kept, one file at a time.
func TestCleanAfterDamage(t *testing.T) {
	opt := Options{Seed: 3}
	s := newPlanted(22, 100).load(t, false)
	mustClean(t, s, opt)
	want := outcome(t, s)
	stages := 0
	counted := opt
	counted.OnStage = func(ops.Stage) { stages++ }
	mustClean(t, s, counted)
	if !interrupted(t, s, opt, stages-1) { // all but "write"
		t.Fatal("the run was not interrupted")
	}
	names := kept(t, s)
	if len(names) < 7 {
		t.Errorf("an interrupted run: got %v kept, want diagonals and joined predictions with their marks", names)
	}
	for _, name := range names {
		for how, damage := range map[string]func(text []byte) []byte{
			"changed": func(text []byte) []byte { text[len(text)/2] ^= 4; return text },
			"cut":     func(text []byte) []byte { return text[:len(text)/2] },
		} {
			interrupted(t, s, opt, 1)
			interrupted(t, s, opt, stages-1)
			path := filepath.Join(s.Dir(), "work", filepath.FromSlash(name))
			text := must.Get(os.ReadFile(path))(t)
			must.Do(t, os.WriteFile(path, damage(text), 0o666))
			mustClean(t, s, opt)
			if !bytes.Equal(outcome(t, s), want) {
				t.Errorf("%s %s: the outcome differs", name, how)
			}
		}
	}
}

// TestKeptIsOfTheSameRun interrupts a run and then changes what it depends on.
func TestKeptIsOfTheSameRun(t *testing.T) {
	opt := Options{Seed: 3}
	s := newPlanted(23, 150).load(t, false)
	directories := func() (graph, run string) {
		for _, name := range kept(t, s) {
			switch dir, _, _ := strings.Cut(name, "/"); {
			case strings.HasPrefix(dir, graphPrefix) && graph != "" && graph != dir:
				t.Errorf("kept of two graphs: %s and %s", graph, dir)
			case strings.HasPrefix(dir, graphPrefix):
				graph = dir
			case run != "" && run != dir:
				t.Errorf("kept of two runs: %s and %s", run, dir)
			default:
				run = dir
			}
		}
		return graph, run
	}
	isRivals := func(stage ops.Stage) bool { return stage.Name == "rivals" }
	if !interruptedAt(t, s, opt, isRivals) {
		t.Fatal("the run was not interrupted")
	}
	graph, run := directories()
	for _, c := range []struct {
		name       string
		change     func(tx *kv.Tx) error
		options    func(*Options)
		otherGraph bool
	}{
		{"seed", nil, func(o *Options) { o.Seed++ }, false},
		{"what predictions are", nil, func(o *Options) { o.Imported = OutOfFold }, false},
		{"label", func(tx *kv.Tx) error { return tx.SetLabel(3, "beta") }, nil, false},
		{"predictions", func(tx *kv.Tx) error { return setRow(tx, 3, []float64{0.1, 0.2, 0.3, 0.4}) }, nil, false},
		{"split", func(tx *kv.Tx) error { return tx.SetValue(3, splitColumn, kv.ValueOf("val")) }, nil, false},
		{"edge", func(tx *kv.Tx) error {
			for u, err := range tx.Neighbors(0) {
				return errors.Join(err, tx.RemoveEdge(0, u))
			}
			return errors.New("node 0 has no neighbours")
		}, nil, true},
	} {
		if c.change != nil {
			must.Do(t, s.Update(c.change))
		}
		if c.options != nil {
			c.options(&opt)
		}
		if !interruptedAt(t, s, opt, isRivals) {
			t.Fatal("the run was not interrupted")
		}
		otherGraph, otherRun := directories()
		if otherRun == run {
			t.Errorf("%s changed: what was kept of the run is used", c.name)
		}
		if (otherGraph != graph) != c.otherGraph {
			t.Errorf("%s changed: got %s kept, before %s, want another: %v", c.name, otherGraph, graph, c.otherGraph)
		}
		graph, run = otherGraph, otherRun
	}
	// The outcome is that of a store which was never interrupted.
	mustClean(t, s, opt)
	got := outcome(t, s)
	must.Do(t, os.RemoveAll(filepath.Join(s.Dir(), "work")))
	mustClean(t, s, opt)
	if !bytes.Equal(outcome(t, s), got) {
		t.Error("the outcome with kept diagonals differs from that without")
	}
}

// TestCleanAfterKill kills a process in the midst of a run: the test itself is the process.
func TestCleanAfterKill(t *testing.T) {
	const variable = "CLEANER_TEST_KILL"
	opt := Options{Seed: 3}
	if at := os.Getenv(variable); at != "" {
		stage, dir, _ := strings.Cut(at, ":")
		s := openPlanted(t, dir)
		opt.OnStage = func(done ops.Stage) {
			if done.Name == stage {
				process, err := os.FindProcess(os.Getpid())
				if err == nil {
					err = process.Kill()
				}
				t.Errorf("killing this process: %v", err)
				select {}
			}
		}
		mustClean(t, s, opt)
		t.Fatal("nobody killed this process")
	}
	p := newPlanted(24, 200)
	dir := p.loadDir(t)
	s := openPlanted(t, dir)
	p.predict(t, s)
	mustClean(t, s, opt)
	want := outcome(t, s)
	for _, stage := range []string{"combine", "score"} {
		must.Do(t, s.Close())
		child := exec.Command(os.Args[0], "-test.run=^TestCleanAfterKill$")
		child.Env = append(os.Environ(), variable+"="+stage+":"+dir)
		if text, err := child.CombinedOutput(); err == nil {
			t.Fatalf("the child was not killed: %s", text)
		}
		s = openPlanted(t, dir)
		mustClean(t, s, opt)
		if !bytes.Equal(outcome(t, s), want) {
			t.Errorf("killed after %s: the outcome differs", stage)
		}
	}
	mustEndSound(t, s)
	must.Do(t, s.Close())
}

// What could not be kept as a whole leaves no file.
func TestDiagonalsThatAreNotKept(t *testing.T) {
	s := newPlanted(25, 60).load(t, false)
	must.Do(t, s.View(func(tx *kv.Tx) (err error) {
		w, err := openWorkplace(t.Context(), s, tx)
		must.Do(t, err)
		defer func() { err = errors.Join(err, w.Close()) }()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.keepDiagonal(ended, "diagonal-9", make([]float64, tx.NumNodes()), 1); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		return nil
	}))
	if names := kept(t, s); len(names) > 0 {
		t.Errorf("got %v kept, want nothing", names)
	}
}

// A job that only reads finds what others kept, and makes no directory.
func TestReadingPlaceKeepsNothing(t *testing.T) {
	s := newPlanted(26, 60).load(t, false)
	const other = "work/others/file"
	for _, path := range []string{"", other} {
		if path != "" {
			path = filepath.Join(s.Dir(), filepath.FromSlash(path))
			must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, nil, 0o666)))
		}
		must.Do(t, s.View(func(tx *kv.Tx) error {
			w := must.Get(readingPlace(tx))(t)
			held := must.Get(w.diagonals(t.Context(), tx, 2, ops.Options{}))(t)
			return held.Close()
		}))
		entries, err := os.ReadDir(filepath.Join(s.Dir(), "work"))
		if path == "" && !errors.Is(err, os.ErrNotExist) || path != "" && (err != nil || len(entries) != 1) {
			t.Errorf("got %v, %v in the directory of work, want only what was there", entries, err)
		}
	}
}

// Every hop is kept once it is done, also where a later one fails, and is not computed again.
func TestDiagonalsAreKeptHopByHop(t *testing.T) {
	ctx := context.Background()
	s := newPlanted(23, 80).load(t, false)
	must.Do(t, s.View(func(tx *kv.Tx) (err error) {
		want := must.Get(ops.ComputeDiagonals(ctx, tx, ops.Powers{Hops: 4}, ops.Options{}))(t)
		w, err := openWorkplace(ctx, s, tx)
		must.Do(t, err)
		defer func() { err = errors.Join(err, w.Close()) }()
		for _, run := range []struct {
			hops     int
			computed []int // but for hop 1, which takes no work
			fails    bool
		}{{2, []int{2}, false}, {4, []int{3}, true}, {4, []int{4}, false}, {3, nil, false}} {
			inner, cancel := context.WithCancel(ctx)
			var computed []int
			opt := ops.Options{OnStage: func(stage ops.Stage) {
				if stage.Name != "diagonal" {
					return
				}
				computed = append(computed, stage.Hop)
			}, Progress: func(string, int64, int64) {
				if run.fails && slices.Contains(computed, 3) {
					cancel()
				}
			}}
			held, err := w.diagonals(inner, tx, run.hops, opt)
			if run.fails {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%d hops, cancelled in the last: got error %v, want %v", run.hops, err, context.Canceled)
				}
			} else if err != nil {
				return err
			}
			cancel()
			if !slices.Equal(computed, run.computed) {
				t.Errorf("%d hops: got hops %v computed, want %v", run.hops, computed, run.computed)
			}
			for k := 1; !run.fails && k <= run.hops; k++ {
				if !slices.Equal(held.At(k), want.At(k)) {
					t.Errorf("%d hops: hop %d differs in its bits", run.hops, k)
				}
			}
			must.Do(t, held.Close())
		}
		return nil
	}))
}

// Features of a cleaned store use the diagonals that the cleaning has kept.
func TestFeaturesUseKeptDiagonals(t *testing.T) {
	ctx := context.Background()
	s := newPlanted(23, 80).load(t, true)
	read := func() (values []float32, computed []int) {
		must.Do(t, s.View(func(tx *kv.Tx) error {
			rows, err := Features(ctx, tx, 3, ops.Options{OnStage: func(stage ops.Stage) {
				if stage.Name == "diagonal" {
					computed = append(computed, stage.Hop)
				}
			}})
			must.Do(t, err)
			values = make([]float32, tx.NumNodes()*rows.Width())
			err = rows.Read(kv.Range{End: kv.NodeID(tx.NumNodes())}, 0, rows.Width(), values)
			return errors.Join(err, rows.Close())
		}))
		return values, computed
	}
	must.Get(Clean(ctx, s, Options{Seed: 1}))(t)
	got, computed := read()
	if len(computed) > 0 {
		t.Errorf("after a cleaning: got the diagonals of hops %v computed, want none", computed)
	}
	must.Do(t, os.RemoveAll(filepath.Join(s.Dir(), "work")))
	want, computed := read()
	if !slices.Equal(computed, []int{2, 3}) {
		t.Errorf("with nothing kept: got the diagonals of hops %v computed, want 2 and 3", computed)
	}
	for i := range want {
		if got[i] != want[i] && (got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("value %d: got %v, want %v", i, got[i], want[i])
		}
	}
}
