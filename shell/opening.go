package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/holder"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// openStore opens a store, saying in words why it cannot.
func openStore(dir string, opt kv.Options) (*kv.Store, error) {
	store, err := index.Open(dir, opt)
	if _, missing := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && errors.Is(missing, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such store; import makes one", dir)
	}
	if err = wayToOpen(err); !opt.ReadOnly {
		err = wayToWrite(dir, err)
	}
	return store, err
}

// wayToOpen says what to do about a store that cannot be opened.
func wayToOpen(err error) error {
	if errors.Is(err, kv.ErrNotStore) {
		return fmt.Errorf("%w: want the directory that import made", err)
	}
	if errors.Is(err, kv.ErrLocked) {
		return fmt.Errorf("%w: wait for it (--wait), or end it", err)
	}
	if errors.Is(err, kv.ErrVersion) {
		return fmt.Errorf("%w; use that version, or import the files again that the store was made from", err)
	}
	return err
}

// wayToWrite says what to do about a store that cannot be opened for writing.
func wayToWrite(dir string, err error) error {
	if errors.Is(err, kv.ErrCorrupt) {
		return fmt.Errorf("%w; graphcleaner check %s --repair repairs it", err, wording.ShellWord(dir))
	}
	if _, unreadable := os.ReadDir(dir); unreadable == nil && unwritable(err) {
		return fmt.Errorf("%w; graphcleaner shell %s --read-only only reads", err, wording.ShellWord(dir))
	}
	return err
}

// unwritable says whether the system refused a write, because of the mode of a file or because the file system is
// read-only.
func unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// openToRead opens a store to read it. Several processes may do so at once. A store that was not closed properly is
// opened for writing, which repairs it. Where it cannot be written to, the error is that of opening it to read, with
// the reason.
func openToRead(dir string, memory int64) (*kv.Store, error) {
	if runtime.GOOS == "windows" { // where several processes cannot read a store at once
		return openStore(dir, kv.Options{MemoryBudget: memory})
	}
	store, crashed := openStore(dir, kv.Options{MemoryBudget: memory, ReadOnly: true})
	if !errors.Is(crashed, kv.ErrCrashed) {
		return store, crashed
	}
	store, err := openStore(dir, kv.Options{MemoryBudget: memory})
	if reason, ok := errors.AsType[syscall.Errno](err); ok && unwritable(reason) {
		return nil, fmt.Errorf("%w; here it cannot be written to (%w): open it, or a copy of it, where it can be",
			crashed, reason)
	}
	return store, err
}

// An access is how a command opens a store.
type access int

const (
	toRead access = iota // for a moment
	// for writing if that can be, so that this process answers others that want to write meanwhile
	toReadLong
	toWrite
	toRebuild // the store itself does the work, with all of the memory
)

// open opens a store. It asks no holder.
func (c *resources) open(dir string, how access) (*kv.Store, error) {
	opt := kv.Options{MemoryBudget: c.store()}
	switch how {
	case toRead:
		return openToRead(dir, c.store())
	case toReadLong:
		if store, err := openStore(dir, opt); err == nil {
			return store, nil
		}
		return openToRead(dir, c.store())
	case toRebuild:
		opt.MemoryBudget = int64(c.Memory)
	}
	return openStore(dir, opt)
}

// use runs fn with an open store. If another process holds the store and answers, that process runs the command, and
// the error is an *exitError. While fn runs with a store that is open for writing, this process answers others.
func (c *resources) use(s *streams, dir string, how access, fn func(*kv.Store) error) (err error) {
	if s.asked != nil {
		if err := s.asked.allow(how >= toWrite); err != nil {
			return err
		}
		return fn(s.asked.store)
	}
	r := &request{Args: s.args}
	// Behind fn: a named pipe that was opened for another process stays open while fn opens it again.
	defer func() { err = errors.Join(err, r.passing.close()) }()
	h, answer, err := c.acquire(s.ctx, s, dir, how, r, s.out)
	if err != nil {
		return err
	}
	if h == nil {
		return &exitError{code: answer.Code}
	}
	s.stages.end("open")
	defer func() {
		err = errors.Join(err, h.close())
		s.stages.end("close")
	}()
	return fn(h.store)
}

// acquire opens a store, or has the process that holds it do a request. It returns the store, or else the answer. If
// the holder does not answer, acquire waits as long as --wait allows.
func (c *resources) acquire(
	ctx context.Context, s *streams, dir string, how access, r *request, out io.Writer,
) (h *holding, a *answer, err error) {
	err = c.untilFree(ctx, s, func(left time.Duration) error {
		store, err := c.open(dir, how)
		if err == nil {
			h, err = s.hold(dir, store)
			return err
		}
		if !errors.Is(err, kv.ErrLocked) {
			return err
		}
		var failed error
		if a, failed = s.ask(ctx, dir, left, r, out); errors.Is(failed, holder.ErrNobody) {
			return err
		}
		if errors.Is(failed, holder.ErrGone) {
			return fmt.Errorf("%s: %w; it is not known whether the work is done: ask again, or see the statements history "+
				"and runs", dir, failed)
		}
		return failed
	})
	return h, a, err
}

const (
	// lookAgain is the time between two tries to open a store that is held.
	lookAgain = 20 * time.Millisecond

	// noticedWait is how long a command waits for a store before it says so.
	noticedWait = 5 * time.Second
)

// tellingWaits is a context whose user says so if it waits for another job that writes to the store.
func (s *streams) tellingWaits(ctx context.Context) context.Context {
	return kv.OnWait(ctx, func() { s.say("waiting for another job that writes to the store") })
}

// untilFree calls fn, which opens a store, with the time that is left, until nobody holds the store or --wait has
// passed.
func (c *resources) untilFree(ctx context.Context, s *streams, fn func(left time.Duration) error) error {
	began := time.Now()
	for told := false; ; {
		err := fn(c.Wait - time.Since(began))
		waited := time.Since(began)
		if !errors.Is(err, kv.ErrLocked) || waited >= c.Wait {
			return err
		}
		if !told && waited > noticedWait {
			s.say("%v", err)
			s.say("waiting for up to %v", c.Wait)
			told = true
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// view runs fn with a snapshot of a store that it reads for a moment.
func (c *resources) view(s *streams, dir string, fn func(*kv.Tx) error) error {
	return c.use(s, dir, toRead, func(store *kv.Store) error { return store.View(fn) })
}
