package query

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func TestScript(t *testing.T) {
	text := "\ufeffstats; -- one; two\n" +
		"  nodes where a = 'x;''y'\n  -- no; \n and \"b;\" = 1\n;\n" +
		".mode csv;\n" +
		"-- .quit\n.read a b.q\n" +
		"node a--b;;\r\n" +
		"suspects;undo --who ann; stats"
	want := []string{
		"1:1 stats;",
		"2:3 nodes where a = 'x;''y'\n  -- no; \n and \"b;\" = 1\n;",
		"6:1 .mode csv;\n",
		"8:1 .read a b.q\n",
		"9:1 node a--b;",
		"9:11 ;",
		"10:1 suspects;",
		"10:10 undo --who ann;",
		"10:26 stats",
	}
	for _, in := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
		var got []string
		source := NewScript(in)
		for {
			next, err := source.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			must.Do(t, err)
			if next.Dot != strings.HasPrefix(next.Text, ".") {
				t.Errorf("%q: got dot %t", next.Text, next.Dot)
			}
			got = append(got, next.Pos.String()+" "+next.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("steps of %q:\ngot  %q\nwant %q", text, got, want)
		}
	}
}

// repeated is a text many times, read in pieces, and counts what was read of it.
type repeated struct {
	text  string
	times int
	read  int
}

func (r *repeated) Read(p []byte) (int, error) {
	left := len(r.text)*r.times - r.read
	if left == 0 {
		return 0, io.EOF
	}
	p = p[:min(len(p), left)]
	for i := range p {
		p[i] = r.text[(r.read+i)%len(r.text)]
	}
	r.read += len(p)
	return len(p), nil
}

// TestScriptsAreHeldInPieces reads texts of many times the length of the longest statement.
func TestScriptsAreHeldInPieces(t *testing.T) {
	const long = 6 << 20
	for _, c := range []struct {
		name, text string
		steps      int
		err        string // in that of a statement that does not end; "" where all do
	}{
		{"no end", "xy ", 0, "1:1: got a statement of more than 1 MiB"},
		{"lines of a statement", "a, ab\n", 0, "1:1: got a statement of more than 1 MiB"},
		{"no text", "\x00", 0, "1:1: got a statement of more than 1 MiB"},
		{"an open quote", "'é;", 0, ""},
		{"a dot command", ".x", 0, "1:1: got a statement of more than 1 MiB"},
		{"an open comment", "--- ", 0, "1:1: got a statement of more than 1 MiB"},
		{"blank lines", " \r\n", 0, ""},
		{"comments", "-- é; 'x\n", 0, ""},
		{"statements in one line", "a 'é;' b-- ;", 0, ""},
		{"statements", "count nodes;\n", long / 13, ""},
	} {
		in := &repeated{text: c.text, times: long / len(c.text)}
		source, steps := NewScript(in), 0
		var err error
		for err == nil {
			if _, err = source.Next(); err == nil {
				steps++
			}
			if most := 2 * maxStatement; len(source.scan.text) > most {
				t.Fatalf("%s: %d bytes are held, want at most %d", c.name, len(source.scan.text), most)
			}
		}
		switch {
		case c.err != "" && !strings.HasPrefix(err.Error(), c.err):
			t.Errorf("%s: got error %v, want %s", c.name, err, c.err)
		case c.err != "" && in.read > 4*maxStatement:
			t.Errorf("%s: %d bytes were read", c.name, in.read)
		case c.err == "" && !errors.Is(err, io.EOF):
			t.Errorf("%s: got error %v, want the end", c.name, err)
		case c.steps > 0 && steps != c.steps:
			t.Errorf("%s: got %d steps, want %d", c.name, steps, c.steps)
		}
	}
}

// FuzzScript holds that steps are pieces of the text, in order, at the positions they claim.
func FuzzScript(f *testing.F) {
	for _, seed := range []string{"a; b", ".mode csv\n;;'x;", "-- c\n.q\nnode a--b;\"", "x -- '\n;", "\xff;\r\n.x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		source, from := NewScript(strings.NewReader(text)), 0
		for {
			next, err := source.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatalf("script %q: %v", text, err)
			}
			body := strings.TrimPrefix(text, "\ufeff")
			at := next.Pos.Offset
			if at < from || next.Text == "" || !strings.HasPrefix(body[at:], next.Text) {
				t.Fatalf("script %q: got the step %q at offset %d, after %d", text, next.Text, at, from)
			}
			from = at + len(next.Text)
		}
	})
}
