package web

import (
	"context"
	"errors"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
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
	last atomic.Pointer[progress]
	long atomic.Bool // it takes longer than somebody waits for a page

	counting sync.Mutex // one count at a time
	commit   uint64     // that last is of; of counting
}

// pageWait is how long a page waits for its counts.
const pageWait = 100 * time.Millisecond

// latestProgress is the progress as of now where counting is quick, and else the last that is known; nil if there is
// none. A patient caller waits.
func (s *Server) latestProgress(ctx context.Context, patient bool) *progress {
	c := &s.progress
	if patient {
		c.counting.Lock()
	} else if c.long.Load() || !c.counting.TryLock() {
		return c.last.Load()
	}
	defer c.counting.Unlock()
	within := ctx
	if !patient {
		var stop context.CancelFunc
		within, stop = context.WithTimeout(ctx, pageWait)
		defer stop()
	}
	var now *progress
	commit := uint64(0)
	err := s.snapshot(func(tx *kv.Tx) (err error) {
		if commit, err = tx.LastCommit(); err == nil && (commit != c.commit || c.last.Load() == nil) {
			now, err = countProgress(within, tx)
		}
		return err
	})
	switch {
	case ctx.Err() != nil:
	case within.Err() != nil:
		c.long.Store(true)
	case err != nil:
		c.last.Store(&progress{Problem: sentence(err)})
	case now != nil:
		c.last.Store(now)
		c.commit = commit
	}
	return c.last.Load()
}

// showProgress counts, for a page that asks again and again.
func (s *Server) showProgress(r *http.Request) (answer, error) {
	s.latestProgress(r.Context(), true)
	return answer{page: "progress", title: "Progress"}, r.Context().Err()
}

func countProgress(ctx context.Context, tx *kv.Tx) (*progress, error) {
	p := &progress{Expected: math.NaN()}
	run, err := query.LastRun(tx)
	if errors.Is(err, query.ErrNotCleaned) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	p.Run, p.Threshold = run.ID, run.Threshold
	if p.Remaining, err = cleaner.CountRemaining(ctx, tx); err != nil {
		return nil, err
	}
	audit, err := query.LastAudit(ctx, tx)
	if err == nil && audit != nil {
		p.Expected = audit.Left()
	}
	return p, err
}
