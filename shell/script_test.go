package shell

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestScript(t *testing.T) {
	text := "\ufeffstats; -- one; two\n" +
		"  nodes where a = 'x;''y'\n  -- no; \n and \"b;\" = 1\n;\n" +
		".mode csv;\n" +
		"-- .quit\n.read a b.q\n" +
		"node a--b;;\r\n" +
		"suspects"
	want := []string{
		"1:1 stats;",
		"2:3 nodes where a = 'x;''y'\n  -- no; \n and \"b;\" = 1\n;",
		"6:1 .mode csv;\n",
		"8:1 .read a b.q\n",
		"9:1 node a--b;",
		"9:11 ;",
		"10:1 suspects",
	}
	for _, in := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
		var got []string
		source := newScript(in)
		for {
			next, err := source.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if next.dot != strings.HasPrefix(next.text, ".") {
				t.Errorf("%q: got dot %t", next.text, next.dot)
			}
			got = append(got, next.pos.String()+" "+next.text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("steps of %q:\ngot  %q\nwant %q", text, got, want)
		}
	}
}

func TestIsComplete(t *testing.T) {
	for text, want := range map[string]bool{
		"":                               true,
		"suspects":                       true,
		"suspects;":                      true,
		"suspects where":                 false,
		"suspects where score >":         false,
		"suspects where (score > 1":      false,
		"nodes where label = 'a":         false,
		"nodes where label = 'a\nb'":     true,
		"suspects where\n":               true, // a blank line has it run, and fail
		"suspects wher":                  true, // no further line can help
		"stats; nodes where":             false,
		"stats; nodes where id = 1":      true,
		".mode csv":                      true,
		"nodes order by":                 false,
		"nodes where a = 1 -- comment ;": true,
	} {
		if got := isComplete(text); got != want {
			t.Errorf("isComplete(%q): got %t, want %t", text, got, want)
		}
	}
}

func TestWrites(t *testing.T) {
	for text, want := range map[string]bool{
		"stats; CLEAN hops 2": true, "accept 1": true, "undo": true, "drop index on x": true, "history": false,
		"stats; nodes where a = 'clean'": false, ".read x": true, "nodes wher": false,
	} {
		if got := writes(text); got != want {
			t.Errorf("writes(%q): got %t, want %t", text, got, want)
		}
	}
}

func TestCaret(t *testing.T) {
	text := "nodes\n  where 東京 >= = 3\n limit 3"
	_, err := parse(text, Pos{Offset: 50, Line: 4, Column: 2})
	pos, ok := position(err)
	if !ok {
		t.Fatalf("got %v, want an error with a position", err)
	}
	got := caret(step{text: text, pos: Pos{Offset: 50, Line: 4, Column: 2}}, pos)
	want := "    where 東京 >= = 3\n" + "                  ^"
	if got != want {
		t.Errorf("caret:\ngot\n%s\nwant\n%s", got, want)
	}
}

// FuzzScript holds that steps are pieces of the text, in order, at the positions they claim.
func FuzzScript(f *testing.F) {
	for _, seed := range []string{"a; b", ".mode csv\n;;'x;", "-- c\n.q\nnode a--b;\"", "x -- '\n;", "\xff;\r\n.x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		source, from := newScript(strings.NewReader(text)), 0
		for {
			next, err := source.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatalf("script %q: %v", text, err)
			}
			body := strings.TrimPrefix(text, "\ufeff")
			at := next.pos.Offset
			if at < from || next.text == "" || !strings.HasPrefix(body[at:], next.text) {
				t.Fatalf("script %q: got the step %q at offset %d, after %d", text, next.text, at, from)
			}
			from = at + len(next.text)
		}
	})
}
