package atomic

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A replacement that runs is not taken for one that was killed.
func TestReplaceOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	r, err := BeginReplacement("g")
	if err != nil {
		t.Fatal(err)
	}
	if err := RecoverReplaced("g"); err != nil {
		t.Errorf("recovery beside a running replacement: %v", err)
	}
	if _, err := os.Stat(r.dir); err != nil {
		t.Errorf("the directory of a running replacement: %v", err)
	}
	if _, err := BeginReplacement("g"); err == nil {
		t.Error("a second replacement at once: got no error")
	}
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if names := listDir(t); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

// Where directories cannot be exchanged, two renames do the same.
func TestReplaceByTwoRenames(t *testing.T) {
	t.Chdir(t.TempDir())
	r, err := BeginReplacement("g")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"g", r.Made()} {
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "is"), []byte(dir), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	made := r.Made()
	if err := errors.Join(r.renameBoth(), r.End()); err != nil {
		t.Fatal(err)
	}
	if is, err := os.ReadFile("g/is"); err != nil || string(is) != made {
		t.Errorf("at g: got %q, %v, want %q", is, err, made)
	}
}
