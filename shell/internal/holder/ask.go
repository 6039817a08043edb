package holder

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ErrNobody is returned by Ask if nobody listens, or takes a job: it may have ended, or not yet begun to listen.
var ErrNobody = errors.New("the process that holds the store does not answer")

// ErrGone is returned by Ask if the holder is gone before it sent the result. The job may have been done or not.
var ErrGone = errors.New("the process that held the store is gone")

// A RefusedError says why the holder does not take the job.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// Streams are those of an asker.
type Streams struct {
	Out, Err io.Writer
	Progress func(stage string, done, total int64)

	// Confirm asks a person a question.
	Confirm func(ctx context.Context, question string) (bool, error)
}

const (
	// patience is how long a holder may take to end a job that is to end.
	patience = time.Second

	// shortestGreeting is how long a holder may at least take to take a job: its machine may be busy.
	shortestGreeting = time.Second
)

// A SilentError says that the asker ended its job, and the holder did not answer. The job may have been done or not. It is the error of
// the context of the asker.
type SilentError struct{ err error }

func (e *SilentError) Error() string {
	return "the process that holds the store does not answer, and may go on with the job"
}

func (e *SilentError) Unwrap() error { return e.err }

// Ask asks the holder of a directory for a job, and returns its result. The holder gets the files as they are open
// here. If it does not take the job within a time (of one second or more), Ask returns ErrNobody. If ctx ends, the
// holder ends the job and sends its result. If ctx ends before the job is taken, Ask returns the error of ctx at once;
// if the holder does not end the job within a second, a *SilentError. If Out cannot be written to, the job ends, and
// Ask returns that error.
func Ask(
	ctx context.Context, dir string, within time.Duration, request []byte, files []*os.File, s Streams,
) ([]byte, error) {
	if len(request) > MaxRequest {
		return nil, &RefusedError{fmt.Sprintf("the request has %d bytes, want at most %d for another process",
			len(request), MaxRequest)}
	}
	if len(files) > MaxFiles {
		return nil, &RefusedError{fmt.Sprintf("got %d files, want at most %d for another process", len(files), MaxFiles)}
	}
	within = min(max(within, shortestGreeting), greetingTime)
	c, store, err := dial(ctx, dir, within)
	if ctx.Err() != nil {
		if err == nil {
			err = c.Close()
		}
		return nil, errors.Join(ctx.Err(), err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	a := newAsker(c, s)
	defer a.close()
	if !c.isOwn() {
		return nil, &RefusedError{strangerText(c.pid, c.uid)}
	}
	c.sends = files
	a.until(time.Now().Add(within))
	stop := context.AfterFunc(ctx, a.cancel)
	defer stop()
	events, err := a.begin(store, request, files)
	if err != nil {
		return nil, endError(ctx, err)
	}
	content, err := a.follow(ctx, events)
	if ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, &SilentError{ctx.Err()}
	}
	return content, endError(ctx, err)
}

// dial connects to the holder of a directory, and returns what the system calls the directory.
func dial(ctx context.Context, dir string, within time.Duration) (*conn, string, error) {
	store, err := identity(dir)
	if err != nil {
		return nil, "", err
	}
	path, err := socketOf(dir)
	if err != nil {
		return nil, "", err
	}
	dialer := net.Dialer{Timeout: within}
	plain, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, "", err
	}
	c, err := newConn(plain)
	return c, store, err
}

// endError is the error of a context that ended, instead of an error that may come from its end.
func endError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// An asker waits for the result of a job.
type asker struct {
	conn    *conn
	streams Streams
	helpers sync.WaitGroup // send the request, ask questions
	asking  atomic.Bool    // a person
	body    *io.PipeReader // of the request, behind the call
	end     *io.PipeWriter // of the body

	talking sync.Mutex
	words   *gob.Encoder

	mu        sync.Mutex
	taken     bool // the job
	cancelled bool
}

func newAsker(c *conn, s Streams) *asker {
	a := &asker{conn: c, streams: s}
	a.body, a.end = io.Pipe()
	return a
}

// close ends the conversation.
func (a *asker) close() {
	a.conn.Close() //nolint:errcheck // all was said, or the other side is gone
	a.end.Close()  //nolint:errcheck // it never fails
	a.helpers.Wait()
}

// until bounds the wait for the holder. The zero time is no bound.
func (a *asker) until(t time.Time) {
	a.conn.SetDeadline(t) //nolint:errcheck // a closed connection: who reads it is told
}

// cancel ends the job, or the wait until it is taken.
func (a *asker) cancel() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cancelled = true
	end := time.Now()
	if a.taken {
		end = end.Add(patience)
	}
	a.until(end)
	a.end.Close() //nolint:errcheck // it never fails
}

// start has the job begin, which the holder has taken, unless it was cancelled.
func (a *asker) start() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cancelled {
		return context.Canceled
	}
	a.taken = true
	a.until(time.Time{})
	a.say(word{Go: true}) // from now on nobody knows whether the job was done if the holder is gone
	return nil
}

// say sends a word. It changes nothing if the holder is gone: the next event tells.
func (a *asker) say(w word) {
	a.talking.Lock()
	defer a.talking.Unlock()
	a.words.Encode(w) //nolint:errcheck // see above
}

// begin sends the request, and waits until the job is taken. It returns the events of the job.
func (a *asker) begin(store string, content []byte, files []*os.File) (*gob.Decoder, error) {
	first := call{Request: content}
	for _, f := range files {
		first.Names = append(first.Names, f.Name())
	}
	var text bytes.Buffer
	to := &swapped{&text}
	a.words = gob.NewEncoder(to)
	if err := a.words.Encode(first); err != nil {
		return nil, err
	}
	to.Writer = a.end
	request, err := http.NewRequest(http.MethodPost, "http://holder"+jobsPath, io.MultiReader(&text, a.body))
	if err != nil {
		return nil, err
	}
	request.Header.Set(storeHeader, store)
	request.ContentLength, request.Close = -1, true
	a.helpers.Go(func() { a.body.CloseWithError(request.Write(a.conn)) })
	response, err := http.ReadResponse(bufio.NewReaderSize(a.conn, maxPiece), request) //nolint:bodyclose // it ends with the connection
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	if response.StatusCode == http.StatusOK {
		return gob.NewDecoder(response.Body), a.start()
	}
	reason, err := io.ReadAll(io.LimitReader(response.Body, maxPiece))
	switch response.StatusCode {
	case http.StatusForbidden, http.StatusBadRequest:
		return nil, &RefusedError{strings.TrimSpace(string(reason))}
	case http.StatusNotFound:
		return nil, &RefusedError{"the process that holds the store runs another version of graphcleaner: end it first"}
	}
	return nil, errors.Join(fmt.Errorf("%w: %s", ErrNobody, response.Status), err)
}

// A swapped writer writes to one after another.
type swapped struct{ io.Writer }

// follow does what the holder says until the result comes.
func (a *asker) follow(ctx context.Context, events *gob.Decoder) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		var e event
		if err := events.Decode(&e); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrGone, err)
		}
		if len(e.Out) > 0 {
			if _, err := a.streams.Out.Write(e.Out); err != nil {
				return nil, err
			}
		}
		if len(e.Err) > 0 {
			// Where standard error cannot be written to there is nobody to be told.
			fmt.Fprintf(a.streams.Err, "%s", e.Err)
		}
		if e.Progress != nil {
			if a.streams.Progress != nil {
				a.streams.Progress(e.Progress.Stage, e.Progress.Done, e.Progress.Total)
			}
			a.say(word{Drawn: true})
		}
		if e.Question != "" && a.asking.CompareAndSwap(false, true) {
			a.helpers.Go(func() {
				yes, err := a.streams.Confirm(ctx, e.Question)
				answer := &reply{Yes: yes}
				if err != nil {
					answer.Err = err.Error()
				}
				a.asking.Store(false)
				a.say(word{Answer: answer})
			})
		}
		if e.Result != nil {
			return e.Result.Content, nil
		}
	}
}
