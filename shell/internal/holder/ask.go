package holder

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// ErrNobody is returned by Ask if nobody listens, or takes a job: it may have ended, or not yet begun to listen.
var ErrNobody = errors.New("the process that holds the store does not answer")

// ErrGone is returned by Ask if the holder is gone before it sent the result. The job may have been done or not.
var ErrGone = errors.New("the process that held the store is gone")

// A RefusedError says why the holder does not take the job.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string {
	return "the process that holds the store refuses: " + e.Reason
}

// Streams are those of an asker.
type Streams struct {
	In       io.Reader // read only if the job wants input
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

// Ask asks the holder of a directory for a job, and returns its result. If the holder does not take the job within a time (of one second
// or more), Ask returns ErrNobody. If ctx ends, the holder ends the job and sends its result. If ctx ends before the job is taken, Ask
// returns the error of ctx at once; if the holder does not end the job within a second, a *SilentError. If Out cannot be written to, the
// job ends, and Ask returns that error.
func Ask(ctx context.Context, dir string, within time.Duration, request []byte, s Streams) ([]byte, error) {
	within = min(max(within, shortestGreeting), greetingTime)
	dialer := net.Dialer{Timeout: within}
	conn, err := dialer.DialContext(ctx, "unix", socketOf(dir))
	if ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), closed(conn))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	a := &asker{wire: newWire(conn), streams: s}
	defer a.wire.close()
	if _, err := checkPeer(conn); err != nil {
		return nil, err
	}
	a.wire.readUntil(time.Now().Add(within))
	a.wire.writeUntil(time.Now().Add(within))
	stop := context.AfterFunc(ctx, a.cancel)
	defer stop()
	if err := a.begin(request); err != nil {
		return nil, endError(ctx, err)
	}
	result, err := a.follow(ctx)
	if ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, &SilentError{ctx.Err()}
	}
	return result, endError(ctx, err)
}

// endError is the error of a context that ended, instead of an error that may come from its end.
func endError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// closed closes a connection, if there is one.
func closed(conn net.Conn) error {
	if conn == nil {
		return nil
	}
	return conn.Close()
}

// An asker waits for the result of a job.
type asker struct {
	wire    *wire
	streams Streams
	helpers sync.WaitGroup // read input, ask questions
	helping atomic.Bool    // one of them does

	mu        sync.Mutex
	taken     bool // the job
	cancelled bool
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
	a.wire.readUntil(end)
	a.wire.writeUntil(end)
	if a.taken {
		a.wire.trySend(frameCancel)
	}
}

// start has the job begin, which the holder has taken, unless it was cancelled.
func (a *asker) start() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cancelled {
		return context.Canceled
	}
	a.taken = true
	a.wire.readUntil(time.Time{})
	a.wire.writeUntil(time.Time{})
	a.wire.trySend(frameGo) // from now on nobody knows whether the job was done if the holder is gone
	return nil
}

// begin sends the request, and waits until the job is taken.
func (a *asker) begin(request []byte) error {
	k, content, err := a.exchange(request)
	if _, ok := errors.AsType[*ProtocolError](err); ok {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNobody, err)
	}
	switch k {
	case frameTaken:
		return a.start()
	case frameRefused:
		return &RefusedError{string(content)}
	}
	return protocolErrorf("got a message of kind %q, want that the job is taken", byte(k))
}

func (a *asker) exchange(request []byte) (kind, []byte, error) {
	if err := a.wire.sendGreeting(); err != nil {
		return 0, nil, err
	}
	if err := a.wire.receiveGreeting(); err != nil {
		return 0, nil, err
	}
	if err := a.wire.send(frameRequest, request); err != nil {
		return 0, nil, err
	}
	return a.wire.receive()
}

// follow does what the holder says until the result comes.
func (a *asker) follow(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer a.helpers.Wait()
	defer cancel()
	for {
		k, content, err := a.wire.receive()
		if _, ok := errors.AsType[*ProtocolError](err); ok {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrGone, err)
		}
		switch k {
		case frameOut:
			_, err = a.streams.Out.Write(content)
		case frameErr:
			// Where standard error cannot be written to there is nobody to be told.
			fmt.Fprintf(a.streams.Err, "%s", content)
		case frameWant:
			err = a.help(func() (kind, []byte) { return a.nextInput(ctx) })
		case frameQuestion:
			err = a.help(func() (kind, []byte) { return a.answer(ctx, string(content)) })
		case frameProgress:
			err = a.show(content)
		case frameResult:
			return content, nil
		default:
			err = protocolErrorf("got a message of the unknown kind %q", byte(k))
		}
		if err != nil {
			return nil, err
		}
	}
}

// help has a goroutine get what the holder wants from a file or a person, and send it.
func (a *asker) help(get func() (kind, []byte)) error {
	if !a.helping.CompareAndSwap(false, true) {
		return protocolErrorf("the holder wants input or an answer twice at once")
	}
	a.helpers.Go(func() {
		k, content := get()
		a.helping.Store(false)
		a.wire.trySend(k, content)
	})
	return nil
}

// nextInput is the next piece of the input, or its end.
func (a *asker) nextInput(ctx context.Context) (kind, []byte) {
	piece := make([]byte, maxPiece)
	in := stream.NewReader(ctx, a.streams.In)
	for {
		n, err := in.Read(piece)
		switch {
		case n > 0: // an error comes again
			return frameInput, piece[:n]
		case errors.Is(err, io.EOF):
			return frameInputEnd, nil
		case err != nil:
			return frameInputEnd, cut(err.Error())
		}
	}
}

// answer is the answer of a person.
func (a *asker) answer(ctx context.Context, question string) (kind, []byte) {
	yes, err := a.streams.Confirm(ctx, question)
	switch {
	case err != nil:
		return frameAnswer, cut("\x00" + err.Error())
	case yes:
		return frameAnswer, []byte{1}
	}
	return frameAnswer, []byte{0}
}

// show shows progress.
func (a *asker) show(content []byte) error {
	if len(content) < 16 {
		return protocolErrorf("got progress of %d bytes, want 16 or more", len(content))
	}
	if a.streams.Progress != nil {
		a.streams.Progress(string(content[16:]), int64(binary.BigEndian.Uint64(content)), int64(binary.BigEndian.Uint64(content[8:])))
	}
	a.wire.trySend(frameDrawn)
	return nil
}
