package query

import (
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
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
		{"nodes where label ", "", []string{
			"is", "not", "in", "like", "ilike", "and", "or", "sample", "order", "limit", "offset", "return",
		}},
		{"nodes where year = ", "", append(properties, "share")},
		{"nodes where sh", "sh", []string{"share"}},
		{"nodes order by sh", "sh", []string{"share"}},
		{"nodes where share(l", "l", []string{"label"}},
		{"nodes where share('T", "'T", []string{"'Theory'"}},
		{"nodes where share(label, 2) il", "il", []string{"ilike"}},
		{"nodes order by ye", "ye", []string{"year"}},
		{"nodes order by year d", "d", []string{"desc"}},
		{"nodes return id, \"o", "\"o", []string{"\"old style\""}},
		{"nodes return id, ol", "ol", nil},
		{"count no", "no", []string{"nodes"}},
		{"count suspects gr", "gr", []string{"group"}},
		{"count nodes group by label, ye", "ye", []string{"year"}},
		{"count nodes group by label ", "", []string{"where", "return", "order", "limit", "offset"}},
		{"count nodes return ", "", []string{"min", "max", "avg", "sum"}},
		{"count nodes return avg(sco", "sco", []string{"score"}},
		{"count nodes group by label order by a", "a", []string{"avg"}},
		{"plan ", "", []string{"suspects", "nodes", "labels", "count"}},
		{"history l", "l", []string{"limit"}},
		{"history p1 ", "", []string{"where", "order", "limit", "offset", "return"}},
		{"count hi", "hi", []string{"history"}},
		{"history where s", "s", []string{"seq", "step", "score"}},
		{"classes order by su", "su", []string{"suspects", "suspect_share"}},
		{"neighbors p1 where ho", "ho", []string{"hop"}},
		{"neighbors p1 return ti", "ti", []string{"title"}},
		{"undo ", "", nil},
		{"neighbors p1 h", "h", []string{"hops"}},
		{"clean ", "", []string{"hops", "preset", "expect", "seed", "out", "in", "as"}},
		{"clean preset ", "", []string{"default", "paper"}},
		{"un", "un", []string{"undo", "unlabel", "unsure"}},
		{"accept w", "w", []string{"where"}},
		{"accept al", "al", []string{"all"}},
		{"relabel 'Theory' al", "al", []string{"all"}},
		{"reject p1, p2 ", "", []string{"if", "because"}},
		{"relabel p1 'T", "'T", []string{"'Theory'"}},
		{"relabel 'Th", "'Th", []string{"'Theory'"}},
		{"relabel 'Theory' wh", "wh", []string{"where"}},
		{"create ", "", []string{"index"}},
		{"drop index on ye", "ye", []string{"year"}},
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
