package query

import (
	"runtime"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/papers"
)

// Fetching keeps to the workers that the caller allows.
func TestFetchWorkers(t *testing.T) {
	s := papers.Cleaned(t)
	err := s.View(func(tx *kv.Tx) error {
		for _, c := range []struct{ workers, nodes, want int }{
			{1, lastBatch, 1}, {3, lastBatch, 3}, {3, sideBySide, 3}, {3, sideBySide - 1, 1}, {0, lastBatch, runtime.GOMAXPROCS(0)},
		} {
			f, err := NewFetcher(tx, []string{"label", "degree"}, c.workers)
			if err != nil {
				return err
			}
			if got := f.goroutines(c.nodes); got != c.want {
				t.Errorf("%d workers, %d nodes: got %d goroutines, want %d", c.workers, c.nodes, got, c.want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
