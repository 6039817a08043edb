package ordeal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/faults"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
)

// TestKilledBehindTheLastStep kills imports and restores at their last operations on files, of which some come after
// the store is in its place: the store is then whole, the same command says that it is there, and beside it is an empty
// directory at most. After the others the same command succeeds and says what it would have said.
func TestKilledBehindTheLastStep(t *testing.T) {
	if err := faults.CheckSupport(); err != nil {
		t.Skip(err)
	}
	const last = 24                // operations: there are fewer after the rename
	before := longtest.Of(2, last) // of them before it
	step := int64(longtest.Of(3, 1))
	templateDir(t, "files")
	t.Parallel()
	for _, name := range []string{"import", "restore"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := trialOf(t, name)
			whole := tr.run(t, tr.directory(t), faults.Plan{Kind: faults.Kill})
			line, _, _ := strings.Cut(whole.text, " (")
			line = line[:strings.LastIndex(line, ", ")] // the seconds, or the edges
			placed, unplaced := 0, 0
			for at := whole.Operations; at > max(0, whole.Operations-last) && unplaced < before; at -= step {
				dir := tr.directory(t)
				got := tr.run(t, dir, faults.Plan{Kind: faults.Kill, At: at})
				if got.Operation == "" {
					continue
				}
				_, err := os.Stat(filepath.Join(dir, tr.db, "MANIFEST"))
				made := err == nil
				if made {
					placed++
				} else {
					unplaced++
				}
				again := tr.run(t, dir, faults.Plan{})
				want := line
				if made {
					want = "is there already"
				}
				if (again.err != nil) != made || !strings.Contains(again.text, want) {
					t.Errorf("killed at %s, operation %d of %d, and done again: %v: %s, want %s", got.Operation, at, whole.Operations,
						again.err, again.text, want)
				}
				for _, mark := range []string{".loading", ".restoring"} {
					left, err := os.ReadDir(filepath.Join(dir, tr.db+mark))
					if gone := os.IsNotExist(err); !gone && (err != nil || !made || len(left) > 0) {
						t.Errorf("killed at %s: got %v in %s (%v), want nothing", got.Operation, left, tr.db+mark, err)
					}
				}
				if state := contents(t, filepath.Join(dir, tr.db)); state != tr.states[len(tr.states)-1] {
					t.Errorf("killed at %s: another content", got.Operation)
				}
			}
			if placed == 0 {
				t.Errorf("no kill came after the store was in its place")
			}
			t.Logf("%d of the last %d operations come after the store is in its place", placed, last)
		})
	}
}
