package shell

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/shell/internal/papers"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// rest is a chunk that stands for a while in which nothing is typed.
const rest = "rest"

// pressed is a keyboard on which chunks of keys are typed, one a read, and which counts how often its terminal was made
// raw and restored.
func pressed(chunks ...string) (k *keyboard, out *bytes.Buffer, raw, restored *int) {
	out, raw, restored = new(bytes.Buffer), new(int), new(int)
	read := func(while time.Duration) ([]byte, error) {
		if len(chunks) == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		chunk := chunks[0]
		chunks = chunks[1:]
		if chunk == rest {
			if while > 0 {
				return nil, nil
			}
			chunk, chunks = chunks[0], chunks[1:]
		}
		return []byte(chunk), nil
	}
	drop := func() error { return nil }
	return &keyboard{out: out, chunk: read, drop: drop, makeRaw: func() (func() error, error) {
		*raw++
		return func() error { *restored++; return nil }, nil
	}}, out, raw, restored
}

func TestKeys(t *testing.T) {
	k, out, raw, restored := pressed("x", "\x1b[A", "Y", "n", "\x1bOP", "z", "u")
	for _, want := range []rune{'y', 'n', 'z', 'u'} {
		got, err := k.next("? ")
		if err != nil || got.key != want {
			t.Fatalf("got %c and error %v, want %c", got.key, err, want)
		}
	}
	if *raw != 4 || *restored != 4 {
		t.Errorf("the terminal was made raw %d times and restored %d times, want 4 and 4", *raw, *restored)
	}
	if want := "? \a\aaccept\r\n? reject\r\n? \aundo\r\n? unlabel\r\n"; out.String() != want {
		t.Errorf("the terminal shows %q, want %q", out, want)
	}
	// The error of a terminal that is gone.
	if _, err := k.next(""); !errors.Is(err, io.ErrUnexpectedEOF) || *raw != *restored {
		t.Errorf("a failing read: got error %v, raw %d, restored %d", err, *raw, *restored)
	}
}

// A text is no reply, whichever keys are in it, and however it comes.
func TestPastedTextIsNoReply(t *testing.T) {
	for _, test := range []struct {
		name   string
		chunks []string
		want   rune
		shown  string
	}{
		{"a word", []string{"Databases", rest, "s"}, 's', "several keys at once are no reply: nothing is done\r\n? skip"},
		{"in parts", []string{"Da", "tabases", "y", rest, "s"}, 's', "nothing is done\r\n? skip"},
		{"twice", []string{"dd", rest, "nn", rest, "s"}, 's', "nothing is done\r\n? skip"},
		{"an arrow in parts", []string{"\x1b", "[", "D", rest, "s"}, 's', "? \askip"},
		{"a line", []string{"d\r", rest, "s"}, 's', "nothing is done\r\n? skip"},
		{"what begins as a label", []string{"lTheory\r"}, 'l', "? relabel"},
	} {
		k, out, raw, restored := pressed(test.chunks...)
		got, err := k.next("? ")
		if err != nil || got.key != test.want || !strings.Contains(out.String(), test.shown) || *raw != 1 || *restored != 1 {
			t.Errorf("%s: got %c and error %v, shown %q, raw %d, restored %d", test.name, got.key, err, out, *raw, *restored)
		}
	}
	k, _, _, _ := pressed("dd", "\x03", rest, "s")
	if _, err := k.next(""); !errors.Is(err, errInterrupted) {
		t.Errorf("Ctrl-C in a text: got error %v, want %v", err, errInterrupted)
	}
}

// What was typed before a question is no answer to it.
func TestTypedBeforeTheQuestion(t *testing.T) {
	k, _, _, _ := pressed("lTheory\ryy", "s")
	dropped := 0
	k.drop = func() error { dropped++; return nil }
	if got, err := k.next(""); err != nil || got.key != 'l' {
		t.Fatalf("got %c and error %v, want l", got.key, err)
	}
	if got, err := k.word("", nil); err != nil || got != "Theory" {
		t.Fatalf("got %q and error %v, want Theory", got, err)
	}
	if got, err := k.next(""); err != nil || got.key != 's' || dropped != 2 {
		t.Errorf("got %c and error %v, dropped %d times, want s and 2", got.key, err, dropped)
	}
}

// A wrong label or reason is asked for again, so that a second try is not taken for keys.
func TestWrongLabelStaysAtItsPrompt(t *testing.T) {
	store := papers.Cleaned(t)
	for _, test := range []struct {
		name   string
		keys   []string
		labels []string
		shown  []string
	}{
		{
			"a class that is none", []string{"l", "Databases\r", "DB\r", "Neural Nets\r", "q"}, []string{"s3 Neural Nets relabel"},
			[]string{"no class is named 'Databases'", "no class is named 'DB'"},
		},
		{"given up", []string{"l", "Databases\r", "\r", "q"}, nil, []string{"leave it empty to go back"}},
		{"by its number", []string{"l", "2\r", "q"}, []string{"s3 Neural Nets relabel"}, []string{"   1  Theory\n   2  Neural Nets\n   3  Systems, its label\n"}},
		{"by no number", []string{"l", "4\r", "0\r", "-1\r", "\r", "q"}, nil, []string{"no class is named '4'"}},
		{
			"a reason that is too long", []string{"w", strings.Repeat("d", decide.MaxWhy+1) + "\r", "dd\r", "y", "q"}, []string{"s3 Theory accept"},
			[]string{"want at most 4096"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			undoAll(t, store)
			k, _, _, _ := pressed(test.keys...)
			var out, people bytes.Buffer
			r := &review{
				s: &streams{out: &out, err: &people}, engine: query.Engine{Store: store}, who: "tester", replies: k,
				decided: make(map[decide.Kind]int),
			}
			if err := errors.Join(r.find(t.Context(), query.Condition{}, 0), r.run(t.Context())); err != nil {
				t.Fatal(err)
			}
			if got := papers.LabelsNow(t, store); !slices.Equal(got, test.labels) {
				t.Errorf("labels and decisions are %q, want %q", got, test.labels)
			}
			for _, shown := range test.shown {
				if !strings.Contains(people.String(), shown) {
					t.Errorf("the reviewer is told %q, want %q", &people, shown)
				}
			}
		})
	}
}

// A name, or the beginning of one, goes before a place in the list of classes.
func TestNumbersThatPickClasses(t *testing.T) {
	e := &subject{Explanation: &cleaner.Explanation{Label: "7"}, classes: []string{"2", "7", "11", "12", "x"}}
	// In the order 2, 11, 12, x, 7.
	for _, test := range []struct {
		text   string
		listed bool
		want   string // "" for none
	}{
		{"2", true, "2"}, {"7", true, "7"}, {"3", true, "12"}, {"4", true, "x"}, {"5", true, "7"},
		{"1", true, ""}, {"6", true, ""}, {"0", true, ""}, {"3", false, ""}, {"11", false, "11"},
	} {
		got, err := e.class(test.text, test.listed)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s, listed %v: got %q and error %v, want %q", test.text, test.listed, got, err, test.want)
		}
	}
}

func TestEscapeSequences(t *testing.T) {
	for typed, want := range map[string]int{
		"": 0, "y": 0, "\x1b": 1, "\x1b[A": 3, "\x1b[Ay": 3, "\x1b[1;5Cy": 6, "\x1bOPy": 3, "\x1bO": 2, "\x1b[": 2, "\x1bé": 3, "\x1b[12": 4,
	} {
		if got := escapeSequence([]byte(typed)); got != want {
			t.Errorf("escapeSequence(%q) = %d, want %d", typed, got, want)
		}
	}
}

func TestKeysThatLeave(t *testing.T) {
	for chunk, want := range map[string]error{"\x03": errInterrupted, "\x04": io.EOF} {
		k, _, raw, restored := pressed(chunk)
		if _, err := k.next(""); !errors.Is(err, want) || *raw != 1 || *restored != 1 {
			t.Errorf("%q: got error %v, raw %d, restored %d, want %v, 1 and 1", chunk, err, *raw, *restored, want)
		}
		k, _, raw, restored = pressed("abc" + chunk)
		text, err := k.word("", nil)
		if want := map[bool]error{true: errInterrupted}[chunk == "\x03"]; !errors.Is(err, want) || text != "" || *raw != 1 || *restored != 1 {
			t.Errorf("abc%q: got %q, error %v, raw %d, restored %d, want error %v", chunk, text, err, *raw, *restored, want)
		}
	}
}

// A wait ends with its context, and what is typed later is left to who reads next.
func TestKeysInterrupted(t *testing.T) {
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), typed.Close()); err != nil {
			t.Error(err)
		}
	})
	k, _, raw, restored := pressed()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	k.chunk = func(while time.Duration) ([]byte, error) { return chunkOf(ctx, in, while) }
	if _, err := k.next(""); !errors.Is(err, context.DeadlineExceeded) || *raw != 1 || *restored != 1 {
		t.Errorf("got error %v, raw %d, restored %d, want %v, 1 and 1", err, *raw, *restored, context.DeadlineExceeded)
	}
	if _, err := typed.WriteString("y"); err != nil {
		t.Fatal(err)
	}
	k.chunk = func(while time.Duration) ([]byte, error) { return chunkOf(t.Context(), in, while) }
	if got, err := k.next(""); err != nil || got.key != 'y' {
		t.Errorf("got %c and error %v, want y", got.key, err)
	}
}

func TestWords(t *testing.T) {
	choices := []string{"Theory", "Neural Nets", "Networks", "東京"}
	for _, test := range []struct{ typed, want string }{
		{"Theory\r", "Theory"},
		{"\t\r", "Theory"},
		{"\t\t\r", "Neural Nets"},
		{"ne\t\t\r", "Networks"},
		{"ne\t\t\t\r", "Neural Nets"},
		{"ne\t\x7f\x7f\t\r", "Neural Nets"},
		{"th\r", "Theory"}, // the beginning of one alone
		{"Ne\r", "Ne"},     // of two
		{"zz\t\r", "zz"},   // of none
		{"abc\x15T\r", "Theory"},
		{"ab\x1b", ""},
		{"東\t\r", "東京"},
		{"a\x00\x01b \r", "ab"},
		{"\x7f\r", ""},
	} {
		k, _, raw, restored := pressed(test.typed)
		got, err := k.word("label: ", choices)
		if err != nil || got != test.want || *raw != 1 || *restored != 1 {
			t.Errorf("%q: got %q and error %v, raw %d, restored %d, want %q", test.typed, got, err, *raw, *restored, test.want)
		}
	}
	// A character that comes in pieces.
	k, out, _, _ := pressed("\xe6\x9d", "\xb1\r")
	if got, err := k.word("label: ", choices); err != nil || got != "東京" || !strings.Contains(out.String(), "label: 東") {
		t.Errorf("got %q and error %v, shown as %q", got, err, out)
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
