package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// TestLargeDecisionsHoldLittle decides on fifty thousand nodes by a condition, prints that, and takes the same from a
// file in another store. Memory never holds as many new things as there are nodes.
func TestLargeDecisionsHoldLittle(t *testing.T) {
	longtest.Only(t)
	const nodes = 50_000
	store, other := papers.Scored(t, nodes), papers.Scored(t, nodes)
	before := held()
	check := func(what string) {
		t.Helper()
		if now := held(); now > before+nodes/2 { // a store holds up to twenty thousand things of its own, more or less of them
			t.Errorf("%s: %d things are held, and %d were before", what, now, before)
		}
	}
	r := must.Get(query.Exec(t.Context(), store, query.Options{}, "unsure all where score >= 0"))(t)
	check("decided")
	path := filepath.Join(t.TempDir(), "d.csv")
	file := must.Get(os.Create(path))(t)
	fmt.Fprintln(file, "id,decision")
	rows := 0
	for d, err := range r.Rows() {
		must.Do(t, err)
		fmt.Fprintf(file, "%s,unsure\n", d[0])
		if rows++; rows == nodes {
			check("printed")
		}
	}
	if err := file.Close(); err != nil || rows != nodes {
		t.Fatalf("got %d rows, %v, want %d", rows, err, nodes)
	}
	const memory = 2 << 20
	a, err := files.Adopt(t.Context(), other, path, files.Adopting{
		Who: "ann", Job: files.Job{Memory: memory},
	})
	if err != nil || a.Count != nodes || a.Steps != 1 {
		t.Errorf("got %+v, %v, want %d decisions in a step", a, err, nodes)
	}
	check("imported")
}

// held is how many things the heap holds.
func held() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapObjects
}
