package web

import (
	"context"
	"sync"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
)

// settleWithin is how long the scores around decisions may take. They are brought up to date while nobody decides, so
// that nobody waits.
const settleWithin = 2 * time.Second

// A settler brings the scores around decisions up to date.
type settler struct {
	moved chan struct{} // has room for one: something was decided

	mu   sync.Mutex
	stop context.CancelFunc // of the rescoring under way; nil if there is none
	slow bool               // it takes too long here
	busy bool               // a rescoring is to come, or under way
}

// pause ends the rescoring under way: a decision comes first.
func (s *settler) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop()
	}
}

func (s *settler) begin(stop context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = stop
}

func (s *settler) end(slow bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop, s.slow, s.busy = nil, slow, !slow && len(s.moved) > 0
}

// follow has scores follow a change.
func (s *settler) follow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = !s.slow
	notify(s.moved)
}

func (s *settler) isBusy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy
}

// retry has the next decision try again, after it took too long.
func (s *settler) retry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = false
}

func (s *settler) isSlow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slow
}

// settle has the scores and the counts follow a change.
func (s *Server) settle() {
	if !s.KeepScores {
		s.scores.follow()
	}
	notify(s.progress.wanted)
}

// notify wakes up who listens, unless it is awake.
func notify(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// keepSettling follows decisions until ctx ends. Where it takes too long, the page says so, and the command rescore
// does it.
func (s *Server) keepSettling(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.scores.moved:
		}
		if s.scores.isSlow() {
			continue
		}
		s.activity.wait(ctx)
		within, stop := context.WithCancel(ctx)
		s.scores.begin(stop)
		ok := false
		err := guard(func() (err error) {
			ok, err = cleaner.RescoreWithin(within, s.Store, settleWithin, cleaner.RescoreOptions{
				Workers: s.Query.Workers, MemoryBudget: s.Query.MemoryBudget,
			})
			return err
		})
		stop()
		// What fails here fails in rescore too, which tells it. Until then the page counts the scores that are old.
		s.scores.end(err == nil && !ok)
		s.events.send("settled", struct{}{})
		notify(s.progress.wanted)
	}
}
