package files

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
)

// FuzzDecisions holds that no file makes the reader panic, and that what it takes fits the store.
func FuzzDecisions(f *testing.F) {
	f.Add("id,decision,from,to,seq,undoes,time\np4,accept,Systems,Theory,1,1,2026-01-01T00:00:00Z\n")
	f.Add("id,label\np1,\n\np4,Theory\n")
	store := papers.Cleaned(f)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(dir, "d.csv")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		tx := store.Begin()
		defer tx.Close()
		filed, err := readDecisions(t.Context(), path, tx, Adopting{Job: Job{Memory: 1 << 20}})
		if err != nil {
			return
		}
		for _, d := range filed {
			if int(d.Node) >= tx.NumNodes() || d.To != "" && d.Undoes == 0 && !slices.Contains(tx.Classes(), d.To) {
				t.Errorf("%q: got the decision %+v, want one of a node and a class of the store", text, d)
			}
		}
	})
}
