package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// scoredStore is a store of n nodes with a score each, most of them near 0, and labels of 40 classes; both indexed.
func scoredStore(tb testing.TB, n int) *kv.Store {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "store")
	loader := must.Get(kv.NewLoader(tb.Context(), dir, kv.LoadOptions{}))(tb)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		must.Do(tb, loader.AddNode(kv.Node{ID: strconv.Itoa(i), Label: fmt.Sprint("class ", r.IntN(40))}))
	}
	for range n {
		must.Do(tb, loader.AddEdge(strconv.Itoa(r.IntN(n)), strconv.Itoa(r.IntN(n)), 0))
	}
	must.Get(loader.Commit(context.Background(), nil))(tb)
	s := open(tb, dir)
	writeScores(tb, s, r)
	must.Do(tb, Create(context.Background(), s, "label"))
	return s
}

// writeScores replaces the score column and its index, and suggests labels, in one Bulk.
func writeScores(tb testing.TB, s *kv.Store, r *rand.Rand) {
	tb.Helper()
	bulk := must.Get(s.Bulk(context.Background()))(tb)
	defer bulk.Abort()
	column := must.Get(bulk.Column("score", kv.KindSingle))(tb)
	suggested := must.Get(bulk.Column("suggested", kv.KindClass))(tb)
	b := must.Get(NewBuilder(bulk, "score"))(tb)
	for v := range kv.NodeID(bulk.Tx().NumNodes()) {
		f := r.Float64()
		score := kv.ValueOf(float64(float32(f * f * f)))
		must.Do(tb, column.Put(v, score))
		must.Do(tb, b.Add(v, score))
		must.Do(tb, suggested.Put(v, kv.ValueOf(fmt.Sprint("class ", r.IntN(40)))))
	}
	must.Do(tb, b.Finish())
	must.Do(tb, bulk.Commit(b.Mark))
}
