//go:build unix

package prompt

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// pageOn writes pieces to a pager on a file in place of a terminal, and returns what came there.
func pageOn(t *testing.T, command []string, pieces ...string) (string, error) {
	t.Helper()
	file := must.Get(os.Create(filepath.Join(t.TempDir(), "terminal")))(t)
	p := &pager{ctx: t.Context(), terminal: file, command: command}
	var wrote error
	for _, piece := range pieces {
		if _, wrote = io.WriteString(p, piece); wrote != nil {
			break
		}
	}
	must.Do(t, errors.Join(p.Close(), file.Close()))
	shown := must.Get(os.ReadFile(file.Name()))(t)
	return string(shown), wrote
}

func TestPager(t *testing.T) {
	mark := []string{"sed", "s/^/> /"}
	for _, c := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"nothing", nil, ""},
		{"in pieces", []string{"a\nb\n", "c\n"}, "> a\n> b\n> c\n"},
	} {
		if got, err := pageOn(t, mark, c.pieces...); got != c.want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestPagerThatIsLeft(t *testing.T) {
	endless := slices.Repeat([]string{strings.Repeat("line\n", 1000)}, 1000)
	got, err := pageOn(t, []string{"head", "-n", "2"}, endless...)
	if got != "line\nline\n" || !errors.Is(err, errPagerLeft) {
		t.Errorf("got %q, %v, want two lines and %v", got, err, errPagerLeft)
	}
}

func TestPagerCommand(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "cat": nil, "  ": nil, "no-such-program -x": nil, "sed -n p": {"sed", "-n", "p"},
	} {
		t.Setenv("PAGER", text)
		if got := pagerCommand(); !slices.Equal(got, want) {
			t.Errorf("PAGER=%q: got %q, want %q", text, got, want)
		}
	}
}
