package query

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

func TestComplete(t *testing.T) {
	tx := snapshotOf(t, papers.Cleaned(t))
	var properties []string
	for _, name := range propertyNames(tx) {
		properties = append(properties, QuoteName(name))
	}
	for _, test := range []struct {
		before string
		prefix string
		want   []string
	}{
		{"su", "su", []string{"suspects"}},
		{"  NO", "NO", []string{"node", "nodes", "noise"}},
		{"stats; cl", "cl", []string{"classes", "clean"}},
		{"suspects wh", "wh", []string{"where"}},
		{"suspects sample 5 ", "", []string{"seed", "where", "order", "limit", "offset", "return"}},
		{"suspects ", "", []string{"fpr", "fnr", "fdr", "where", "sample", "order", "limit", "offset", "return"}},
		{"suspects where sco", "sco", []string{"score"}},
		{"suspects where score > 0.9 and la", "la", []string{"label"}},
		{"nodes where label = ", "", append([]string{"'Neural Nets'", "'Systems'", "'Theory'"}, append(properties, "share")...)},
		{"nodes where label in (", "", []string{"'Neural Nets'", "'Systems'", "'Theory'"}},
		{"nodes where label != su", "su", []string{"suggested"}},
		{"nodes where label = 'T", "'T", []string{"'Theory'"}},
		{"nodes where label in ('Theory', 'neural ", "'neural ", []string{"'Neural Nets'"}},
		{"nodes where label ", "", []string{"is", "not", "in", "like", "ilike", "between"}},
		{"nodes where lo", "lo", []string{"lower"}},
		{"nodes where lower(tit", "tit", []string{"title"}},
		{"nodes where lower(title) ", "", []string{"not", "like", "in"}},
		{"nodes where disputed ", "", []string{"is", "not", "in", "like", "ilike", "between", "and", "or", "sample", "order", "limit", "offset", "return"}},
		{"nodes where \"old style\" o", "o", []string{"or", "order", "offset"}},
		{"nodes where label o", "o", nil},
		{"nodes where year = ", "", append(properties, "share")},
		{"nodes where sh", "sh", []string{"share"}},
		{"nodes order by sh", "sh", []string{"share"}},
		{"nodes where share(l", "l", []string{"label"}},
		{"nodes where share('T", "'T", []string{"'Theory'"}},
		{"nodes where share(label, 2) b", "b", []string{"between"}},
		{"nodes where ne", "ne", []string{"neighbor"}},
		{"nodes where neighbor(sco", "sco", []string{"score"}},
		{"nodes where neighbor(score > 0.5, 2) ", "", []string{"and", "or", "sample", "order", "limit", "offset", "return"}},
		{"nodes order by ye", "ye", []string{"year"}},
		{"nodes order by year d", "d", []string{"desc"}},
		{"nodes return id, \"o", "\"o", []string{"\"old style\""}},
		{"nodes return id, ol", "ol", nil},
		{"nodes return d", "d", []string{"distinct", "decided_by", "decision", "degree", "disputed"}},
		{"nodes return distinct lab", "lab", []string{"label"}},
		{"nodes return label a", "a", []string{"as"}},
		{"count no", "no", []string{"nodes"}},
		{"count suspects gr", "gr", []string{"group"}},
		{"count nodes group by label, ye", "ye", []string{"year"}},
		{"count nodes group by label ", "", []string{"return", "order", "limit", "offset"}},
		{"count nodes return ", "", []string{"min", "max", "avg", "sum"}},
		{"count nodes return avg(sco", "sco", []string{"score"}},
		{"count nodes group by label order by a", "a", []string{"avg"}},
		{"plan ", "", []string{"suspects", "nodes", "labels", "count"}},
		{"node ", "", []string{"s3", "p4", "p1", "p2", "p3", "p5", "s1", "s2", "'e 1'", "東"}},
		{"explain p", "p", []string{"p4", "p1", "p2", "p3", "p5"}},
		{"explain P", "P", nil},
		{"neighbors 'e", "'e", []string{"'e 1'"}},
		{"accept p1, s", "s", []string{"s3", "s1", "s2"}},
		{"reject ", "", []string{"where", "all", "s3", "p4", "p1", "p2", "p3", "p5", "s1", "s2", "'e 1'", "東"}},
		{"relabel s", "s", []string{"s3", "s1", "s2"}},
		{"unlabel 東", "東", []string{"東"}},
		{"unsure 's", "'s", []string{"'s3'", "'s1'", "'s2'"}},
		{"history e", "e", nil},
		{"history l", "l", []string{"limit"}},
		{"history p1 ", "", []string{"where", "order", "limit", "offset", "return"}},
		{"count hi", "hi", []string{"history"}},
		{"history '", "'", []string{"'s3'", "'p4'", "'p1'", "'p2'", "'p3'", "'p5'", "'s1'", "'s2'", "'e 1'", "'東'"}},
		{"history where s", "s", []string{"seq", "step", "score"}},
		{"count history where decision = 'u", "'u", []string{"'unlabel'", "'unsure'", "'undo'"}},
		{"classes order by su", "su", []string{"suspects", "suspect_share"}},
		{"neighbors p1 where ho", "ho", []string{"hop"}},
		{"neighbors p1 return ti", "ti", []string{"title"}},
		{"undo ", "", nil},
		{"node p-", "p-", nil},
		{"neighbors p1 h", "h", []string{"hops"}},
		{"clean ", "", []string{"hops", "preset", "direction", "threshold", "expect", "seed", "out", "in", "as"}},
		{"clean preset paper hops 2 d", "d", []string{"direction"}},
		{"clean preset ", "", []string{"default", "paper"}},
		{"un", "un", []string{"undo", "unlabel", "unsure"}},
		{"accept w", "w", []string{"where"}},
		{"accept al", "al", []string{"all"}},
		{"accept all w", "w", []string{"where"}},
		{"relabel 'Theory' al", "al", []string{"all"}},
		{"relabel 'Theory' all wh", "wh", []string{"where"}},
		{"accept where decision in (", "", []string{"'accept'", "'reject'", "'relabel'", "'unlabel'", "'unsure'"}},
		{"reject p1, p2 ", "", []string{"if", "because"}},
		{"relabel p1 'T", "'T", []string{"'Theory'"}},
		{"relabel 'Th", "'Th", []string{"'Theory'"}},
		{"relabel 'Theory' wh", "wh", []string{"where"}},
		{"create ", "", []string{"index"}},
		{"drop index on ye", "ye", []string{"year"}},
		{"clean direction ", "", []string{"out", "in", "both"}},
		{"nodes wher score > ", "", nil},
	} {
		candidates, prefix := Complete(tx, test.before)
		var got []string
		for _, c := range candidates {
			got = append(got, c.Text)
		}
		if !slices.Equal(got, test.want) || prefix != test.prefix {
			t.Errorf("after %q: got %q for %q, want %q for %q", test.before, got, prefix, test.want, test.prefix)
		}
	}
}

// Ids are offered in a bounded number, as one word whatever is in them, and in a form that reads back.
func TestIDCandidates(t *testing.T) {
	var nodes []kv.Node
	for i := range 2 * maxIDs {
		nodes = append(nodes, kv.Node{ID: fmt.Sprintf("a-%d.x", i)})
	}
	odd := []string{"where", "Limit", "--b", "c,d", "it's", "$1", "x y", "W/é:1"}
	for _, id := range append(odd, "tab\tbed", "tab\u202ebed") {
		nodes = append(nodes, kv.Node{ID: id})
	}
	dir := filepath.Join(t.TempDir(), "store")
	load := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{}))(t)
	defer func() { must.Do(t, load.Abort()) }()
	for _, node := range nodes {
		must.Do(t, load.AddNode(node))
	}
	must.Get(load.Commit(t.Context(), nil))(t)
	tx := snapshotOf(t, papers.Reopen(t, dir))
	if got, prefix := Complete(tx, "node a-"); len(got) != maxIDs || prefix != "a-" || got[0].Text != "a-0.x" {
		t.Errorf("got %d ids for %q, want %d for %q", len(got), prefix, maxIDs, "a-")
	}
	if got, prefix := Complete(tx, "node a-59.x"); len(got) != 1 || prefix != "a-59.x" {
		t.Errorf("got %v for %q, want one id for %q", got, prefix, "a-59.x")
	}
	if got, _ := Complete(tx, "node 'tab"); len(got) != 0 {
		t.Errorf("got %q, want no id that a menu cannot show", got)
	}
	for _, id := range odd {
		parsed, err := parse("reject "+quoteID(id), startOfText)
		if err != nil {
			t.Errorf("%q: %v", id, err)
		} else if ids := parsed.(*decideStatement).ids; len(ids) != 1 || ids[0].text != id {
			t.Errorf("%q: read back as %v", id, ids)
		}
	}
}
