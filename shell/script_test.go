package shell

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/graphcleaner/graphcleaner/shell/internal/papers"
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
		source := NewScript(in)
		for {
			next, err := source.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
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
	const long = 16 << 20
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
			if most := 4 * maxStatement; cap(source.pending) > most {
				t.Fatalf("%s: %d bytes are held, want at most %d", c.name, cap(source.pending), most)
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

// TestALongStatementIsNamed holds that the error of one names the file, the line it began in, and the limit.
func TestALongStatementIsNamed(t *testing.T) {
	long := "count nodes;\n-- next\n nodes where id in (" + strings.Repeat("1,", maxStatement)
	_, _, err := answer(t, SessionOptions{Store: papers.Empty(t), Name: "job.q", KeepGoing: true}, long)
	if want := "job.q:3:2: got a statement of more than 1 MiB, want a semicolon before that: write equalities of one property, joined by or, as one in (…)"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got error %v, want %s", err, want)
	}
	ids := strings.Repeat("1,", (maxStatement-100)/2)
	if _, _, err := answer(t, SessionOptions{Store: papers.Empty(t)}, "count nodes where id in ("+ids+"1);"); err != nil {
		t.Errorf("a statement of nearly as much: %v", err)
	}
}

// TestReadRefusesWhatIsNoScript holds that directories and devices are no files of statements.
func TestReadRefusesWhatIsNoScript(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	for path, want := range map[string]string{".": ". is a directory, want a file of statements", "/dev/zero": "/dev/zero is a device, want a file"} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		for _, args := range [][]string{{"shell", "g", "-f", path}, {"shell", "g", "-c", ".read " + path}} {
			if got := run(t, "", args...); got.code != exitFailed || !strings.Contains(got.err, want) {
				t.Errorf("%s: got exit code %d and %s, want %d and %s", args, got.code, got.err, exitFailed, want)
			}
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
	pos, ok := Position(err)
	if !ok {
		t.Fatalf("got %v, want an error with a position", err)
	}
	got := caret(Step{Text: text, Pos: Pos{Offset: 50, Line: 4, Column: 2}}, pos)
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
