package shell

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWriteFile(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(text string, fail error) func(*outFile) error {
		return func(out *outFile) error {
			if _, err := out.WriteString(text); err != nil {
				return err
			}
			return fail
		}
	}
	var stdout bytes.Buffer
	if err := writeFile(t.Context(), "a", &stdout, write("first", nil)); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("disk on fire")
	if err := writeFile(t.Context(), "a", &stdout, write("second", failure)); !errors.Is(err, failure) {
		t.Errorf("a failure: got %v", err)
	}
	content, err := os.ReadFile("a")
	if err != nil || string(content) != "first" {
		t.Errorf("after a failure: got %q, %v, want what was there before", content, err)
	}
	if err := writeFile(t.Context(), "a", &stdout, write("third", nil)); err != nil {
		t.Fatal(err)
	}
	if content, err = os.ReadFile("a"); err != nil || string(content) != "third" {
		t.Errorf("written again: got %q, %v", content, err)
	}
	if err := writeFile(t.Context(), "-", &stdout, write("out", nil)); err != nil || stdout.String() != "out" {
		t.Errorf("standard output: got %q, %v", stdout.String(), err)
	}
	if err := writeFile(t.Context(), os.DevNull, &stdout, write("gone", nil)); err != nil {
		t.Errorf("%s: %v", os.DevNull, err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s has become a file", os.DevNull)
	}
	for _, mode := range []os.FileMode{0o600, 0o640} {
		if err := os.Chmod("a", mode); err != nil {
			t.Fatal(err)
		}
		if err := writeFile(t.Context(), "a", &stdout, write("kept", nil)); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat("a"); err != nil || info.Mode().Perm() != mode {
			t.Errorf("permissions of a file that was there: got %v, %v, want %v", info.Mode(), err, mode)
		}
	}
	left := ".a.KILLED" + partialSuffix
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	busy, err := os.Create(".a.BUSY" + partialSuffix)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock(busy); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(t.Context(), "a", &stdout, write("again", nil)); err != nil {
		t.Fatal(err)
	}
	if names, want := listDir(t), []string{filepath.Base(busy.Name()), "a"}; !slices.Equal(names, want) {
		t.Errorf("beside a killed and a busy process: got %v, want %v", names, want)
	}
	if err := errors.Join(busy.Close(), os.Remove(busy.Name())); err != nil {
		t.Fatal(err)
	}
	if names := listDir(t); !slices.Equal(names, []string{"a"}) {
		t.Errorf("left behind: %v, want a alone", names)
	}
}
