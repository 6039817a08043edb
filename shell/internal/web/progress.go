package web

import (
	"context"
	"errors"
	"math"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A progress says how far the review of a store is.
type progress struct {
	Run       int64 // 0: no run yet
	Threshold float64
	cleaner.Remaining
	Expected float64 // wrong labels that are left by the last look of the audit; NaN before
	Problem  string  // why there are no counts
}

// Reviewed is how many nodes people have looked at: the bar of the page has these, and the suspects that are left.
func (p *progress) Reviewed() int64 { return p.Settled + p.Disputed + p.Unsure }

// Total is the full length of the bar.
func (p *progress) Total() int64 { return p.Reviewed() + p.Suspects }

// IsAudited reports whether Expected is known.
func (p *progress) IsAudited() bool { return !math.IsNaN(p.Expected) }

// A counter keeps the progress until the store changes: counting takes long in a large store.
type counter struct {
	last     atomic.Pointer[progress] // nil: none is known
	counting sync.Mutex               // one count at a time
	commit   uint64                   // that last is of; of counting
}

// showProgress counts, for the script of a page. Pages do not wait for it, and show the last that is known.
func (s *Server) showProgress(r *http.Request) (answer, error) {
	c := &s.progress
	c.counting.Lock()
	defer c.counting.Unlock()
	err := s.snapshot(func(tx *kv.Tx) error {
		commit, err := tx.LastCommit()
		if err != nil || commit == c.commit && c.last.Load() != nil {
			return err
		}
		now, err := countProgress(r.Context(), tx)
		if err == nil {
			c.last.Store(now)
			c.commit = commit
		}
		return err
	})
	if err != nil && r.Context().Err() == nil {
		c.last.Store(&progress{Problem: sentence(err)})
	}
	return answer{page: "progress", title: "Progress"}, r.Context().Err()
}

func countProgress(ctx context.Context, tx *kv.Tx) (*progress, error) {
	p := &progress{Expected: math.NaN()}
	run, err := cleaner.LastRun(tx)
	if errors.Is(err, cleaner.ErrNotCleaned) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	p.Run, p.Threshold = run.ID, run.Threshold
	if p.Remaining, err = cleaner.CountRemaining(ctx, tx); err != nil {
		return nil, err
	}
	audit, err := cleaner.ReadAudit(ctx, tx)
	if err == nil && audit != nil {
		p.Expected = audit.Left()
	}
	return p, err
}
