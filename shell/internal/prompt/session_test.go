package prompt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// opened is a store for a session.
func opened(store *kv.Store) *Open { return &Open{Store: store} }

// answer runs a text on a store and returns what went to each stream.
func answer(t *testing.T, opt Options, text string) (out, people string, err error) {
	t.Helper()
	var outBuffer, errBuffer bytes.Buffer
	opt.In, opt.Out, opt.Err = strings.NewReader(text), &outBuffer, &errBuffer
	err = Run(t.Context(), opt)
	return outBuffer.String(), errBuffer.String(), err
}

func TestOutputAndReadFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	answers := filepath.Join(dir, "answers.csv")
	inner := write("inner.q", "count nodes;\n-- nothing\n\ncount nodes where degree > 100")
	store := papers.Loaded(t)
	out, people, err := answer(t, Options{Store: opened(store), Format: print.FormatCSV},
		".output "+answers+"\n.read "+inner+"\n.output\ncount nodes where label is null")
	told := "1 row to " + answers + "\n1 row to " + answers + "\n"
	if err != nil || out != "count\n1\n" || people != told {
		t.Errorf("got %q, %q, error %v; want only the last count on the output", out, people, err)
	}
	if got, err := os.ReadFile(answers); err != nil || string(got) != "count\n10\ncount\n0\n" {
		t.Errorf("%s: got %q, %v", answers, got, err)
	}

	bad := write("bad.q", "count nodes;\ncount\n  edges;")
	_, _, err = answer(t, Options{Store: opened(store)}, ".read "+bad)
	if want := bad + ":3:3: got edges, want history, suspects, nodes or labels"; err == nil || err.Error() != want {
		t.Errorf("a file with an error: got %v, want %s", err, want)
	}
	loop := write("loop.q", "")
	write("loop.q", ".read "+loop)
	_, _, err = answer(t, Options{Store: opened(store)}, ".read "+loop)
	if want := loop + ":1:1: .read: " + loop + ": more than 8 files that read each other"; err == nil ||
		err.Error() != want {
		t.Errorf("a file that reads itself: got %v, want %s", err, want)
	}
	_, _, err = answer(t, Options{Store: opened(store), Name: "q.txt"}, "stats;\n\n suspects")
	if want := "q.txt:3:2: the store has no scores yet: run clean first"; err == nil || err.Error() != want ||
		!errors.Is(err, cleaner.ErrNotCleaned) {
		t.Errorf("a failing statement of a named input: got %v, want %s", err, want)
	}
}

func TestTiming(t *testing.T) {
	_, people, err := answer(t, Options{Store: opened(papers.Cleaned(t))},
		".timing on\nsuspects;\n.timing off\nnodes limit 1;")
	if err != nil || !strings.HasPrefix(people, "(2 rows, ") || strings.Count(people, "\n") != 1 {
		t.Errorf("got %q, %v; want one line with 2 rows and the time", people, err)
	}
}

func TestACancelledSessionStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, people bytes.Buffer
	err := Run(ctx, Options{
		Store: opened(papers.Loaded(t)), In: strings.NewReader("nodes where degree > 0; stats"), Out: &out, Err: &people,
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestEveryStatementHasItsManual(t *testing.T) {
	for _, m := range query.Manual() {
		out, _, err := answer(t, Options{Store: opened(papers.Empty(t))}, ".help "+m.Name)
		if err != nil || !strings.Contains(out, m.Examples[0]) {
			t.Errorf(".help %s: got %q, %v", m.Name, out, err)
		}
	}
}

// TestALongStatementIsNamed holds that the error of one names the file, the line it began in, and the limit.
func TestALongStatementIsNamed(t *testing.T) {
	const mebibyte = 1 << 20
	long := "count nodes;\n-- next\n nodes where id in (" + strings.Repeat("1,", mebibyte)
	_, _, err := answer(t, Options{Store: opened(papers.Empty(t)), Name: "job.q"}, long)
	if want := "job.q:3:2: got a statement of more than 1 MiB, want a semicolon before that"; err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("got error %v, want %s", err, want)
	}
	ids := strings.Repeat("1,", (mebibyte-100)/2)
	if _, _, err := answer(t, Options{Store: opened(papers.Empty(t))}, "count nodes where id in ("+ids+"1);"); err != nil {
		t.Errorf("a statement of nearly as much: %v", err)
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
