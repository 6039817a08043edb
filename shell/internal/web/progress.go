package web

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A progress says how far the review of a store is, and what stopping here leaves.
type progress struct {
	Run       int64   `json:"run"` // 0: no run yet
	Threshold float64 `json:"threshold"`
	Left      int64   `json:"left"`     // suspects that nobody has decided on
	Decided   int64   `json:"decided"`  // nodes with a decision in force other than unsure, whichever run it came after
	Disputed  int64   `json:"disputed"` // of them: people disagree
	Unsure    int64   `json:"unsure"`   // nodes that were put aside
	Wrong     int64   `json:"wrong"`    // decided since the run, and not disputed: the label was wrong
	Right     int64   `json:"right"`

	Confirmed *float64 `json:"confirmed"` // Wrong of Wrong + Right; null without both

	HowMany  string   `json:"how_many"` // wrong labels, in words
	Expected *float64 `json:"expected"` // wrong labels that are left by the last look of the audit; null before

	OldScores int  `json:"old_scores"`     // older than what changed around them; -1: many
	Slow      bool `json:"slow,omitempty"` // scores wait for rescore

	Counting bool   `json:"counting,omitempty"` // the numbers are those before the last change
	Problem  string `json:"problem,omitempty"`  // why there are no counts
}

// Reviewed is how many nodes people have looked at: the bar of the page has these, and the suspects that are left.
func (p *progress) Reviewed() int64 { return p.Decided + p.Unsure }

// keepCounting counts whenever the store has changed, until ctx ends.
func (s *Server) keepCounting(ctx context.Context) {
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	var told *progress // a request may have counted before
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.progress.wanted:
			if _, quick := s.progress.fresh(0); !quick && s.progress.last() != nil {
				s.activity.wait(ctx)
			}
		case <-look.C:
			if !s.events.heard() {
				continue
			}
		}
		if now, err := s.progress.count(ctx, s.Store, s.progressOf); err == nil && now != told {
			told = now
			s.events.send("progress", now)
		}
	}
}

// latestProgress is the progress as it is known, nil if the first count takes long: the stream of events brings it.
// Where counting is quick, it counts now.
func (s *Server) latestProgress(ctx context.Context) *progress {
	latest, stale, err := s.progress.at(ctx, s.Store, false, s.progressOf)
	if err != nil || latest == nil {
		return nil
	}
	now := *latest
	now.Counting = stale
	return &now
}

// showProgress answers for programs, which wait for the first count, and for pages that follow a stream.
func (s *Server) showProgress(r *http.Request) (answer, error) {
	select {
	case <-s.progress.first:
	case <-r.Context().Done():
		return answer{}, r.Context().Err()
	}
	return answer{page: "progress", title: "Progress", view: s.latestProgress(r.Context())}, nil
}

// progressOf counts in a snapshot. What fails is told by the progress.
func (s *Server) progressOf(ctx context.Context, tx *kv.Tx) (*progress, error) {
	p, err := s.countProgress(ctx, tx)
	if err != nil && ctx.Err() == nil {
		return &progress{Problem: sentence(err)}, nil
	}
	return p, err
}

func (s *Server) countProgress(ctx context.Context, tx *kv.Tx) (*progress, error) {
	p := &progress{Slow: s.scores.isSlow()}
	run, err := query.LastRun(tx)
	if errors.Is(err, query.ErrNotCleaned) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	p.Run, p.Threshold = run.ID, run.Threshold
	if p.OldScores, err = cleaner.CountStale(ctx, tx, run, mostOld); err != nil {
		return nil, err
	}
	if p.OldScores == 0 && p.Slow { // somebody has run rescore
		s.scores.retry()
		p.Slow = false
	}
	remaining, err := cleaner.CountRemaining(ctx, tx)
	if err != nil {
		return nil, err
	}
	p.Left, p.Decided, p.Disputed, p.Unsure = remaining.Suspects, remaining.Settled+remaining.Disputed, remaining.Disputed, remaining.Unsure
	verdicts, _, err := decide.VerdictsAfter(ctx, tx, run.Decisions)
	if err != nil {
		return nil, err
	}
	for _, verdict := range verdicts {
		wrong := verdict.Before != verdict.Now
		if wrong {
			p.Wrong++
		} else {
			p.Right++
		}
	}
	p.Confirmed = finite(float64(p.Wrong) / float64(p.Wrong+p.Right))
	audit, err := query.LastAudit(ctx, tx)
	if err != nil {
		return nil, err
	}
	if p.HowMany = wording.Sentence(wording.HowMany(audit)) + "."; audit != nil {
		p.Expected = finite(audit.Left())
	}
	return p, nil
}

// mostOld is up to how many old scores are counted.
const mostOld = 100_000

// finite is a number, nil if there is none.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
