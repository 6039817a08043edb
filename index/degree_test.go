package index

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// stars is a store of n nodes, where node i has about n/(i+1)^2 neighbours of its own choice: few of high degree.
func stars(tb testing.TB, n int) *kv.Store {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "store")
	loader := must.Get(kv.NewLoader(tb.Context(), dir, kv.LoadOptions{}))(tb)
	for i := range n {
		must.Do(tb, loader.AddNode(kv.Node{ID: strconv.Itoa(i), Label: fmt.Sprint("class ", i%3)}))
	}
	for i := range n {
		for j := range n / (i + 1) / (i + 1) {
			must.Do(tb, loader.AddEdge(strconv.Itoa(i), strconv.Itoa((i+1+j*7)%n), 0))
		}
	}
	must.Get(loader.Commit(context.Background(), nil))(tb)
	s := open(tb, dir)
	must.Do(tb, Create(context.Background(), s, "label"))
	return s
}

// Queries of few nodes of high degree read one block of nodes, with and without a limit.
func TestDegreeBoundsLeaveOutBlocks(t *testing.T) {
	const n, block, class, walk = 60_000, 4096, 20_000, walkRows / 256
	tx := stars(t, n).Begin()
	defer tx.Close()
	hubs := integer("degree", Gt, 1000)
	for _, c := range []struct {
		name string
		q    Query
		rows int64 // touched at most
	}{
		{"hubs", Query{Where: hubs, Limit: -1}, block},
		{"hubs, limited", Query{Where: hubs, Limit: 3}, walk + block},
		{"hubs of a class, limited", Query{Where: and(label(Eq, "class 1"), hubs), Limit: 3}, walk + block},
		{"no hubs, limited", Query{Where: and(label(Eq, "class 1"), integer("degree", Gt, n)), Limit: 3}, walk},
		{"nodes of low degree, limited", Query{Where: integer("degree", Ge, 1), Limit: 3}, 2 * firstBatch},
		{"first nodes", Query{Limit: 10}, 0},
		{"highest degrees", Query{Order: []Order{{"degree", true}}, Limit: 5}, block},
		{"lowest degrees of a class", Query{Where: label(Eq, "class 1"), Order: []Order{{"degree", false}}, Limit: 5},
			n + class},
	} {
		plan, err := NewPlan(tx, c.q)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		rows := rowsOf(t, plan)
		if got := plan.reads; got.Rows > c.rows {
			t.Errorf("%s: %d rows found by touching %+v, want at most %d rows\n%v", c.name, len(rows), got, c.rows, plan)
		}
	}
}
