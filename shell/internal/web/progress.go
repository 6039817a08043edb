package web

import (
	"context"
	"errors"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// Progress says how far the review of a store is, and what stopping here leaves.
type progress struct {
	Run       int64   `json:"run"` // 0: no run yet
	Threshold float64 `json:"threshold"`
	Left      int64   `json:"left"`    // suspects that nobody has decided on
	Decided   int64   `json:"decided"` // nodes with a decision since the run
	Wrong     int64   `json:"wrong"`   // of them: the label was wrong
	Right     int64   `json:"right"`

	// Confirmed is Wrong of Wrong + Right, with the ends of a 90% interval (Wilson); null without both.
	Confirmed     *float64 `json:"confirmed"`
	ConfirmedLow  *float64 `json:"confirmed_low"`
	ConfirmedHigh *float64 `json:"confirmed_high"`

	// Expected is how many wrong labels are left among the nodes that nobody has decided on; null where scores are no chances. InLeft
	// are those of them among the suspects that are left.
	Expected     *float64 `json:"expected"`
	ExpectedLow  *float64 `json:"expected_low"`
	ExpectedHigh *float64 `json:"expected_high"`
	InLeft       *float64 `json:"expected_in_left"`

	OldScores int  `json:"old_scores"`     // older than what changed around them; -1: many
	Slow      bool `json:"slow,omitempty"` // scores wait for rescore

	Sampled *sampled `json:"sampled,omitempty"`

	Problem string `json:"problem,omitempty"` // why there are no counts
}

// Sampled is how far the random sample is.
type sampled struct {
	Nodes   int `json:"nodes"`
	Decided int `json:"decided"`
	Wrong   int `json:"wrong"`
	Right   int `json:"right"`

	// Precision is Wrong of Wrong + Right with the ends of a 90% interval (Wilson), null without both.
	Precision *float64 `json:"precision"`
	Low       *float64 `json:"low"`
	High      *float64 `json:"high"`
}

// A counter keeps the progress, and counts anew when the store changes.
type counter struct {
	wanted chan struct{} // has room for one
	first  chan struct{} // closed once there is a count

	mu     sync.Mutex
	latest *progress
	commit uint64 // that latest is of
	took   time.Duration
}

// Times of counting.
const (
	lookAgain   = time.Second           // between looks for changes by others
	quickEnough = 60 * time.Millisecond // to count while somebody waits
)

// keepCounting counts whenever the store has changed, until ctx ends.
func (s *Server) keepCounting(ctx context.Context) {
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.progress.wanted:
		case <-look.C:
			if !s.events.heard() {
				continue
			}
		}
		if p, fresh := s.count(ctx); fresh {
			s.events.send("progress", p)
		}
	}
}

// latestProgress is the progress as it is known, nil if the first count takes long: the stream of events brings it. Where counting is
// quick, it counts now.
func (s *Server) latestProgress(ctx context.Context) *progress {
	c := &s.progress
	c.mu.Lock()
	latest, quick := c.latest, c.latest != nil && c.took < quickEnough
	c.mu.Unlock()
	switch {
	case quick:
		latest, _ = s.count(ctx)
	case latest == nil:
		select {
		case <-c.first:
		case <-ctx.Done():
		case <-time.After(quickEnough):
		}
		c.mu.Lock()
		latest = c.latest
		c.mu.Unlock()
	default:
		notify(c.wanted)
	}
	return latest
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

// count counts, unless nothing has changed. Fresh says that something has.
func (s *Server) count(ctx context.Context) (p *progress, fresh bool) {
	tx := s.Store.Begin()
	defer tx.Close()
	c := &s.progress
	commit, err := tx.LastCommit()
	c.mu.Lock()
	latest, same := c.latest, c.latest != nil && c.commit == commit
	c.mu.Unlock()
	if err != nil || same {
		return latest, false
	}
	began := time.Now()
	p, err = s.progressOf(ctx, tx)
	switch {
	case ctx.Err() != nil:
		return latest, false
	case err != nil:
		p = &progress{Problem: wording.Sentence(err.Error()) + "."}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest == nil {
		close(c.first)
	}
	c.latest, c.commit, c.took = p, commit, time.Since(began)
	return p, true
}

// forget has the next look count anew.
func (c *counter) forget() {
	c.mu.Lock()
	c.commit = math.MaxUint64 // of no commit
	c.mu.Unlock()
	notify(c.wanted)
}

// progressOf counts in a snapshot.
func (s *Server) progressOf(ctx context.Context, tx *kv.Tx) (*progress, error) {
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
	scores, err := tx.Reader(cleaner.ScoreColumn)
	if err != nil {
		return nil, err
	}
	plan, err := index.NewPlan(tx, index.Query{Where: cleaner.Suspects(run.Threshold), Limit: -1})
	if err != nil {
		return nil, err
	}
	inLeft := 0.0
	for v, err := range plan.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		score, err := scores.At(v)
		if err != nil {
			return nil, err
		}
		p.Left++
		inLeft += score.Float()
	}
	verdicts, _, err := decide.VerdictsAfter(ctx, tx, run.Decisions)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	drawn := len(s.sample)
	in := make(map[kv.NodeID]bool, drawn)
	for _, v := range s.sample {
		in[v] = true
	}
	s.mu.Unlock()
	if drawn > 0 {
		p.Sampled = &sampled{Nodes: drawn}
	}
	for _, verdict := range verdicts {
		p.Decided++
		wrong := verdict.Before != verdict.Now
		if wrong {
			p.Wrong++
		} else {
			p.Right++
		}
		if in[verdict.Node] {
			p.Sampled.Decided++
			if wrong {
				p.Sampled.Wrong++
			} else {
				p.Sampled.Right++
			}
		}
	}
	p.Confirmed, p.ConfirmedLow, p.ConfirmedHigh = shareOf(p.Wrong, p.Right)
	if of := p.Sampled; of != nil {
		of.Precision, of.Low, of.High = shareOf(int64(of.Wrong), int64(of.Right))
	}
	if run.Preset != cleaner.PresetDefault {
		return p, nil // its scores are no chances
	}
	remaining, err := cleaner.CountRemaining(ctx, tx)
	if err != nil {
		return nil, err
	}
	p.Expected, p.ExpectedLow, p.ExpectedHigh = finite(remaining.Mislabels), finite(remaining.Low), finite(remaining.High)
	p.InLeft = &inLeft
	return p, nil
}

// mostOld is up to how many old scores are counted.
const mostOld = 100_000

// Below is how many wrong labels are expected among the nodes that are no suspects.
func (p *progress) Below() *float64 {
	if p.Expected == nil || p.InLeft == nil {
		return nil
	}
	below := max(0, *p.Expected-*p.InLeft)
	return &below
}

// finite is a number, nil if there is none.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// z is the 95% quantile of the normal distribution: 5% are beyond each end of a 90% interval.
const z = 1.6448536269514722

// shareOf is the share of a part, with Wilson's 90% interval.
func shareOf(part, rest int64) (share, low, high *float64) {
	n := float64(part + rest)
	if n == 0 {
		return nil, nil, nil
	}
	p := float64(part) / n
	center := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return &p, finite(max(0, center-half)), finite(min(1, center+half))
}
