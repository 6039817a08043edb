package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/papers"
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
	}
}

// reviewOf is a review that takes replies from a test.
func reviewOf(t *testing.T, store *kv.Store, replies replies) *review {
	t.Helper()
	r := &review{Options: optionsOf(t, store, "", ""), replies: replies, counts: make(map[decide.Kind]int)}
	must.Do(t, r.find(t.Context()))
	return r
}

// reviewed runs a review of a store with lines of replies.
func reviewed(t *testing.T, store *kv.Store, where, lines string) (out, summary string, err error) {
	t.Helper()
	opt := optionsOf(t, store, where, lines)
	summary, err = Run(t.Context(), opt)
	if remarks := opt.Err.(*bytes.Buffer); remarks.Len() > 0 {
		t.Errorf("%.40q: got the remarks %q, want none", lines, remarks)
	}
	return opt.Out.(*bytes.Buffer).String(), summary, err
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
		{name: "words", lines: "relabel Neural Nets\nunlabel\n", says: "1 relabelled, 1 unlabelled; 0 left", labels: []string{"p4  unlabel", "s3 Neural Nets relabel"}},
		{name: "unsure and skip", lines: "d\ns\n", says: "1 put aside as unsure, 1 skipped; 0 left",
			labels: []string{"s3 Systems unsure"}},
		{name: "the same label", lines: "l Systems\nq\n", says: "1 rejected; 1 left", labels: []string{"s3 Systems reject"}},
		{name: "undo of a decision", lines: "y\nz\nn\nq\n", says: "1 rejected; 1 left", labels: []string{"s3 Systems reject"}},
		{name: "undo of a skip", lines: "s\nz\ny\nq\n", says: "1 accepted; 1 left", labels: []string{"s3 Theory accept"}},
		{name: "undo twice", lines: "y\nu\nz\nz\nq\n", says: "nothing decided; 2 left"},
		{name: "undo at the end", lines: "y\nn\nz\nu\n", says: "1 accepted, 1 unlabelled; 0 left", labels: []string{"p4  unlabel", "s3 Theory accept"}},
		{
			name: "another node", lines: "g e 1\nl Theory\nn\ng 東\nd\ng s3\nu\nz\nq\n",
			says:   "1 rejected, 1 relabelled, 1 put aside as unsure; 1 left",
			labels: []string{"s3 Systems reject", "e 1 Theory relabel", "東  unsure"},
		},
		{name: "another node skipped", lines: "g p1\ns\ny\nq\n", says: "1 accepted, 1 skipped; 1 left", labels: []string{"s3 Theory accept"}},
		{name: "undo beside the queue", lines: "g p1\nu\nz\nz\ny\nq\n", says: "1 accepted; 1 left", labels: []string{"s3 Theory accept"}},
		{name: "from one node to another", lines: "g p1\ng p2\nu\nz\nz\nl Systems\nq\n", says: "1 relabelled; 2 left", labels: []string{"p1 Systems relabel"}},
		{name: "another node at the end", lines: "y\nn\ng p1\nu\nz\nz\nz\ns\n", says: "1 accepted, 1 skipped; 0 left", labels: []string{"s3 Theory accept"}},
		{name: "end of the input", lines: "y", says: "1 accepted; 1 left", labels: []string{"s3 Theory accept"}},
		{name: "nothing", says: "nothing decided; 2 left"},
		{name: "a condition", where: "label = 'Systems' and score between 0.7 and 0.99", lines: "y\n", says: "1 accepted; 0 left", labels: []string{"p4 Theory accept"}},
		{name: "none", where: "degree > 1000", says: "no suspect meets the condition of --where"},
	} {
		t.Run(test.name, func(t *testing.T) {
			undoAll(t, store)
			_, summary, err := reviewed(t, store, test.where, test.lines)
			if err != nil || summary != test.says {
				t.Errorf("got %q and error %v, want %q", summary, err, test.says)
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
		{"", "l the\n", "no class is named 'the'"},
		{"", "g nobody\n", "no node has the id 'nobody'"},
		{"", "g\n", "line 1: want a label, an id or a reason behind its key"},
		{"", "g p1\ny\n", "node p1: no other label is suggested: want n, u, l, d or s"},
		{"", "g 東\nn\n", "node 東 has no label: want y, l, d or s"},
		{"score > 0.99", "s\ny\n", "no suspects are left: want g, z or q"},
		{"", "x\n", `line 1: got "x", want one of`},
		{"", "w caf\xe9\n", `the reason "caf\xe9" is no UTF-8 text`},
		{"", "s\nw " + strings.Repeat("x", longestReply), "line 2: got more than 64 KiB, want one of: y take"},
		{"", "w so\x00so\n", `the reason "so\x00so" has control characters`},
		{"", "w " + strings.Repeat("x", decide.MaxWhy+1) + "\n", "the reason has 4097 bytes, want at most 4096"},
	} {
		_, _, err := reviewed(t, store, test.where, test.lines)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40q: got error %v, want %q", test.lines, err, test.want)
		}
		if got := papers.LabelsNow(t, store); got != nil {
			t.Errorf("%.40q: decided %q, want nothing", test.lines, got)
		}
	}
}

// Of a suspect that somebody else has given the suggested label meanwhile, no other label is suggested.
func TestReviewOfWhatIsDecidedMeanwhile(t *testing.T) {
	store := papers.Cleaned(t)
	r := reviewOf(t, store, newReplyLines(strings.NewReader("y\n"), nil, false))
	if _, err := query.Exec(t.Context(), store, query.Options{}, "relabel s3 'Theory'"); err != nil {
		t.Fatal(err)
	}
	if err := r.run(t.Context()); err == nil || !strings.Contains(err.Error(), "node s3: no other label is suggested") {
		t.Errorf("y: got error %v, want that no other label is suggested", err)
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
	r := &review{Options: opt, replies: newReplyLines(opt.In, opt.Err, true), counts: make(map[decide.Kind]int), began: time.Now()}
	must.Do(t, errors.Join(r.find(t.Context()), r.run(t.Context())))
	if told := opt.Err.(*bytes.Buffer).String(); !strings.Contains(told, "s3 is decided by ann meanwhile") {
		t.Errorf("the reviewer is told %q, want that ann has decided", told)
	}
	if got, want := papers.LabelsNow(t, store), []string{"p4 Systems reject", "s3 Systems reject"}; !slices.Equal(got, want) {
		t.Errorf("labels and decisions are %q, want %q", got, want)
	}
}

// A card shows what there is to know, and no control characters.
func TestReviewCard(t *testing.T) {
	out, _, err := reviewed(t, papers.Cleaned(t), "", "w seen in print\ny\n")
	must.Do(t, err)
	for _, want := range []string{
		"\n1 of 2: node s3\n", "  label        Systems\n", "  suggested    Theory\n", "  score        0.992188, confidence in the suggestion 0.5\n",
		"  degree       2, split test\n", `  title        Nets\tand\nlines` + "\n", "  year         2012\n", "  predicted    Theory 0.5, ",
		"  neighbours   Systems 1 (100%)\n  against      東, no label, predicted Neural Nets: 東京\n  for          s2, Systems: Files\n", "s3 accepted: Systems → Theory\n", "\n2 of 2: node p4\n",
		"  against      p2, Theory: On trees\n               p3, Theory: On graphs, again\n               p1, Theory: On graphs\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the cards lack %q:\n%s", want, out)
		}
	}
}

// typedReplies are those of a person: keys, and words where a word is asked for.
type typedReplies []string

func (r *typedReplies) pop() string {
	first := (*r)[0]
	*r = (*r)[1:]
	return first
}

func (r *typedReplies) forgiving() bool                       { return true }
func (r *typedReplies) next(string) (reply, error)            { return reply{key: rune(r.pop()[0])}, nil }
func (r *typedReplies) word(string, []string) (string, error) { return r.pop(), nil }

// A wrong label or reason is asked for again, so that a second try is not taken for keys.
func TestWrongLabelStaysAtItsPrompt(t *testing.T) {
	store := papers.Cleaned(t)
	for _, test := range []struct {
		name    string
		replies []string
		labels  []string
		shown   []string
	}{
		{
			"a class that is none", []string{"l", "Databases", "DB", "Neural Nets", "q"}, []string{"s3 Neural Nets relabel"},
			[]string{"no class is named 'Databases'", "no class is named 'DB'"},
		},
		{"given up", []string{"l", "Databases", "", "q"}, nil, []string{"leave it empty to go back"}},
		{"by its number", []string{"l", "1", "q"}, []string{"s3 Neural Nets relabel"}, []string{"   1  Neural Nets\n   2  Theory, suggested\n   3  Systems, its label\n"}},
		{"by a part of its name", []string{"l", "nets", "q"}, []string{"s3 Neural Nets relabel"}, nil},
		{
			"by a part of several", []string{"l", "e", "2", "q"}, []string{"s3 Theory relabel"},
			[]string{"   1  Neural Nets\n   2  Theory, suggested\n   3  Systems, its label\n3 classes match 'e': try again"},
		},
		{
			"by a number of the shorter list", []string{"l", "y", "2", "q"}, []string{"s3 Systems reject"},
			[]string{"   1  Theory, suggested\n   2  Systems, its label\n2 classes match 'y'"},
		},
		{"by no number", []string{"l", "4", "0", "-1", "", "q"}, nil, []string{"no class is named '4'"}},
		{
			"a reason that is too long", []string{"w", strings.Repeat("d", decide.MaxWhy+1) + "", "dd", "y", "q"}, []string{"s3 Theory accept"},
			[]string{"want at most 4096"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			undoAll(t, store)
			typed := typedReplies(test.replies)
			r := reviewOf(t, store, &typed)
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
	e := &Subject{Classes: classes, Choices: choices(&cleaner.Explanation{Label: "7"}, classes)} // 2, 11, 12, x, Area 6, 7
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

// A part of a name finds classes: a whole name before the beginning of one, and that before what stands anywhere. Case does not count.
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

func TestReplyLines(t *testing.T) {
	lines := newReplyLines(strings.NewReader("y\n\n  Reject \nl Neural  Nets\nw because\nL\nskip it\n"), nil, false)
	for _, want := range []reply{{key: 'y'}, {key: 'n'}, {key: 'l', text: "Neural  Nets"}, {key: 'w', text: "because"}, {key: 'l'}} {
		if got, err := lines.next(""); err != nil || got != want {
			t.Fatalf("got %+v and error %v, want %+v", got, err, want)
		}
	}
	if _, err := lines.word("", nil); err == nil || !strings.HasPrefix(err.Error(), "line 6: want a label") {
		t.Errorf("a label that is missing: got error %v", err)
	}
	if _, err := lines.next(""); err == nil || !strings.HasPrefix(err.Error(), `line 7: got "skip it", want one of: y take`) {
		t.Errorf("a line that is no reply: got error %v", err)
	}
	if _, err := lines.next(""); !errors.Is(err, io.EOF) {
		t.Errorf("behind the last line: got error %v, want %v", err, io.EOF)
	}
	// A person is asked again.
	var asked bytes.Buffer
	lines = newReplyLines(strings.NewReader("what\nn\n"), &asked, true)
	got, err := lines.next(">> ")
	if err != nil || got.key != 'n' || strings.Count(asked.String(), ">> ") != 2 {
		t.Errorf("got %+v and error %v, asked %q, want n at the second prompt", got, err, &asked)
	}
	long := newReplyLines(strings.NewReader(strings.Repeat("x", longestReply+1)), nil, false)
	if _, err := long.next(""); err == nil {
		t.Error("a line of more than the longest: got no error")
	}
}

// TestReviewDecidesOnTheCard changes the store below a card, and decides over a reply before it is taken back.
func TestReviewDecidesOnTheCard(t *testing.T) {
	store := papers.Cleaned(t)
	r := reviewOf(t, store, newReplyLines(strings.NewReader(""), new(bytes.Buffer), true))
	people := r.Err.(*bytes.Buffer)
	card, err := r.read(t.Context())
	must.Do(t, err)
	suggest := func(class string) {
		t.Helper()
		err := store.Update(func(tx *kv.Tx) error { return tx.SetValue(card.Node, "suggested", kv.StringValue(class)) })
		must.Do(t, err)
	}
	suggest("Neural Nets")
	moved, err := r.take(t.Context(), card, reply{key: 'y'})
	if !moved || err != nil || r.at != 0 || !strings.Contains(people.String(), "the suggestion was Theory, is Neural Nets") {
		t.Errorf("y: got %v, %v, at %d, told %q, want the same card again, and why", moved, err, r.at, people)
	}
	if got := papers.LabelsNow(t, store); got != nil {
		t.Errorf("decided %q, want nothing", got)
	}
	suggest("Theory")
	if moved, err := r.take(t.Context(), card, reply{key: 'y'}); !moved || err != nil || r.at != 1 {
		t.Errorf("y: got %v, %v, at %d, want the next card", moved, err, r.at)
	}
	other := func(statements ...string) {
		t.Helper()
		for _, statement := range statements {
			if _, err := query.Exec(t.Context(), store, query.Options{Who: "somebody else"}, statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	other("reject p1", "reject s3")
	want := papers.LabelsNow(t, store)
	if _, err := r.take(t.Context(), card, reply{key: 'z'}); err == nil || !strings.Contains(err.Error(), "somebody has decided since") {
		t.Errorf("z: got error %v, want that somebody has decided since", err)
	}
	if got := papers.LabelsNow(t, store); !slices.Equal(got, want) {
		t.Errorf("z took back a decision of somebody else: %q, want %q", got, want)
	}
	other("undo")
	_, err = r.take(t.Context(), card, reply{key: 'z'})
	if got, want := papers.LabelsNow(t, store), []string{"p1 Theory reject"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("z: got %q, error %v, want that the decision of somebody else about another node stays: %q", got, err, want)
	}
}

// The card of a node that was never scored, and of one that is no suspect, shows what there is.
func TestReviewCardBesideTheQueue(t *testing.T) {
	out, _, err := reviewed(t, papers.Cleaned(t), "", "g 東\ng p5\nq\n")
	must.Do(t, err)
	for _, want := range []string{
		"\nnode 東\n  label        none\n  suggested    Neural Nets\n  evidence     Its only neighbour is Systems; the classifier says Neural Nets, 50.0% sure.\n  score        none, confidence in the suggestion 0.5\n",
		"\nnode p5\n  label        Theory\n", "  against      s1, Systems: Kernels\n  for          p3, Theory: On graphs, again\n               p1, Theory: On graphs\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the cards lack %q:\n%s", want, out)
		}
	}
}

// A node that was decided on beside the queue does not come again.
func TestReviewBesideTheQueueDecidesSuspects(t *testing.T) {
	store := papers.Cleaned(t)
	typed := typedReplies{"g", "nobody", "p4", "y", "y", "q"}
	r := reviewOf(t, store, &typed)
	r.began = time.Now().Add(-time.Hour)
	must.Do(t, r.run(t.Context()))
	if got, want := papers.LabelsNow(t, store), []string{"p4 Theory accept", "s3 Theory accept"}; !slices.Equal(got, want) {
		t.Errorf("labels and decisions are %q, want %q", got, want)
	}
	if told := r.Err.(*bytes.Buffer).String(); !strings.Contains(told, "no node has the id 'nobody': try again") || !strings.Contains(told, "p4 is decided by tester meanwhile") {
		t.Errorf("the reviewer is told %q, want that there is no such node, and that p4 is decided", told)
	}
}

// The key e shows all properties and all classes, however many there are.
func TestReviewExplainsEverything(t *testing.T) {
	const classes = 30
	dir := filepath.Join(t.TempDir(), "store")
	load, err := kv.NewLoader(t.Context(), dir, kv.LoadOptions{Properties: []kv.Column{{Name: "abstract", Kind: kv.KindString}}})
	must.Do(t, err)
	abstract := strings.Repeat("so many words ", 60) + "and an end"
	for i := range 8 * classes {
		node := kv.Node{ID: strconv.Itoa(i), Label: "class " + strconv.Itoa(i%classes), Values: []kv.Value{kv.StringValue(abstract)}}
		must.Do(t, load.AddNode(node))
	}
	for i := range 8 * classes {
		for _, step := range []int{1, classes, 3 * classes} {
			must.Do(t, load.AddEdge(strconv.Itoa(i), strconv.Itoa((i+step)%(8*classes)), 0))
		}
	}
	for i := range classes {
		must.Do(t, load.AddEdge("0", strconv.Itoa(i+classes/2), 0))
	}
	if _, err := load.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	store := papers.Reopen(t, dir)
	if _, err := query.Exec(t.Context(), store, query.Options{}, "clean hops 1"); err != nil {
		t.Fatal(err)
	}
	step := Step{Explain: "0"}
	result, err := step.Do(t.Context(), store, query.Options{})
	must.Do(t, err)
	for _, want := range []string{abstract, "Predicted classes\n", "by weight\n", "Score, had the label been\n", "Neighbours that speak most for the label\n"} {
		if !strings.Contains(result.Text, want) {
			t.Errorf("the evidence lacks %.50q:\n%s", want, result.Text)
		}
	}
	for i := range classes {
		if name := fmt.Sprintf("class %d ", i); strings.Count(result.Text, name) < 3 {
			t.Errorf("got %d lines with %q, want one in each section", strings.Count(result.Text, name), name)
		}
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

// TestLeft counts the suspects that are left by the scores as they are after the decisions: the rescore of this store
// takes one away.
func TestLeft(t *testing.T) {
	store := papers.Scored(t, 1000)
	for _, test := range []struct {
		lines, says string
		limit       int
		keep        bool
	}{
		{lines: "s\nd\n", says: "1 put aside as unsure, 1 skipped; 6 left"}, {lines: "s\n", says: "1 skipped; 8 left"},
		{lines: "s\nd\n", says: "1 put aside as unsure, 1 skipped; 7 left", keep: true},
		{lines: "d\n", says: "1 put aside as unsure; 2 left", limit: 3},
		{lines: "d\n", says: "1 put aside as unsure; 7 left", limit: 9},
	} {
		undoAll(t, store)
		opt := optionsOf(t, store, "score > 0.99", test.lines)
		opt.Find.Limit, opt.KeepScores = test.limit, test.keep
		do, rescored := opt.Do, false
		opt.Do = func(ctx context.Context, step Step) (Result, error) {
			if step.Finish {
				rescored = true
				return Result{}, nil
			}
			if step.Find != nil && rescored {
				step.Find.Where += " and score != 0.995"
			}
			return do(ctx, step)
		}
		if summary, err := Run(t.Context(), opt); err != nil || summary != test.says {
			t.Errorf("%q, of %d: got %q and %v, want %q", test.lines, test.limit, summary, err, test.says)
		}
	}
}
