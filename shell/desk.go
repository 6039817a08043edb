package shell

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/holder"
	"github.com/graphcleaner/graphcleaner/shell/internal/prompt"
	"github.com/graphcleaner/graphcleaner/shell/internal/review"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A task is one step of a session: of the prompt, of a script. Between two steps a session needs no store. So each step
// can be done where the store is open.
type task struct {
	Question *prompt.Question // a statement
	Review   *review.Step

	Writes, ReadOnly bool
	Who              string
	Store            string // as the user names it
	Rescores         bool   // that of query.Options
	Threads          int
	Memory           byteSize
}

// A taskResult is the outcome of a task.
type taskResult struct {
	Outcome prompt.Outcome
	Review  review.Result
	Failure *failure
}

// A failure is an error on its way to another process.
type failure struct {
	Text     string
	Position *query.Pos
	Changed  bool            // it is a decide.ErrChanged
	Asks     *query.Question // it is a prompt.UnconfirmedError
}

// failureOf is an error as another process is told of it, nil if there is none.
func failureOf(ctx context.Context, err error) *failure {
	if err == nil {
		return nil
	}
	if errors.Is(context.Cause(ctx), holder.ErrEnded) {
		return &failure{Text: holder.ErrEnded.Error() + "; try again"}
	}
	f := &failure{Text: wording.Plain(err), Changed: errors.Is(err, decide.ErrChanged)}
	if at, ok := query.Position(err); ok {
		f.Position = &at
	}
	if unconfirmed, ok := errors.AsType[*prompt.UnconfirmedError](err); ok {
		f.Asks = &unconfirmed.Question
	}
	return f
}

// err is the error that a failure tells of.
func (f *failure) err() error {
	switch {
	case f == nil:
		return nil
	case f.Changed:
		return wording.Reworded(decide.ErrChanged, f.Text)
	case f.Asks != nil:
		return &prompt.UnconfirmedError{Question: *f.Asks}
	case f.Position != nil:
		text := strings.TrimPrefix(f.Text, f.Position.String()+": ")
		return &query.TextError{Pos: *f.Position, Err: errors.New(text)}
	}
	return errors.New(f.Text)
}

// do does a task for another process.
func (t *task) do(ctx context.Context, s *streams) *taskResult {
	if err := s.asked.allow(t.Writes); err != nil {
		return &taskResult{Failure: failureOf(ctx, err)}
	}
	s.asked.reserve(t.Memory)
	to := prompt.Listener{Out: s.out, Notice: s.notice}
	r, err := t.answer(s.tellingWaits(ctx), s.asked.store, s.progress.report, to)
	r.Failure = failureOf(ctx, err)
	return &r
}

// answer does a task on a store that is open here.
func (t *task) answer(
	ctx context.Context, store *kv.Store, progress kv.Progress, to prompt.Listener,
) (r taskResult, err error) {
	budget := resources{Memory: t.Memory}
	open := prompt.Open{Store: store, Options: query.Options{
		Workers: t.Threads, MemoryBudget: budget.work(), Progress: progress, Who: t.Who, Rescores: t.Rescores, Name: t.Store,
	}}
	switch {
	case t.Question != nil:
		r.Outcome, err = open.Answer(ctx, *t.Question, to)
	case t.Review != nil:
		r.Review, err = t.Review.Do(ctx, store, open.Options)
	}
	return r, budget.inFlags(err)
}

// idleTime is how long a session keeps a store open after a step.
const idleTime = time.Second

// A desk does the tasks of a session. It opens the store for a task, or asks the process that holds the store. While a
// store is open here, others are answered.
type desk struct {
	*resources
	s    *streams
	dir  string
	base task // its fields hold for all tasks

	mu   sync.Mutex
	open *holding // nil if the store is not open here
	used time.Time
	idle *time.Timer
	err  error // of closing
}

// newDesk returns a desk, which must be closed.
func newDesk(s *streams, r *resources, dir string, base task) *desk {
	base.Threads, base.Memory, base.Store = r.Threads, r.Memory, dir
	d := &desk{resources: r, s: s, dir: dir, base: base}
	d.idle = time.AfterFunc(idleTime, d.rest)
	return d
}

// rest closes the store if nobody uses it.
func (d *desk) rest() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil || time.Since(d.used) < idleTime { // it waited for a task, whose end sets the timer again
		return
	}
	if d.open.server != nil && d.open.server.Jobs() > 0 {
		d.idle.Reset(idleTime)
		return
	}
	d.shut()
}

// shut closes the store, if it is open. The caller has d.mu.
func (d *desk) shut() {
	if d.open != nil {
		d.err = errors.Join(d.err, d.open.close())
		d.open = nil
	}
}

// close ends the session.
func (d *desk) close() error {
	d.idle.Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut()
	return d.err
}

// do does a task.
func (d *desk) do(ctx context.Context, t task, to prompt.Listener) (r taskResult, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open != nil && d.open.store.ReadOnly() && t.Writes {
		d.shut()
	}
	if d.open == nil {
		how := toRead
		if t.Writes || t.Review != nil { // which soon writes
			how = toWrite
		}
		h, a, err := d.acquire(ctx, d.s, d.dir, how, &request{Task: &t}, to.Out)
		if err != nil {
			return r, err
		}
		switch {
		case h != nil:
			d.open = h
		case a.Result == nil: // a fault, which was told
			return r, &exitError{code: a.Code}
		default:
			return *a.Result, cmp.Or(ctx.Err(), a.Result.Failure.err())
		}
	}
	defer func() {
		d.used = time.Now()
		d.idle.Reset(idleTime)
	}()
	return t.answer(d.s.tellingWaits(ctx), d.open.store, d.s.progress.report, to)
}

// Answer answers a statement.
func (d *desk) Answer(ctx context.Context, q prompt.Question, to prompt.Listener) (prompt.Outcome, error) {
	t := d.base
	t.Question = &q
	statement, err := q.Statement()
	if err != nil {
		return prompt.Outcome{}, err
	}
	if t.Writes = statement.Writes(); t.Writes && t.ReadOnly {
		return prompt.Outcome{}, errors.New("--read-only refuses statements that write")
	}
	r, err := d.do(ctx, t, to)
	return r.Outcome, err
}

// review does a step of a review.
func (d *desk) review(ctx context.Context, step review.Step) (review.Result, error) {
	t := d.base
	t.Review, t.Writes = &step, step.Writes()
	r, err := d.do(ctx, t, prompt.Listener{Out: io.Discard})
	return r.Review, err
}
