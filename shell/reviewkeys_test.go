package shell

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// pressed is a keyboard on which chunks of keys are typed, one a read, and which counts how often its terminal was made
// raw and restored.
func pressed(chunks ...string) (k *keyboard, out *bytes.Buffer, raw, restored *int) {
	out, raw, restored = new(bytes.Buffer), new(int), new(int)
	read := func() ([]byte, error) {
		if len(chunks) == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		chunk := chunks[0]
		chunks = chunks[1:]
		return []byte(chunk), nil
	}
	return &keyboard{out: out, chunks: read, makeRaw: func() (func() error, error) {
		*raw++
		return func() error { *restored++; return nil }, nil
	}}, out, raw, restored
}

func TestKeys(t *testing.T) {
	k, out, raw, restored := pressed("x\x1b[A", "\x1b[A", "Yn", "\x1bOPz", "u")
	for _, want := range []rune{'y', 'n', 'z', 'u'} {
		got, err := k.next("? ")
		if err != nil || got.key != want {
			t.Fatalf("got %c and error %v, want %c", got.key, err, want)
		}
	}
	if *raw != 4 || *restored != 4 {
		t.Errorf("the terminal was made raw %d times and restored %d times, want 4 and 4", *raw, *restored)
	}
	if want := "? \a\a\aaccept\r\n? reject\r\n? \aundo\r\n? unlabel\r\n"; out.String() != want {
		t.Errorf("the terminal shows %q, want %q", out, want)
	}
	// The error of a terminal that is gone.
	if _, err := k.next(""); !errors.Is(err, io.ErrUnexpectedEOF) || *raw != *restored {
		t.Errorf("a failing read: got error %v, raw %d, restored %d", err, *raw, *restored)
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
	defer func() { _ = errors.Join(in.Close(), typed.Close()) }()
	k, _, raw, restored := pressed()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	k.chunks = chunksOf(stream.NewReader(ctx, in))
	if _, err := k.next(""); !errors.Is(err, context.DeadlineExceeded) || *raw != 1 || *restored != 1 {
		t.Errorf("got error %v, raw %d, restored %d, want %v, 1 and 1", err, *raw, *restored, context.DeadlineExceeded)
	}
	if _, err := typed.WriteString("y"); err != nil {
		t.Fatal(err)
	}
	k.chunks = chunksOf(stream.NewReader(t.Context(), in))
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
