package kv

import (
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/longtest"
)

// resumableGraph is large enough to be spilled at the least budget.
func resumableGraph(prefix string) *testGraph {
	r := rand.New(rand.NewPCG(5, 5))
	g := &testGraph{}
	const n = 3000
	for i := range n {
		g.ids = append(g.ids, prefix+strconv.Itoa(n-1-i))
		g.labels = append(g.labels, []string{"", "a", "b"}[r.IntN(3)])
		g.years = append(g.years, IntValue(int64(r.IntN(50))))
	}
	for range 6000 {
		g.src, g.dst = append(g.src, g.ids[r.IntN(n)]), append(g.dst, g.ids[r.IntN(1+r.IntN(n))])
	}
	return g
}

func resumableLoad(t *testing.T, dir, resume string, progress Progress) *Loader {
	t.Helper()
	l, err := NewLoader(t.Context(), dir, LoadOptions{
		MemoryBudget: 1, Workers: 2, Resume: resume, Progress: progress,
		Properties: []Column{{Name: "year", Kind: KindInt}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if l.Completed() {
		t.Fatal("Completed of a first load: got true")
	}
	return l
}

// finishLoad loads what is not there yet and returns the records of the graph and what Commit counted.
func finishLoad(t *testing.T, dir, resume string, g *testGraph, want bool) (map[string]string, LoadStats) {
	t.Helper()
	l, err := NewLoader(t.Context(), dir, LoadOptions{
		MemoryBudget: 1, Resume: resume, Properties: []Column{{Name: "year", Kind: KindInt}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Completed(); got != want {
		t.Fatalf("Completed: got %v, want %v", got, want)
	}
	if want {
		if err := l.AddNode(Node{ID: "again"}); err == nil {
			t.Error("AddNode to a load that has its nodes: got no error")
		}
		if err := l.AddEdge("a", "b", 1); err == nil {
			t.Error("AddEdge to a load that has its edges: got no error")
		}
	} else if err := errors.Join(g.addNodes(l), g.addEdges(l, 2)); err != nil {
		t.Fatal(err)
	}
	stats, err := l.Commit(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	emptyAfterStore(t, dir)
	s := openTest(t, dir)
	checkClean(t, s)
	err = s.View(func(tx *Tx) error {
		for i, id := range g.ids {
			v, err := tx.Node(id)
			if err != nil {
				return err
			}
			if year, err := tx.Value(v, "year"); err != nil || year != g.years[i] {
				t.Fatalf("year of %q: got %v, %v, want %v", id, year, err, g.years[i])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return graphRecords(t, s), stats
}

func TestResumedLoads(t *testing.T) {
	t.Parallel()
	for i, prefix := range []string{"", "word "} {
		g := resumableGraph(prefix)
		want, wantStats := finishLoad(t, filepath.Join(t.TempDir(), "graph"), "", g, false)
		for j, at := range []string{stageEdges, stageAdjacency, stageColumns, "finish"} {
			if !longtest.Asked() && (i+j)%2 == 1 {
				continue
			}
			dir := filepath.Join(t.TempDir(), "graph")
			killed := filepath.Join(t.TempDir(), "graph") // where a copy of the files is taken for those of a dead process
			ctx, cancel := context.WithCancel(t.Context())
			var l *Loader
			interrupt := func() {
				if ctx.Err() != nil {
					return
				}
				if err := os.CopyFS(killed+loadMark, os.DirFS(l.work.path)); err != nil {
					t.Error(err)
				}
				cancel()
			}
			l = resumableLoad(t, dir, "input", func(stage string, done, _ int64) {
				// The adjacency once its arcs are sorted, before that the edges are kept.
				if stage == at && (at != stageAdjacency || done > 0) {
					interrupt()
				}
			})
			if err := errors.Join(g.addNodes(l), g.addEdges(l, 2)); err != nil {
				t.Fatal(err)
			}
			_, err := l.Commit(ctx, func(*Store) error {
				interrupt()
				return ctx.Err()
			})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("interrupted at %s: got %v", at, err)
			}
			if !l.Kept() {
				t.Errorf("interrupted at %s: Kept: got false", at)
			}
			for _, dir := range []string{dir, killed} {
				got, stats := finishLoad(t, dir, "input", g, true)
				if !maps.Equal(got, want) || stats != wantStats {
					t.Errorf("ids like %s1, interrupted at %s: got other records, or %+v, want %+v", prefix, at, stats, wantStats)
				}
			}
		}
	}
}

// TestResumedLoadsOfEveryForm interrupts loads of edges with weights and directions, of edges that memory holds, and
// with bad rows, of which the caller keeps what it was told.
func TestResumedLoadsOfEveryForm(t *testing.T) {
	t.Parallel()
	const n = 1500
	r := rand.New(rand.NewPCG(7, 7))
	for i, c := range []struct {
		opt     LoadOptions
		prefix  string
		bad     bool
		damaged bool // a bit of what the caller kept is changed
	}{
		{opt: LoadOptions{MemoryBudget: 64 << 20}},
		{opt: LoadOptions{MemoryBudget: 64 << 20, Directed: true}},
		{opt: LoadOptions{MemoryBudget: 1, Directed: true}, prefix: "word "},
		{opt: LoadOptions{MemoryBudget: 1, Weighted: true}},
		{opt: LoadOptions{MemoryBudget: 64 << 20, Directed: true, Weighted: true}, prefix: "word "},
		{opt: LoadOptions{MemoryBudget: 1, Directed: true, Weighted: true}, bad: true},
		{opt: LoadOptions{MemoryBudget: 1}, prefix: "word ", bad: true},
		{opt: LoadOptions{MemoryBudget: 64 << 20}, bad: true},
		{opt: LoadOptions{MemoryBudget: 64 << 20}, bad: true, damaged: true},
	} {
		var ids []string
		for j := range n {
			ids = append(ids, c.prefix+strconv.Itoa(n-1-j))
		}
		var rows []arcRow
		for range 8 * n {
			row := arcRow{ids[r.IntN(n)], ids[r.IntN(1+r.IntN(n))], 1}
			if c.opt.Weighted {
				row.weight = r.Float32() + 0.1
			}
			if c.bad && r.IntN(100) == 0 {
				row.dst = "nobody"
			}
			rows = append(rows, row)
		}
		// load returns the loader's result, and what was told of bad rows.
		load := func(ctx context.Context, dir string, progress Progress, resumed bool) (LoadStats, []string, error) {
			opt := c.opt
			opt.Workers, opt.Resume, opt.keepBytes, opt.Progress = 2, "input", 1, progress
			var told []string
			if c.bad {
				opt.BadRow = func(err error) error { told = append(told, err.Error()); return nil }
				opt.Save = func(w io.Writer) error {
					_, err := io.WriteString(w, strings.Join(told, "\n"))
					return err
				}
				opt.Restore = func(r io.Reader) error {
					b, err := io.ReadAll(r)
					told = strings.Split(string(b), "\n")
					return err
				}
			}
			l, err := NewLoader(t.Context(), dir, opt)
			if err != nil {
				t.Fatal(err)
			}
			if got := l.Completed(); got != resumed {
				t.Fatalf("load %d: Completed: got %v, want %v", i, got, resumed)
			}
			if !resumed {
				for j, id := range ids {
					if err := l.AddNode(Node{ID: id, Source: int64(j)}); err != nil {
						t.Fatal(err)
					}
					if c.bad && j%100 == 0 {
						if err := l.AddNode(Node{ID: id, Source: int64(n + j)}); err != nil {
							t.Fatal(err)
						}
					}
				}
				w := l.EdgeWriter()
				for j, row := range rows {
					if err := w.AddWeighted(row.src, row.dst, row.weight, int64(j)); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
			}
			stats, err := l.Commit(ctx, nil)
			slices.Sort(told)
			return stats, told, err
		}
		whole := filepath.Join(t.TempDir(), "graph")
		wantStats, wantTold, err := load(t.Context(), whole, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		want := graphRecords(t, openTest(t, whole))
		for j, at := range []string{stageEdges, stageAdjacency, stageColumns} {
			if !longtest.Asked() && i%3 != j && !c.damaged {
				continue
			}
			dir := filepath.Join(t.TempDir(), "graph")
			ctx, cancel := context.WithCancel(t.Context())
			_, _, err := load(ctx, dir, func(stage string, done, _ int64) {
				if stage == at && (at != stageAdjacency || done > 0) {
					cancel()
				}
			}, false)
			cancel()
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("load %d, interrupted at %s: got %v", i, at, err)
			}
			if c.damaged {
				saved := filepath.Join(dir+loadMark, "sort", "saved")
				b, err := os.ReadFile(saved)
				if err != nil {
					t.Fatal(err)
				}
				b[len(b)/2] ^= 1
				if err := os.WriteFile(saved, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			stats, told, err := load(t.Context(), dir, nil, !c.damaged)
			if err != nil {
				t.Fatal(err)
			}
			if stats != wantStats || !slices.Equal(told, wantTold) || c.bad == (len(told) == 0) {
				t.Errorf("load %d, interrupted at %s: got %+v and %d bad rows, want %+v and %d",
					i, at, stats, len(told), wantStats, len(wantTold))
			}
			s := openTest(t, dir)
			checkClean(t, s)
			if !maps.Equal(graphRecords(t, s), want) {
				t.Errorf("load %d, interrupted at %s: got other records", i, at)
			}
			emptyAfterStore(t, dir)
		}
	}
}

// emptyAfterStore fails where there is something beside a store.
func emptyAfterStore(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 1 {
		t.Errorf("beside the store: got %v, %v, want the store alone", left, err)
	}
}

// TestResumingIsCancelled ends a load while it verifies what another has left, which stays.
func TestResumingIsCancelled(t *testing.T) {
	t.Parallel()
	g := resumableGraph("")
	dir := filepath.Join(t.TempDir(), "graph")
	interruptedLoad(t, dir, stageColumns, g)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l, err := NewLoader(ctx, dir, LoadOptions{
		MemoryBudget: 1, Resume: "input", Properties: []Column{{Name: "year", Kind: KindInt}},
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, %v, want context.Canceled", l, err)
	}
	finishLoad(t, dir, "input", g, true)
}

// interruptedLoad leaves a checkpoint at dir.
func interruptedLoad(t *testing.T, dir, stage string, g *testGraph) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := resumableLoad(t, dir, "input", func(at string, done, _ int64) {
		if at == stage {
			cancel()
		}
	})
	if err := errors.Join(g.addNodes(l), g.addEdges(l, 2)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Commit(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted at %s: got %v", stage, err)
	}
}

func TestCheckpointsThatDoNotFit(t *testing.T) {
	t.Parallel()
	g := resumableGraph("")
	rewrite := func(path string, change func([]byte) []byte) error {
		names, err := filepath.Glob(path)
		if err != nil || len(names) == 0 {
			return errors.Join(err, os.ErrNotExist)
		}
		b, err := os.ReadFile(names[0])
		if err != nil {
			return err
		}
		return os.WriteFile(names[0], change(b), 0o600)
	}
	cut := func(b []byte) []byte { return b[:len(b)-1] }
	flip := func(b []byte) []byte { b[len(b)/2] ^= 1; return b }
	for name, damage := range map[string]func(left string) error{
		"no checkpoint":       func(left string) error { return os.Remove(filepath.Join(left, checkpointName)) },
		"damaged checkpoint":  func(left string) error { return rewrite(filepath.Join(left, checkpointName), flip) },
		"empty checkpoint":    func(left string) error { return os.Truncate(filepath.Join(left, checkpointName), 0) },
		"rows cut short":      func(left string) error { return rewrite(filepath.Join(left, "sort", "rows-*"), cut) },
		"arcs cut short":      func(left string) error { return rewrite(filepath.Join(left, "sort", "spill-*"), cut) },
		"numbers cut short":   func(left string) error { return rewrite(filepath.Join(left, "sort", "numbers"), cut) },
		"a number twice":      func(left string) error { return rewrite(filepath.Join(left, "sort", "numbers"), flip) },
		"temporary files out": func(left string) error { return os.RemoveAll(filepath.Join(left, "sort")) },
	} {
		dir := filepath.Join(t.TempDir(), "graph")
		interruptedLoad(t, dir, stageColumns, g)
		left, err := filepath.Glob(dir + loadMark + "*")
		if err != nil || len(left) != 1 {
			t.Fatalf("after an interruption: got %q, %v, want one directory", left, err)
		}
		if err := damage(left[0]); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Log(name)
		finishLoad(t, dir, "input", g, false)
	}
}

// TestDamagedCheckpoints damages each file of a checkpoint, at random places: the load starts over, and what it stores
// is what one stores that never was interrupted.
func TestDamagedCheckpoints(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 6))
	g := resumableGraph("")
	want, wantStats := finishLoad(t, filepath.Join(t.TempDir(), "graph"), "", g, false)
	for stage, files := range map[string]int{stageEdges: 2, stageColumns: 3} {
		dir := filepath.Join(t.TempDir(), "graph")
		interruptedLoad(t, dir, stage, g)
		left, err := filepath.Glob(dir + loadMark + "*")
		if err != nil || len(left) != 1 {
			t.Fatalf("after an interruption: got %q, %v, want one directory", left, err)
		}
		names, err := filepath.Glob(filepath.Join(left[0], "sort", "*"))
		if err != nil || len(names) != files {
			t.Fatalf("interrupted at %s: got %q, %v, want %d files", stage, names, err, files)
		}
		try := func(what string, damage func(path string) error, path string, resumed, finish bool) {
			t.Helper()
			dir := filepath.Join(t.TempDir(), "graph")
			dead := dir + loadMark
			if err := os.CopyFS(dead, os.DirFS(left[0])); err != nil {
				t.Fatal(err)
			}
			if err := damage(filepath.Join(dead, "sort", filepath.Base(path))); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %s %s", stage, filepath.Base(path), what)
			if !finish {
				if err := resumableLoad(t, dir, "input", nil).Abort(); err != nil {
					t.Fatal(err)
				}
				return
			}
			got, stats := finishLoad(t, dir, "input", g, resumed)
			if !maps.Equal(got, want) || stats != wantStats {
				t.Errorf("%s: %s %s: got other records, or %+v, want %+v", stage, filepath.Base(path), what, stats, wantStats)
			}
		}
		try("undamaged", func(string) error { return nil }, names[0], true, true)
		for _, path := range names {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range longtest.Of(3, 12) {
				at, bit := r.IntN(len(b)), r.IntN(8)
				try("with bit "+strconv.Itoa(8*at+bit)+" changed", func(path string) error {
					damaged := slices.Clone(b)
					damaged[at] ^= 1 << bit
					return os.WriteFile(path, damaged, 0o600)
				}, path, false, i == 0)
			}
			try("cut", func(path string) error { return os.Truncate(path, int64(r.IntN(len(b)))) }, path, false, false)
		}
	}
}

func TestCheckpointsOfOthersAreRemoved(t *testing.T) {
	t.Parallel()
	g := resumableGraph("")
	for _, resume := range []string{"", "another input"} {
		dir := filepath.Join(t.TempDir(), "graph")
		interruptedLoad(t, dir, stageEdges, g)
		finishLoad(t, dir, resume, g, false)
	}
	dir := filepath.Join(t.TempDir(), "graph")
	interruptedLoad(t, dir, stageEdges, g)
	l, err := NewLoader(t.Context(), dir, LoadOptions{MemoryBudget: 1, Resume: "input", Properties: []Column{{Name: "year", Kind: KindInt}}})
	if err != nil {
		t.Fatal(err)
	}
	if !l.Completed() {
		t.Fatal("Completed: got false")
	}
	if err := l.Abort(); err != nil {
		t.Fatal(err)
	}
	if l.Kept() {
		t.Error("Kept after Abort: got true")
	}
	emptyAfter(t, filepath.Dir(dir), "Abort of a load that was taken over")
}

func TestNothingIsKeptOfSmallOrFailedLoads(t *testing.T) {
	t.Parallel()
	g := resumableGraph("")
	for _, test := range []struct {
		name   string
		budget int64
		resume string
		finish error
	}{
		{"in memory", 1 << 30, "input", context.Canceled},
		{"no Resume", 1, "", context.Canceled},
		{"an error of the caller", 1, "input", ErrShape},
	} {
		parent := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		l, err := NewLoader(t.Context(), filepath.Join(parent, "graph"), LoadOptions{
			MemoryBudget: test.budget, Resume: test.resume, Properties: []Column{{Name: "year", Kind: KindInt}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(g.addNodes(l), g.addEdges(l, 1)); err != nil {
			t.Fatal(err)
		}
		_, err = l.Commit(ctx, func(*Store) error {
			if errors.Is(test.finish, context.Canceled) {
				cancel()
			}
			return test.finish
		})
		cancel()
		if !errors.Is(err, test.finish) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.finish)
		}
		emptyAfter(t, parent, test.name)
	}
}
