package review

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// optionsOf are those of a review of the suspects that meet a condition. Err is a buffer.
func optionsOf(t *testing.T, store *kv.Store, where, lines string) Options {
	t.Helper()
	return Options{
		Do: func(ctx context.Context, step Step) (Result, error) {
			return step.Do(ctx, store, query.Options{Who: "tester"})
		},
		Find: Find{Where: where}, In: strings.NewReader(lines), Out: new(bytes.Buffer), Err: new(bytes.Buffer),
		Note: func(string) {},
	}
}

// ran runs a review.
func ran(t *testing.T, opt Options) (summary string) {
	t.Helper()
	summary, _, err := Run(t.Context(), opt)
	must.Do(t, err)
	return summary
}

// reviewed runs a review of a store with lines of replies.
func reviewed(t *testing.T, store *kv.Store, where, lines string) (out, remarks, summary string) {
	t.Helper()
	opt := optionsOf(t, store, where, lines)
	summary = ran(t, opt)
	return opt.Out.(*bytes.Buffer).String(), opt.Err.(*bytes.Buffer).String(), summary
}

// undoAll takes every decision back.
func undoAll(t *testing.T, store *kv.Store) {
	t.Helper()
	for {
		_, err := cleaner.Undo(t.Context(), store, decide.Options{})
		if errors.Is(err, decide.ErrNothingToUndo) {
			return
		}
		must.Do(t, err)
	}
}

// Lines that came before a suspect was shown are no replies about it.
func TestTypedAhead(t *testing.T) {
	store := papers.Cleaned(t)
	drops := 0
	opt := optionsOf(t, store, "", "n\nn\n")
	opt.Drop = func() error { drops++; return nil }
	if got, want := ran(t, opt), "1 decided, 0 skipped; 1 left"; got != want || drops != 2 {
		t.Errorf("got %q and %d times Drop, want %q and 2", got, drops, want)
	}
}

// Every reply does what it says; s3 and p4 are the suspects, in this order.
func TestReview(t *testing.T) {
	store := papers.Cleaned(t)
	for _, test := range []struct {
		name, where, lines string
		says               string
		labels             []string
	}{
		{name: "accept and reject", lines: "y\nn\n", says: "2 decided, 0 skipped; 0 left",
			labels: []string{"p4 Systems reject", "s3 Theory accept"}},
		{name: "relabel and unlabel", lines: "l Neural Nets\nu\n", says: "2 decided, 0 skipped; 0 left",
			labels: []string{"p4  unlabel", "s3 Neural Nets relabel"}},
		{name: "unsure and skip", lines: "d\ns\n", says: "1 decided, 1 skipped; 0 left",
			labels: []string{"s3 Systems unsure"}},
		{name: "the same label", lines: "l Systems\nq\n", says: "1 decided, 0 skipped; 1 left",
			labels: []string{"s3 Systems reject"}},
		{name: "undo of a decision", lines: "y\nz\nn\nq\n", says: "1 decided, 0 skipped; 1 left",
			labels: []string{"s3 Systems reject"}},
		{name: "undo of a skip", lines: "s\nz\ny\nq\n", says: "1 decided, 0 skipped; 1 left",
			labels: []string{"s3 Theory accept"}},
		{name: "the end of the input", lines: "y\n", says: "1 decided, 0 skipped; 1 left",
			labels: []string{"s3 Theory accept"}},
		{name: "nothing", says: "0 decided, 0 skipped; 2 left"},
		{
			name: "a condition", where: "label = 'Systems' and score > 0.7 and score < 0.99", lines: "y\n",
			says: "1 decided, 0 skipped; 0 left", labels: []string{"p4 Theory accept"},
		},
		{name: "none", where: "degree > 1000", says: "no suspect meets the condition of --where"},
		{name: "a second try at a label", lines: "l Databases\ne\nnets\nq\n", says: "1 decided, 0 skipped; 1 left",
			labels: []string{"s3 Neural Nets relabel"}},
		{name: "back from a label", lines: "l Databases\n\nq\n", says: "0 decided, 0 skipped; 2 left"},
	} {
		t.Run(test.name, func(t *testing.T) {
			undoAll(t, store)
			if _, _, summary := reviewed(t, store, test.where, test.lines); summary != test.says {
				t.Errorf("got %q, want %q", summary, test.says)
			}
			if got := papers.LabelsNow(t, store); !slices.Equal(got, test.labels) {
				t.Errorf("labels and decisions are %q, want %q", got, test.labels)
			}
		})
	}
}

func TestReviewRefuses(t *testing.T) {
	store := papers.Cleaned(t)
	for _, test := range []struct{ where, lines, want string }{
		{"", "z\n", "this review has nothing to take back"},
		{"", "l Theroy\n", "no class is named 'Theroy'"},
		{"", "l e\n", "3 classes match 'e': "},
		{"", "w caf\xe9\n", "the reason is no UTF-8 text"},
		{"", "w so\x00so\n", "has control characters"},
		{"", "w " + strings.Repeat("x", decide.MaxWhy+1) + "\n", "has more than 4096 bytes"},
	} {
		_, remarks, _ := reviewed(t, store, test.where, test.lines)
		if !strings.Contains(remarks, test.want) {
			t.Errorf("%.40q: got the remarks %q, want %q", test.lines, remarks, test.want)
		}
		if got := papers.LabelsNow(t, store); got != nil {
			t.Errorf("%.40q: decided %q, want nothing", test.lines, got)
		}
	}
}

// A person is not asked about a suspect that somebody else has decided on meanwhile.
func TestReviewSkipsWhatOthersDecide(t *testing.T) {
	store := papers.Cleaned(t)
	opt := optionsOf(t, store, "", "n\n")
	do := opt.Do
	opt.Do = func(ctx context.Context, step Step) (Result, error) {
		result, err := do(ctx, step)
		if step.Find != nil {
			_, failed := query.Exec(ctx, store, query.Options{Who: "ann"}, "reject s3")
			err = errors.Join(err, failed)
		}
		return result, err
	}
	ran(t, opt)
	if told := opt.Err.(*bytes.Buffer).String(); !strings.Contains(told, "s3 is decided by ann meanwhile") {
		t.Errorf("the reviewer is told %q, want that ann has decided", told)
	}
	if got, want := papers.LabelsNow(t, store), []string{"p4 Systems reject",
		"s3 Systems reject"}; !slices.Equal(got, want) {
		t.Errorf("labels and decisions are %q, want %q", got, want)
	}
}

// A card shows who has decided, and who disagrees.
func TestReviewCardOfADispute(t *testing.T) {
	store := papers.Cleaned(t)
	for _, test := range []struct{ who, statement, want string }{
		{"ann", "accept s3", "  decided      ann says Theory\n"},
		{"bob", "relabel s3 'Neural Nets'", "  decided      ann says Theory, bob says Neural Nets\n"},
	} {
		must.Get(query.Exec(t.Context(), store, query.Options{Who: test.who}, test.statement))(t)
		if out, _, _ := reviewed(t, store, "decided_by is not null", ""); !strings.Contains(out, test.want) {
			t.Errorf("after %s: the card lacks %q:\n%s", test.statement, test.want, out)
		}
	}
}

// A card shows what there is to know, and no control characters.
func TestReviewCard(t *testing.T) {
	out, _, _ := reviewed(t, papers.Cleaned(t), "", "w seen in print\ny\n")
	for _, want := range []string{
		"\n1 of 2: node s3\n", "  label        Systems\n", "  suggested    Theory\n", "  score        0.992188, " +
			"confidence in the suggestion 0.5\n",
		"  degree       2\n", `  title        Nets\tand\nlines` +
			"\n", "  year         2012\n", "  predicted    Theory 0.5, ",
		"  against      東, no label, predicted Neural Nets: 東京\n  for          s2, Systems: Files\n",
		"s3 accepted: Systems → Theory\n", "\n2 of 2: node p4\n",
		"  against      p2, Theory: On trees\n               p3, Theory: On graphs, again\n               p1, Theory: On " +
			"graphs\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the cards lack %q:\n%s", want, out)
		}
	}
}

// TestReviewDecidesOnTheCard changes the store below a card, and decides over a reply before it is taken back.
func TestReviewDecidesOnTheCard(t *testing.T) {
	store := papers.Cleaned(t)
	opt := optionsOf(t, store, "", "y\ny\nz\nz\n")
	do, steps := opt.Do, 0
	opt.Do = func(ctx context.Context, step Step) (Result, error) {
		other := func(statement string) {
			must.Get(query.Exec(ctx, store, query.Options{Who: "somebody else"}, statement))(t)
		}
		suggest := func(class string) {
			must.Do(t, store.Update(func(tx *kv.Tx) error {
				return tx.SetValue(must.Get(tx.Node("s3"))(t), "suggested",
					kv.ValueOf(class))
			}))
		}
		switch steps++; {
		case steps == 3: // the reply to the first card
			suggest("Neural Nets")
		case steps == 4: // the card again
			suggest("Theory")
		case step.Undo != 0 && steps == 7:
			other("reject s3")
		case step.Undo != 0:
			other("undo")
			other("reject p1")
		}
		return do(ctx, step)
	}
	summary := ran(t, opt)
	remarks := opt.Err.(*bytes.Buffer).String()
	for _, want := range []string{"nothing is decided: ", "the suggestion was Theory, is Neural Nets",
		"s3 cannot be taken back here: somebody has decided since"} {
		if !strings.Contains(remarks, want) {
			t.Errorf("got the remarks %q, want %q", remarks, want)
		}
	}
	if got, want := papers.LabelsNow(t, store), []string{"p1 Theory reject"}; !slices.Equal(got, want) ||
		summary != "0 decided, 0 skipped; 2 left" {
		t.Errorf("got %q, %s, want %q: that the decision of somebody else about another node stays", got, summary, want)
	}
}
