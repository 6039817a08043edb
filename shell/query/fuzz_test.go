package query

import (
	"errors"
	"testing"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

// fuzzedTexts are where the fuzzing of statements begins, beside the examples of the manual.
var fuzzedTexts = []string{
	"suspects where score>0.97 and label='Theory' order by score desc limit 2",
	"nodes where title like '%graph%' or year >= 1999 return id, \"old style\"",
	"nodes where not (weight < 1e0 or split in ('train', 'val')) order by year desc, id",
	"count suspects where score > 0.5 group by label", "count nodes where decision is null group by \"old style\"",
	"count nodes group by label, year return min(title), avg(score), sum(year) order by avg(score) desc, count limit 2",
	"count suspects return max(degree)",
	"suspects limit 2 return *",
	"history where who = 'ann' order by time desc limit 2 return id, who",
	"count history group by who",
	"neighbors p1 hops 2 where hop = 2 and label != suggested order by score desc limit 2 return id, title",
	"plan nodes where id = 'p1' or degree >= 2",
	"neighbors p1 hops 2 limit 3",
	"node 'e 1'", "node p1, 'e 1', $1", "classes",
	"explain p4",
	"suspects fpr 0.5", "suspects fnr 1e-3", "nodes where \"old style\" = 3", "nodes where label = 1", "nodes limit 1.5",
	"nodes where scroe > 1", "suspects where score is not null and confidence != 0.5 return score", "history p1",
	"nodes where label != suggested and weight < degree",
	"suspects sample 2 seed 3 order by id", "nodes limit 1 sample 9", "undo",
	"nodes where label != suggested and share(label, 1) < 0.2 order by share(suggested, 2) desc, id return id, " +
		"share('Theory')",
	"count nodes where share(label) is not null group by share(label) return avg(share($1, $2)), max(degree) order by " +
		"max(degree) desc",
	"plan nodes where share(label) = 1 limit 3", "neighbors p1 where share(label) > score return id, share(label, 2)",
	"nodes where share = 1",
	"relabel p1 'Systems'", "create index on year", "drop index on score",
}

// FuzzQuery holds that no text makes a store panic, and that what an error points to lies in the text.
func FuzzQuery(f *testing.F) {
	for _, text := range fuzzedTexts {
		f.Add(text)
	}
	for _, m := range Manual() {
		f.Add(m.Examples[0])
	}
	made := papers.Cleaned(f)
	dir := made.Dir()
	papers.CloseStore(f, made)
	// A store that is only read answers the same whatever was asked before.
	store, err := index.Open(dir, kv.Options{MemoryBudget: 64 << 20, ReadOnly: true})
	must.Do(f, err)
	f.Cleanup(func() { papers.CloseStore(f, store) })
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := answered(t.Context(), store, Options{}, text); err != nil {
			if pos, ok := Position(err); ok && pos.Offset > len(text) {
				t.Fatalf("%q: got the error %v at byte %d of %d", text, err, pos.Offset, len(text))
			}
			wrong, isParse := errors.AsType[*TextError](err)
			if isParse && wrong.Err.Error() == "" || err.Error() == "" {
				t.Fatalf("%q: got an error without words", text)
			}
		}
	})
}
