package keyboard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

const choices = "ynludsz"

// rest is a chunk that stands for a while in which nothing is typed.
const rest = "rest"

// pressed is a keyboard on which chunks of keys are typed, one a read, once a question is there, and which counts how
// often its terminal was made raw and restored.
func pressed(chunks ...string) (k *Keyboard, out *bytes.Buffer, raw, restored *int) {
	out, raw, restored = new(bytes.Buffer), new(int), new(int)
	asked := false
	read := func(while time.Duration) ([]byte, error) {
		if asked = asked || while == 0; !asked {
			return nil, nil
		}
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
	return &Keyboard{out: out, chunk: read, makeRaw: func() (func() error, error) {
		asked = false
		*raw++
		return func() error { *restored++; return nil }, nil
	}}, out, raw, restored
}

func TestKeys(t *testing.T) {
	k, out, raw, restored := pressed("x", "\x1b[A", "Y", "n", "\x1bOP", "z", "u")
	for _, want := range []rune{'y', 'n', 'z', 'u'} {
		got, err := k.Choose("? ", choices)
		if err != nil || got != want {
			t.Fatalf("got %c and error %v, want %c", got, err, want)
		}
	}
	if *raw != 4 || *restored != 4 {
		t.Errorf("the terminal was made raw %d times and restored %d times, want 4 and 4", *raw, *restored)
	}
	if want := "? \a\ay\r\n? n\r\n? \az\r\n? u\r\n"; out.String() != want {
		t.Errorf("the terminal shows %q, want %q", out, want)
	}
	// The error of a terminal that is gone.
	if _, err := k.Choose("", choices); !errors.Is(err, io.ErrUnexpectedEOF) || *raw != *restored {
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
		{"a word", []string{"Databases", rest, "s"}, 's', "several keys at once are no reply: nothing is done\r\n? s"},
		{"in parts", []string{"Da", "tabases", "y", rest, "s"}, 's', "nothing is done\r\n? s"},
		{"twice", []string{"dd", rest, "nn", rest, "s"}, 's', "nothing is done\r\n? s"},
		{"an arrow in parts", []string{"\x1b", "[", "D", rest, "s"}, 's', "? \as"},
		{"a line", []string{"d\r", rest, "s"}, 's', "nothing is done\r\n? s"},
		{"what begins as a label", []string{"lTheory\r", rest, "s"}, 's', "nothing is done\r\n? s"},
	} {
		k, out, raw, restored := pressed(test.chunks...)
		got, err := k.Choose("? ", choices)
		if err != nil || got != test.want || !strings.Contains(out.String(), test.shown) || *raw != 1 || *restored != 1 {
			t.Errorf("%s: got %c and error %v, shown %q, raw %d, restored %d", test.name, got, err, out, *raw, *restored)
		}
	}
	k, _, _, _ := pressed("dd", "\x03", rest, "s")
	if _, err := k.Choose("", choices); !errors.Is(err, ErrInterrupted) {
		t.Errorf("Ctrl-C in a text: got error %v, want %v", err, ErrInterrupted)
	}
}

// What was typed before a question is no answer to it.
func TestTypedBeforeTheQuestion(t *testing.T) {
	k, _, _, _ := pressed("Theory\ryy", "s")
	if got, err := k.Word(""); err != nil || got != "Theory" {
		t.Fatalf("got %q and error %v, want Theory", got, err)
	}
	if got, err := k.Choose("", choices); err != nil || got != 's' {
		t.Errorf("got %c and error %v, want s", got, err)
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
	for chunk, want := range map[string]error{"\x03": ErrInterrupted, "\x04": io.EOF} {
		k, _, raw, restored := pressed(chunk)
		if _, err := k.Choose("", choices); !errors.Is(err, want) || *raw != 1 || *restored != 1 {
			t.Errorf("%q: got error %v, raw %d, restored %d, want %v, 1 and 1", chunk, err, *raw, *restored, want)
		}
		k, _, raw, restored = pressed("abc" + chunk)
		text, err := k.Word("")
		if want := map[bool]error{true: ErrInterrupted}[chunk == "\x03"]; !errors.Is(err, want) || text != "" || *raw != 1 || *restored != 1 {
			t.Errorf("abc%q: got %q, error %v, raw %d, restored %d, want error %v", chunk, text, err, *raw, *restored, want)
		}
	}
}

// A wait ends with its context, and what is typed later is left to who reads next.
func TestKeysInterrupted(t *testing.T) {
	in, typed, err := os.Pipe()
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, errors.Join(in.Close(), typed.Close())) })
	k, _, raw, restored := pressed()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	k.chunk = func(while time.Duration) ([]byte, error) { return chunkOf(ctx, in, while) }
	if _, err := k.Choose("", choices); !errors.Is(err, context.DeadlineExceeded) || *raw != 1 || *restored != 1 {
		t.Errorf("got error %v, raw %d, restored %d, want %v, 1 and 1", err, *raw, *restored, context.DeadlineExceeded)
	}
	time.AfterFunc(4*pasteQuiet, func() { typed.WriteString("y") }) //nolint:errcheck // the next line waits for it
	k.chunk = func(while time.Duration) ([]byte, error) { return chunkOf(t.Context(), in, while) }
	if got, err := k.Choose("", choices); err != nil || got != 'y' {
		t.Errorf("got %c and error %v, want y", got, err)
	}
}

func TestWords(t *testing.T) {
	for _, test := range []struct{ typed, want string }{
		{"Theory\r", "Theory"},
		{"th\t\r", "th"}, {"Theories\x7f\x7f\x7fy\r", "Theory"},
		{"abc\x15T\r", "T"},
		{"ab\x1b", ""},
		{"a\x00\x01b \r", "ab"},
		{"\x7f\r", ""},
	} {
		k, _, raw, restored := pressed(test.typed)
		got, err := k.Word("label: ")
		if err != nil || got != test.want || *raw != 1 || *restored != 1 {
			t.Errorf("%q: got %q and error %v, raw %d, restored %d, want %q", test.typed, got, err, *raw, *restored, test.want)
		}
	}
	// A character that comes in pieces.
	k, out, _, _ := pressed("\xe6\x9d", "\xb1\r")
	if got, err := k.Word("label: "); err != nil || got != "東" || !strings.Contains(out.String(), "label: 東") {
		t.Errorf("got %q and error %v, shown as %q", got, err, out)
	}
}
