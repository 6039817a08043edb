package query

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/moments"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// auditedGraph has two classes of 30 nodes, a few of which have the label of the other class.
func auditedGraph() kvtest.Graph {
	g := kvtest.Graph{Properties: []kv.Column{{Name: "year", Kind: kv.KindInt}, {Name: "title", Kind: kv.KindString}}}
	r := rand.New(rand.NewPCG(1, 0))
	for v := range 60 {
		label := []string{"Theory", "Systems"}[(v%2+v%11/10)%2]
		g.Nodes = append(g.Nodes, kv.Node{ID: fmt.Sprint("n", v), Label: label, Values: []kv.Value{
			kv.ValueOf(int64(1990 + v%7)), kv.ValueOf(strings.Repeat("graph ", v%3)),
		}})
		for range 3 {
			g.Edges = append(g.Edges, [2]string{g.Nodes[v].ID, g.Nodes[(2*r.IntN(30)+v%2)%(v+1)].ID})
		}
	}
	return g
}

// TestMoments has each read of each statement fail once, at every place of the code, and its context end there.
func TestMoments(t *testing.T) {
	sweep := moments.New("shell/query")
	store := sweep.Open(t, kvtest.LoadDir(t, auditedGraph()))
	opt := Options{Workers: 1, Who: "ann", Rescores: true}
	opt.Confirm = func(context.Context, Question) (bool, error) { return true, nil }
	ask := func(ctx context.Context, text string) (any, error) {
		statement := must.Get(Parse(text))(t)
		if statement.Writes() {
			_, err := statement.Exec(ctx, store, opt)
			return nil, err
		}
		return moments.View(store, "", func(ctx context.Context, tx *kv.Tx) (any, error) {
			result, err := statement.Query(ctx, tx, opt)
			if err != nil {
				return nil, err
			}
			rows, err := rowsOf(result, nil)
			return fmt.Sprint(rows, result.Notices()), err
		}).Make(ctx)
	}
	mustAsk := func(text string) { must.Get(ask(t.Context(), text))(t) }
	for _, text := range []string{"clean seed 1", "audit draw 30", "reject where label is not null", "rescore", "undo",
		"relabel n4 'Systems'", "undo", "relabel n4 'Systems'", "create index on year"} {
		mustAsk(text)
		shown := fmt.Sprint(must.Get(ask(t.Context(), "suspects limit 1"))(t))
		if strings.Contains(shown, "older than changes") {
			t.Errorf("the scores do not follow %s: %s", text, shown)
		}
	}
	for _, c := range []struct{ text, before string }{
		{"suspects where score > 0.1 and label = 'Theory' order by score desc limit 5", ""},
		{"suspects fpr 0.5 return *", ""},
		{"suspects sample 2 seed 3 order by id", ""},
		{"nodes where title like '%graph%' and year >= 1992 order by year desc, id return id, title, score", ""},
		{"nodes where label != suggested or share(label, 1) < 0.6 order by share(suggested, 2) desc return id, " +
			"share('Theory')", ""},
		{"nodes sample 5 seed 1 return *", ""},
		{"node n3, n4", ""},
		{"neighbors n3 hops 2 where hop = 2 order by score desc limit 5 return id, title, share(label)", ""},
		{"count nodes where degree > 1 group by label, year return min(title), avg(score), sum(year) order by avg(score) " +
			"desc", ""},
		{"count nodes group by share(label) return max(degree)", ""},
		{"count suspects", ""},
		{"count history group by who", ""},
		{"history where who = 'ann' order by time desc limit 10", ""},
		{"history n4", ""},
		{"plan nodes where year = 1993 and degree >= 2", ""},
		{"explain n5", ""},
		{"classes", ""},
		{"stats", ""},
		{"noise", ""},
		{"runs", ""},
		{"audit", ""},
		{"accept n5 if label is not null", "undo"},
		{"reject where score > 0.5 because 'seen'", "relabel n4 'Theory'"},
		{"undo", "relabel n4 'Systems'"},
		{"rescore", "relabel n6 'Systems'"},
		{"clean hops 2", ""},
		{"create index on title", "drop index on title"},
		{"drop index on year", "create index on year"},
		{"audit draw 40", ""},
	} {
		before := func() {
			if c.before != "" {
				ask(t.Context(), c.before) //nolint:errcheck // there is an index already, or none
			}
		}
		sweep.Each(t, moments.Call{Name: c.text, Before: before,
			Make: func(ctx context.Context) (any, error) { return ask(ctx, c.text) }})
	}
}
