package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// A part that changes, comes or goes makes other files of a directory, and standard input is never the same again.
func TestFingerprintOfParts(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	seen := map[string]string{}
	look := func(what, path string) {
		got, err := Fingerprint(t.Context(), Names{path})
		must.Do(t, err)
		if earlier, again := seen[got]; again {
			t.Errorf("%s: got the fingerprint of %s", what, earlier)
		}
		seen[got] = what
	}
	write("1.csv", "id\n")
	look("one part", dir)
	write("2.csv", "id\na\n")
	look("two parts", dir)
	write("1.csv", "id\nb\n")
	look("a part that has changed", dir)
	must.Do(t, os.Rename(filepath.Join(dir, "2.csv"), filepath.Join(dir, "3.csv")))
	look("a part of another name", dir)
	one, err := Fingerprint(t.Context(), Names{"a"}, Names{"b", "c"})
	must.Do(t, err)
	if other, err := Fingerprint(t.Context(), Names{"a", "b"}, Names{"c"}); err != nil || other == one {
		t.Errorf("got the fingerprint %q for other tables of the same files, and the error %v", other, err)
	}
	look("standard input", "-")
	look("standard input again", "-")
}
