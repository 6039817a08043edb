package atomic

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func TestWriteFile(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(text string, fail error) func(*bufio.Writer) error {
		return func(out *bufio.Writer) error {
			if _, err := out.WriteString(text); err != nil {
				return err
			}
			return fail
		}
	}
	var stdout bytes.Buffer
	must.Do(t, WriteFile(t.Context(), "a", 0o666, write("first", nil)))
	failure := errors.New("disk on fire")
	if err := WriteFile(t.Context(), "a", 0o666, write("second", failure)); !errors.Is(err, failure) {
		t.Errorf("a failure: got %v", err)
	}
	content, err := os.ReadFile("a")
	if err != nil || string(content) != "first" {
		t.Errorf("after a failure: got %q, %v, want what was there before", content, err)
	}
	must.Do(t, WriteFile(t.Context(), "a", 0o666, write("third", nil)))
	if content, err = os.ReadFile("a"); err != nil || string(content) != "third" {
		t.Errorf("written again: got %q, %v", content, err)
	}
	if err := WriteThrough(&stdout, write("out", nil)); err != nil || stdout.String() != "out" {
		t.Errorf("a stream: got %q, %v", stdout.String(), err)
	}
	if err := WriteFile(t.Context(), os.DevNull, 0o666, write("gone", nil)); err != nil {
		t.Errorf("%s: %v", os.DevNull, err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s has become a file", os.DevNull)
	}
	for _, mode := range []os.FileMode{0o600, 0o640} {
		must.Do(t, os.Chmod("a", mode))
		must.Do(t, WriteFile(t.Context(), "a", 0o666, write("kept", nil)))
		if info, err := os.Stat("a"); err != nil || info.Mode().Perm() != mode {
			t.Errorf("permissions of a file that was there: got %v, %v, want %v", info.Mode(), err, mode)
		}
	}
	for left, age := range map[string]time.Duration{".a.KILLED": 0, ".b.KILLED": 2 * time.Hour} {
		must.Do(t, os.WriteFile(left+partialSuffix, []byte("half"), 0o600))
		must.Do(t, os.Chtimes(left+partialSuffix, time.Time{}, time.Now().Add(-age)))
	}
	busy := must.Get(os.Create(".a.BUSY" + partialSuffix))(t)
	must.Do(t, lock(busy))
	must.Do(t, WriteFile(t.Context(), "a", 0o666, write("again", nil)))
	if names, want := listDir(t), []string{filepath.Base(busy.Name()), "a"}; !slices.Equal(names, want) {
		t.Errorf("beside a killed and a busy process: got %v, want %v", names, want)
	}
	must.Do(t, errors.Join(busy.Close(), os.Remove(busy.Name())))
	if names := listDir(t); !slices.Equal(names, []string{"a"}) {
		t.Errorf("left behind: %v, want a alone", names)
	}
}

func listDir(t testing.TB) []string {
	t.Helper()
	entries := must.Get(os.ReadDir("."))(t)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
