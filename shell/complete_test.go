package shell

import (
	"slices"
	"testing"
)

func TestCandidates(t *testing.T) {
	s := &session{engine: engine{store: cleanedStore(t)}}
	for _, test := range []struct {
		before string
		prefix string
		want   []string
	}{
		{"su", "su", []string{"suspects"}},
		{"  NO", "NO", []string{"node", "nodes", "noise"}},
		{"stats; cl", "cl", []string{"classes", "clean"}},
		{"suspects wh", "wh", []string{"where"}},
		{"suspects ", "", []string{"fpr", "fnr", "where", "order", "limit", "return"}},
		{"suspects where sco", "sco", []string{"score"}},
		{"suspects where score > 0.9 and la", "la", []string{"label"}},
		{"nodes where label = ", "", []string{"'Neural Nets'", "'Systems'", "'Theory'"}},
		{"nodes where label = 'T", "'T", []string{"'Theory'"}},
		{"nodes where label in ('Theory', 'neural ", "'neural ", []string{"'Neural Nets'"}},
		{"nodes where label ", "", []string{"is", "not", "in", "like", "between"}},
		{"nodes where year = ", "", nil},
		{"nodes order by ye", "ye", []string{"year"}},
		{"nodes order by year d", "d", []string{"desc"}},
		{"nodes return id, \"o", "\"o", []string{"\"old style\""}},
		{"nodes return id, ol", "ol", nil},
		{"count no", "no", []string{"nodes"}},
		{"count suspects gr", "gr", []string{"group"}},
		{"plan ", "", []string{"suspects", "nodes", "count"}},
		{"node ", "", nil},
		{"neighbors p1 h", "h", []string{"hops"}},
		{"clean ", "", []string{"hops", "preset", "direction", "diagonal", "threshold", "seed"}},
		{"clean preset paper hops 2 d", "d", []string{"direction", "diagonal"}},
		{"clean preset ", "", []string{"default", "paper"}},
		{"un", "un", []string{"undo", "unlabel", "unsure"}},
		{"accept w", "w", []string{"where"}},
		{"accept where decision = ", "", []string{"'accept'", "'reject'", "'relabel'", "'unlabel'", "'unsure'"}},
		{"reject p1, p2 ", "", []string{"because"}},
		{"relabel p1 'T", "'T", []string{"'Theory'"}},
		{"relabel 'Th", "'Th", []string{"'Theory'"}},
		{"relabel 'Theory' wh", "wh", []string{"where"}},
		{"create ", "", []string{"index"}},
		{"drop index on ye", "ye", []string{"year"}},
		{"nodes a", "a", []string{"as"}},
		{"nodes as of ", "", []string{"run"}},
		{"clean direction ", "", []string{"out", "in", "both"}},
		{"nodes wher score > ", "", nil},
		{".he", ".he", []string{".help"}},
		{".mode js", "js", []string{"json", "jsonl"}},
		{".help no", "no", []string{"node", "nodes", "noise"}},
		{".timing ", "", []string{"on", "off"}},
	} {
		candidates, prefix := s.candidates(test.before)
		var got []string
		for _, c := range candidates {
			got = append(got, c.text)
		}
		if !slices.Equal(got, test.want) || prefix != test.prefix {
			t.Errorf("after %q: got %q for %q, want %q for %q", test.before, got, prefix, test.want, test.prefix)
		}
	}
}
