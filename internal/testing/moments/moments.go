// Package moments lets a call fail at each of its moments in turn: at every place that reads or writes in a transaction
// of a store, and at every place that asks whether its context has ended.
package moments

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// ErrDisk is the error of a read that was let fail.
var ErrDisk = errors.New("moments: the disk has failed")

// A Sweep lets calls on a store fail that was opened with its OnRead.
type Sweep struct {
	rooms []string // top directories of packages

	mu     sync.Mutex
	counts map[string]int // of moments of a call, by place; nil: nothing is counted
	last   map[string]int // of the last call
	order  []string       // places
	at     string         // the place that fails; "" for none
	nth    int            // which of its moments
	met    bool
	frames map[uintptr]string // how they are written in a stack
}

// New is a sweep over the places of rooms, such as "cleaner": each stack of their functions is a place.
func New(rooms ...string) *Sweep { return &Sweep{rooms: rooms, frames: map[uintptr]string{}} }

// Open opens a store whose reads the sweep lets fail, and closes it at the end of the test.
func (s *Sweep) Open(t *testing.T, dir string) *kv.Store {
	t.Helper()
	store := must.Get(index.Open(dir, kv.Options{MemoryBudget: 64 << 20, OnRead: s.OnRead}))(t)
	t.Cleanup(func() { must.Do(t, store.Close()) })
	return store
}

// OnRead is for the options of the store.
func (s *Sweep) OnRead() error {
	if s.moment("read") {
		return ErrDisk
	}
	return nil
}

// moment says whether this one is the one that fails.
func (s *Sweep) moment(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil || s.met {
		return false
	}
	place := s.stack(what)
	if place == "" {
		return false
	}
	if s.counts[place]++; s.counts[place] == 1 {
		s.order = append(s.order, place)
	}
	if place != s.at || s.counts[place] != s.nth {
		return false
	}
	s.met = true
	return true
}

// stack is the functions of the rooms that are at work, the inner first; "" where what fails is read in another way.
func (s *Sweep) stack(text string) string {
	var pcs [100]uintptr
	for _, pc := range pcs[:runtime.Callers(3, pcs[:])] {
		as, known := s.frames[pc]
		if !known {
			as = s.frame(pc)
			s.frames[pc] = as
		}
		if as == advice {
			return ""
		}
		text += as
	}
	return text
}

const advice = "advice" // where nobody needs the read to succeed

// frame is how the functions at an address, one and those that are compiled into it, are written in a stack.
func (s *Sweep) frame(pc uintptr) (text string) {
	frames := runtime.CallersFrames([]uintptr{pc})
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		function, ours := strings.CutPrefix(frame.Function, "github.com/graphcleaner/graphcleaner/")
		switch {
		case strings.HasSuffix(function, ".WillRead"), function == "index.(*Plan).Known":
			return advice
		case ours && slices.ContainsFunc(s.rooms, func(room string) bool { return strings.HasPrefix(function, room) }):
			text = fmt.Sprintf(" %x", pc)
		}
	}
	return text
}

// describe names the lines of a place.
func describe(place string) string {
	what, rest, _ := strings.Cut(place, " ")
	text := what
	for pc := range strings.FieldsSeq(rest) {
		var at uintptr
		fmt.Sscanf(pc, "%x", &at) //nolint:errcheck // stack has written it
		frame, _ := runtime.CallersFrames([]uintptr{at}).Next()
		text += fmt.Sprintf("\n\t%s:%d", frame.File, frame.Line)
	}
	return text
}

// start has the next call fail at a moment of a place, or counts nothing from here on where nth is -1.
func (s *Sweep) start(at string, nth int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if nth < 0 {
		s.last, s.counts = s.counts, nil
		return
	}
	s.counts, s.order, s.at, s.nth, s.met = map[string]int{}, nil, at, nth, false
}

// An asked context is cancelled at a moment.
type asked struct {
	context.Context
	sweep  *Sweep
	cancel func()
}

func (c *asked) Err() error {
	if c.sweep.moment("asks") {
		c.cancel()
	}
	return c.Context.Err()
}

// A Call is one of those that a test makes, each after Before, if that is not nil.
type Call struct {
	Name   string
	Before func()
	Make   func(ctx context.Context) (answer any, err error)
}

// View is a Call that reads from a snapshot.
func View[T any](s *kv.Store, name string, read func(ctx context.Context, tx *kv.Tx) (T, error)) Call {
	return Call{Name: name, Make: func(ctx context.Context) (answer any, err error) {
		err = s.View(func(tx *kv.Tx) error {
			answer, err = read(ctx, tx)
			return err
		})
		return answer, err
	}}
}

// Check is a Call that checks a store, which is sound. An error of a read may be a problem that it finds.
func Check(s *kv.Store, check func(ctx context.Context, tx *kv.Tx, report func(kv.Problem)) error) Call {
	return View(s, "check", func(ctx context.Context, tx *kv.Tx) (any, error) {
		var problems []error
		err := check(ctx, tx, func(p kv.Problem) { problems = append(problems, errors.New(p.String())) })
		if strings.Contains(fmt.Sprint(problems), ErrDisk.Error()) {
			return nil, ErrDisk
		}
		return nil, errors.Join(append(problems, err)...)
	})
}

// Write is a Call that changes a store, each time otherwise.
func Write[T any](name string, before func(), write func(ctx context.Context) (T, error)) Call {
	return Call{Name: name, Before: before, Make: func(ctx context.Context) (any, error) {
		_, err := write(ctx)
		return nil, err
	}}
}

// Each makes calls, and each again for each of its moments. A call of which a read fails must return ErrDisk. One whose
// context ends must return its error, or the answer of the first time.
func (s *Sweep) Each(t *testing.T, calls ...Call) {
	t.Helper()
	for _, call := range calls {
		t.Run(call.Name, func(t *testing.T) { s.each(t, call) })
	}
}

func (s *Sweep) each(t *testing.T, call Call) {
	try := func(at string, nth int) (answer string, err error) {
		if call.Before != nil {
			call.Before()
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.start(at, nth)
		defer s.start("", -1)
		value, err := call.Make(&asked{ctx, s, cancel})
		return fmt.Sprintf("%+v", value), err
	}
	must.Get(try("", 0))(t) // fills the caches of the store
	want := must.Get(try("", 0))(t)
	places, counts, tried := s.order, s.last, 0
	for _, place := range places {
		for nth := 1; nth <= counts[place]; nth *= 16 {
			tried++
			answer, err := try(place, nth)
			switch {
			case errors.Is(err, ErrDisk), !s.met && err == nil:
			case place[0] == 'a' && (errors.Is(err, context.Canceled) || err == nil && answer == want):
			default:
				t.Errorf("moment %d: got the error %v, of the same answer: %v\n%s", nth, err, answer == want, describe(place))
			}
		}
	}
	t.Logf("%d places, %d tried", len(places), tried)
}
