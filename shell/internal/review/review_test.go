package review

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/keyboard"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// typedReplies are keys, and words where a word is asked for. After the last the reviewer gives up a word, and leaves.
type typedReplies []string

// typed are replies of a line each. A word may follow the key that asks for it.
func typed(lines string) *typedReplies {
	var r typedReplies
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		if len(line) > 1 && line[1] == ' ' {
			r, line = append(r, line[:1]), line[2:]
		}
		r = append(r, line)
	}
	return &r
}

func (r *typedReplies) Choose(string, []keyboard.Choice) (rune, error) {
	if len(*r) == 0 {
		return 0, io.EOF
	}
	key, err := r.Word("")
	return rune(key[0]), err
}

func (r *typedReplies) Word(string) (string, error) {
	if len(*r) == 0 {
		return "", nil
	}
	first := (*r)[0]
	*r = (*r)[1:]
	return first, nil
}

// optionsOf are those of a review of the suspects that meet a condition. Err is a buffer.
func optionsOf(t *testing.T, store *kv.Store, where, lines string) Options {
	t.Helper()
	return Options{
		Do: func(ctx context.Context, step Step) (Result, error) {
			return step.Do(ctx, store, query.Options{Who: "tester"})
		},
		Find: Find{Where: where}, Replies: typed(lines), Out: new(bytes.Buffer), Err: new(bytes.Buffer),
	}
}

// reviewOf is a review with lines of replies.
func reviewOf(t *testing.T, store *kv.Store, lines string) *review {
	t.Helper()
	r := &review{Options: optionsOf(t, store, "", lines), counts: make(map[decide.Kind]int)}
	must.Do(t, r.find(t.Context()))
	return r
}

// reviewed runs a review of a store with lines of replies.
func reviewed(t *testing.T, store *kv.Store, where, lines string) (out, remarks, summary string) {
	t.Helper()
	opt := optionsOf(t, store, where, lines)
	summary = must.Get(Run(t.Context(), opt))(t)
	return opt.Out.(*bytes.Buffer).String(), opt.Err.(*bytes.Buffer).String(), summary
}

// undoAll takes every decision back.
func undoAll(t *testing.T, store *kv.Store) {
	t.Helper()
	for {
		_, err := cleaner.Undo(t.Context(), store, 1, decide.Options{})
		if errors.Is(err, decide.ErrNothingToUndo) {
			return
		}
		must.Do(t, err)
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
		{name: "accept and reject", lines: "y\nn\n", says: "1 accepted, 1 rejected; 0 left", labels: []string{"p4 Systems reject", "s3 Theory accept"}},
		{name: "relabel and unlabel", lines: "l Neural Nets\nu\n", says: "1 relabelled, 1 unlabelled; 0 left", labels: []string{"p4  unlabel", "s3 Neural Nets relabel"}},
		{name: "unsure and skip", lines: "d\ns\n", says: "1 put aside as unsure, 1 skipped; 0 left",
			labels: []string{"s3 Systems unsure"}},
		{name: "the same label", lines: "l Systems\nq\n", says: "1 rejected; 1 left", labels: []string{"s3 Systems reject"}},
		{name: "undo of a decision", lines: "y\nz\nn\nq\n", says: "1 rejected; 1 left", labels: []string{"s3 Systems reject"}},
		{name: "undo of a skip", lines: "s\nz\ny\nq\n", says: "1 accepted; 1 left", labels: []string{"s3 Theory accept"}},
		{name: "undo twice", lines: "y\nu\nz\nz\nq\n", says: "nothing decided; 2 left"},
		{name: "undo at the end", lines: "y\nn\nz\nu\nq\n", says: "1 accepted, 1 unlabelled; 0 left", labels: []string{"p4  unlabel", "s3 Theory accept"}},
		{name: "the end of the input", lines: "y\n", says: "1 accepted; 1 left", labels: []string{"s3 Theory accept"}},
		{name: "nothing", says: "nothing decided; 2 left"},
		{name: "a condition", where: "label = 'Systems' and score between 0.7 and 0.99", lines: "y\n", says: "1 accepted; 0 left", labels: []string{"p4 Theory accept"}},
		{name: "none", where: "degree > 1000", says: "no suspect meets the condition of --where"},
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
		{"", "l Theroy\n", "no class is named 'Theroy'; did you mean Theory?"},
		{"score > 0.99", "s\ny\n", "no suspects are left: want z or q"},
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
	r := &review{Options: opt, counts: make(map[decide.Kind]int), began: time.Now()}
	must.Do(t, errors.Join(r.find(t.Context()), r.run(t.Context())))
	if told := opt.Err.(*bytes.Buffer).String(); !strings.Contains(told, "s3 is decided by ann meanwhile") {
		t.Errorf("the reviewer is told %q, want that ann has decided", told)
	}
	if got, want := papers.LabelsNow(t, store), []string{"p4 Systems reject", "s3 Systems reject"}; !slices.Equal(got, want) {
		t.Errorf("labels and decisions are %q, want %q", got, want)
	}
}

// A card shows who has decided, and who disagrees.
func TestReviewCardOfADispute(t *testing.T) {
	store := papers.Cleaned(t)
	for _, test := range []struct{ who, statement, want string }{
		{"ann", "accept s3", "  decided      accept by ann"}, {"bob", "relabel s3 'Neural Nets'", "  disputed     ann says Theory, bob says Neural Nets\n"},
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
		"\n1 of 2: node s3\n", "  label        Systems\n", "  suggested    Theory\n", "  score        0.992188, confidence in the suggestion 0.5\n",
		"  degree       2, split test\n", `  title        Nets\tand\nlines` + "\n", "  year         2012\n", "  predicted    Theory 0.5, ",
		"  against      東, no label, predicted Neural Nets: 東京\n  for          s2, Systems: Files\n", "s3 accepted: Systems → Theory\n", "\n2 of 2: node p4\n",
		"  against      p2, Theory: On trees\n               p3, Theory: On graphs, again\n               p1, Theory: On graphs\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the cards lack %q:\n%s", want, out)
		}
	}
}

// A wrong label or reason is asked for again, so that a second try is not taken for keys.
func TestWrongLabelStaysAtItsPrompt(t *testing.T) {
	store := papers.Cleaned(t)
	for _, test := range []struct {
		name, lines string
		labels      []string
		shown       []string
	}{
		{
			"a class that is none", "l Databases\nDB\nNeural Nets\nq\n", []string{"s3 Neural Nets relabel"},
			[]string{"no class is named 'Databases'", "no class is named 'DB'"},
		},
		{"given up", "l Databases\n\nq\n", nil, []string{"leave it empty to go back"}},
		{"by its number", "l 1\nq\n", []string{"s3 Neural Nets relabel"}, []string{"   1  Neural Nets\n   2  Theory, suggested\n   3  Systems, its label\n"}},
		{"by a part of its name", "l nets\nq\n", []string{"s3 Neural Nets relabel"}, nil},
		{
			"by a part of several", "l e\n2\nq\n", []string{"s3 Theory relabel"},
			[]string{"   1  Neural Nets\n   2  Theory, suggested\n   3  Systems, its label\n3 classes match 'e': try again"},
		},
		{
			"by a number of the shorter list", "l y\n2\nq\n", []string{"s3 Systems reject"},
			[]string{"   1  Theory, suggested\n   2  Systems, its label\n2 classes match 'y'"},
		},
		{"by no number", "l 4\n0\n-1\n\nq\n", nil, []string{"no class is named '4'"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			undoAll(t, store)
			r := reviewOf(t, store, test.lines)
			must.Do(t, r.run(t.Context()))
			if got := papers.LabelsNow(t, store); !slices.Equal(got, test.labels) {
				t.Errorf("labels and decisions are %q, want %q", got, test.labels)
			}
			for _, shown := range test.shown {
				if people := r.Err.(*bytes.Buffer); !strings.Contains(people.String(), shown) {
					t.Errorf("the reviewer is told %q, want %q", people, shown)
				}
			}
		})
	}
}

// A name, or the beginning of one, goes before a place in the list of classes.
func TestNumbersThatPickClasses(t *testing.T) {
	classes := []string{"2", "7", "11", "12", "x", "Area 6"}
	e := &Subject{Classes: classes, Choices: []string{"2", "11", "12", "x", "Area 6", "7"}}
	for _, test := range []struct {
		text   string
		listed []string
		want   []string
	}{
		{"2", e.Choices, []string{"2"}}, {"7", e.Choices, []string{"7"}}, {"3", e.Choices, []string{"12"}}, {"4", e.Choices, []string{"x"}},
		{"6", e.Choices, []string{"7"}}, {"1", e.Choices, []string{"11", "12"}}, {"9", e.Choices, nil}, {"0", e.Choices, nil},
		{"3", nil, nil}, {"6", nil, []string{"Area 6"}}, {"11", nil, []string{"11"}}, {"3", []string{"x", "2", "7"}, []string{"7"}},
	} {
		if got := e.matches(test.text, test.listed); !slices.Equal(got, test.want) {
			t.Errorf("%s of the list %q: got %q, want %q", test.text, test.listed, got, test.want)
		}
	}
}

// A part of a name finds classes: a whole name before the beginning of one, and that before what stands anywhere. Case
// does not count.
func TestPartsThatPickClasses(t *testing.T) {
	classes := []string{"Theory", "Theory of Nets", "Neural Nets", "ÉTUDES", "ab", "aB", "ABC"}
	e := &Subject{Classes: classes, Choices: classes}
	for text, want := range map[string][]string{
		"Theory": {"Theory"}, "THEORY": {"Theory"}, "theo": {"Theory", "Theory of Nets"}, "ne": {"Neural Nets"}, "nets": {"Theory of Nets", "Neural Nets"},
		"of": {"Theory of Nets"}, "é": {"ÉTUDES"}, "tudes": {"ÉTUDES"}, "ab": {"ab"}, "AB": {"ab", "aB"}, "abc": {"ABC"}, "z": nil,
	} {
		if got := e.matches(text, nil); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// TestReviewDecidesOnTheCard changes the store below a card, and decides over a reply before it is taken back.
func TestReviewDecidesOnTheCard(t *testing.T) {
	store := papers.Cleaned(t)
	r := reviewOf(t, store, "")
	people := r.Err.(*bytes.Buffer)
	card := must.Get(r.read(t.Context()))(t)
	suggest := func(class string) {
		t.Helper()
		must.Do(t, store.Update(func(tx *kv.Tx) error { return tx.SetValue(card.Node, "suggested", kv.ValueOf(class)) }))
	}
	suggest("Neural Nets")
	moved, err := r.take(t.Context(), card, 'y')
	if !moved || err != nil || r.at != 0 || !strings.Contains(people.String(), "the suggestion was Theory, is Neural Nets") {
		t.Errorf("y: got %v, %v, at %d, told %q, want the same card again, and why", moved, err, r.at, people)
	}
	if got := papers.LabelsNow(t, store); got != nil {
		t.Errorf("decided %q, want nothing", got)
	}
	suggest("Theory")
	if moved, err := r.take(t.Context(), card, 'y'); !moved || err != nil || r.at != 1 {
		t.Errorf("y: got %v, %v, at %d, want the next card", moved, err, r.at)
	}
	other := func(statements ...string) {
		t.Helper()
		for _, statement := range statements {
			must.Get(query.Exec(t.Context(), store, query.Options{Who: "somebody else"}, statement))(t)
		}
	}
	other("reject p1", "reject s3")
	want := papers.LabelsNow(t, store)
	if _, err := r.take(t.Context(), card, 'z'); err == nil || !strings.Contains(err.Error(), "somebody has decided since") {
		t.Errorf("z: got error %v, want that somebody has decided since", err)
	}
	if got := papers.LabelsNow(t, store); !slices.Equal(got, want) {
		t.Errorf("z took back a decision of somebody else: %q, want %q", got, want)
	}
	other("undo")
	_, err = r.take(t.Context(), card, 'z')
	if got, want := papers.LabelsNow(t, store), []string{"p1 Theory reject"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("z: got %q, error %v, want that the decision of somebody else about another node stays: %q", got, err, want)
	}
}

// Lines break between words, and those after the first begin below the value.
func TestFlow(t *testing.T) {
	for _, test := range []struct {
		words         []string
		width, indent int
		want          string
	}{
		{[]string{"[s]kip", "[z] undo", "[?]"}, 16, 0, "[s]kip [z] undo\n[?]"},
		{[]string{"[s]kip", "[z] undo"}, 0, 0, "[s]kip [z] undo"},
		{strings.Split("  name 東京 of words", " "), 11, 4, "  name 東京\n    of\n    words"},
		{[]string{"abc", "wordthatislong", "b"}, 6, 2, "abc\n  wordthatislong\n  b"},
	} {
		if got := flow(test.words, test.width, test.indent); got != test.want {
			t.Errorf("%q in %d: got %q, want %q", test.words, test.width, got, test.want)
		}
	}
}
