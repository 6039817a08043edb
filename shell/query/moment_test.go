package query

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/papers"
)

// TestThePastIsWhatItWas makes random decisions, takes some back, and asks random questions after each step: the same
// questions, asked as of these moments when all is over, have the same answers.
func TestThePastIsWhatItWas(t *testing.T) {
	const steps, questions = 12, 6
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 56))
		store, clock := papers.Cleaned(t), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		opt := Options{Now: func() time.Time { return clock }}
		ask := func(text string) string { return collectAll(t, store, opt, text) }

		type question struct{ text, answer string }
		var asked []question
		for range steps {
			clock = clock.Add(time.Hour)
			opt.Who = []string{"ann", "bob", "cy"}[r.IntN(3)]
			if r.IntN(4) == 0 {
				_, err := Exec(t.Context(), store, opt, "undo")
				if err != nil && !errors.Is(err, decide.ErrNothingToUndo) && !errors.Is(err, decide.ErrChanged) {
					t.Fatal(err)
				}
			} else {
				ask(randomDecision(r))
			}
			for range questions {
				clauses := randomClauses(r)
				if r.IntN(4) == 0 {
					question := question{"count nodes as of '" + clock.Format(time.RFC3339) + "' group by label", ""}
					question.answer = ask("count nodes group by label")
					asked = append(asked, question)
				}
				asked = append(asked, question{
					"nodes as of '" + clock.Add(time.Minute).Format(time.RFC3339) + "'" + clauses,
					ask("nodes" + clauses),
				})
			}
		}
		for _, q := range asked {
			if got := ask(q.text); got != q.answer {
				t.Errorf("seed %d: %s: got\n%s\nwant\n%s", seed, q.text, got, q.answer)
			}
		}
	}
}

// linesOf prints a result: a line with the columns and a line a row.
func linesOf(r *Result) (string, error) {
	out := fmt.Sprintln(r.Columns())
	for row, err := range r.Rows() {
		if err != nil {
			return "", err
		}
		out += fmt.Sprintf("%q\n", row.Values)
	}
	return out, nil
}

// collectAll answers a statement with a line a row.
func collectAll(t *testing.T, store *kv.Store, opt Options, text string) string {
	t.Helper()
	result, err := answerIn(t.Context(), t, store, opt, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	lines, err := linesOf(result)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return lines
}

func randomDecision(r *rand.Rand) string {
	class := []string{"Theory", "Systems", "Neural Nets"}[r.IntN(3)]
	id := Quote(papers.All[r.IntN(len(papers.All)-1)].ID) // the last has no label
	return []string{
		"accept " + id, "unsure " + id, "relabel " + id + " " + Quote(class),
		"relabel " + id + " " + Quote(class), fmt.Sprintf("relabel '%s' all where degree = %d", class, 1+r.IntN(4)),
		fmt.Sprintf("unlabel all where label = '%s' and degree > %d", class, r.IntN(4)),
	}[r.IntN(6)]
}

// randomClauses are a condition, an order, a sample and a limit that mostly speak of what decisions change.
func randomClauses(r *rand.Rand) string {
	test := func() string {
		return []string{
			"label = 'Theory'", "label != 'Systems'", "label is null", "label like '%s%'", "not (label in ('Systems', 'Theory'))",
			"decision is null", "decision = 'relabel'", "decision > 'b'", "disputed", "decided_by = 'ann'", "decided_by like '%bob%'", "degree > 2", "score < 0.5", "id in ('p1', 's2', '東')",
			"share(label) < 0.7", "share('Theory', 2) >= 0.5", "share(suggested) is null", "neighbor(label = 'Systems')",
			"neighbor(decision is not null and share(label) > 0.3, 2)",
		}[r.IntN(19)]
	}
	text := ""
	if r.IntN(4) > 0 {
		text += " where " + test() + []string{" and ", " or ", " and not "}[r.IntN(3)] + test()
	}
	if r.IntN(2) == 0 {
		text += " order by " + []string{"label", "label desc", "decision desc, label", "score", "degree desc, label desc", "id desc", "share(label, 2) desc"}[r.IntN(7)]
	}
	if r.IntN(3) == 0 {
		text += fmt.Sprint(" sample ", r.IntN(8), " seed ", r.IntN(3))
	}
	if r.IntN(3) == 0 {
		text += fmt.Sprint(" limit ", r.IntN(6))
	}
	return text + " return id, label, decision, disputed, decided_by, share(label)"
}

func TestTimesOfMoments(t *testing.T) {
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-01-31T12:00:00Z": noon, "2026-01-31T13:00:00+01:00": noon, "2026-01-31 12:00": noon, "2026-01-31T12:00": noon, "2026-01-31T12:00:00": noon,
		"2026-01-31 12:00:00.25": noon.Add(time.Second / 4), "2026-01-31": noon.Add(-12 * time.Hour), "": {}, "31.1.2026": {},
		"2026-02-30": {}, "0001-01-01": {},
	} {
		r := newResolver(t.Context(), nil, Options{}, nil)
		got, err := r.time(literal{kind: literalString, text: text, pos: startOfText})
		if !got.Equal(want) || (err == nil) == want.IsZero() {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	r := newResolver(t.Context(), nil, Options{}, []kv.Value{kv.IntValue(3)})
	if got, err := r.time(literal{kind: literalParam, number: 1, pos: startOfText}); err == nil {
		t.Errorf("the number 3: got %v, want an error", got)
	}
}
