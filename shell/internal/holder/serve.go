package holder

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrEnded is the cause of the end of a job's context if the holder ends.
var ErrEnded = errors.New("the process that holds the store ends")

// errCancelled is the cause of the end of a job's context if the asker wants it to end, or is gone.
var errCancelled = fmt.Errorf("the asker ended the job: %w", context.Canceled)

const (
	// greetingTime is how long each side may at most take from the connection until a job is taken.
	greetingTime = 10 * time.Second

	// lastWords is how long an asker may take to read a piece of output after the end of its job's context.
	lastWords = time.Second

	// progressEvery is the time between two reports of progress.
	progressEvery = 50 * time.Millisecond
)

// A Server answers askers.
type Server struct {
	place *place
	work  func(context.Context, *Job) []byte
	end   context.CancelCauseFunc
	ctx   context.Context // of the jobs
	conns sync.WaitGroup

	mu      sync.Mutex
	stopped bool
	jobs    []*Job
	waiting map[*wire]struct{} // connected, without a job
}

// Listen answers the processes that ask for the holder of a directory, whose lock the caller has. It calls work in a goroutine for each
// job, with a context that ends if the asker wants it or is gone, or if ctx ends (the cause is then ErrEnded). Work returns the
// result. If ctx ends, work has a second to end. Close the Server before the lock is given back.
func Listen(ctx context.Context, dir string, work func(context.Context, *Job) []byte) (*Server, error) {
	p, err := listen(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{place: p, work: work, waiting: make(map[*wire]struct{})}
	own, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { end(ErrEnded) })
	s.ctx, s.end = own, func(cause error) { stop(); end(cause) }
	s.conns.Go(s.accept)
	return s, nil
}

// Stop takes no more jobs.
func (s *Server) Stop() error {
	_, err := s.stopIf(func() bool { return true })
	return err
}

// stopIf is Stop if a condition is true.
func (s *Server) stopIf(condition func() bool) (stopped bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || !condition() {
		return s.stopped, nil
	}
	s.stopped = true
	for w := range s.waiting {
		w.readUntil(time.Now()) // it has no job, and can ask again
	}
	return true, s.place.Close()
}

// End ends the jobs. Their contexts have the cause ErrEnded.
func (s *Server) End() { s.end(ErrEnded) }

// StopIdle is Stop if no job runs. Else it does nothing, and idle is false.
func (s *Server) StopIdle() (idle bool, err error) {
	return s.stopIf(func() bool { return len(s.jobs) == 0 })
}

// Close stops, and waits for the jobs.
func (s *Server) Close() error {
	err := s.Stop()
	s.conns.Wait()
	s.end(nil)
	return err
}

// Jobs are the titles of the jobs that run.
func (s *Server) Jobs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var titles []string
	for _, j := range s.jobs {
		titles = append(titles, j.title)
	}
	return titles
}

// accept serves one connection after another, each in a goroutine.
func (s *Server) accept() {
	for {
		conn, err := s.place.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many files are open, or the like
			time.Sleep(progressEvery)
			continue
		}
		s.conns.Go(func() { s.serve(newWire(conn)) })
	}
}

// serve does the job of a connection.
func (s *Server) serve(w *wire) {
	defer w.close()
	w.readUntil(time.Now().Add(greetingTime))
	w.writeUntil(time.Now().Add(greetingTime))
	if !s.await(w) {
		return
	}
	request, pid, err := receiveRequest(w)
	if err != nil {
		s.take(w, nil)
		if _, ok := errors.AsType[*ProtocolError](err); ok {
			w.trySend(frameRefused, cut(err.Error()))
		}
		return
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	j := &Job{Request: request, PID: pid, ctx: ctx, wire: w, server: s, pieces: make(chan piece, 1), answers: make(chan []byte, 1)}
	if !s.take(w, j) {
		return
	}
	defer s.drop(j)
	// An asker that has lost patience does not say so, and asks again.
	if w.send(frameTaken) != nil || !w.expect(frameGo) {
		return
	}
	w.readUntil(time.Time{})
	w.writeUntil(time.Time{})
	// What blocks in sending ends soon after the context.
	defer context.AfterFunc(ctx, func() { w.writeUntil(time.Now().Add(lastWords)) })()
	var reader sync.WaitGroup
	reader.Go(func() { cancel(j.receive()) })
	result := s.work(ctx, j)
	j.trySend(frameResult, result)
	w.readUntil(time.Now())
	reader.Wait()
}

// cut is a text that fits a frame.
func cut(text string) []byte { return []byte(text[:min(len(text), maxPiece)]) }

// await notes a connection without a job, false if no job is taken.
func (s *Server) await(w *wire) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.waiting[w] = struct{}{}
	return true
}

// take begins the job of a connection, if there is one; false if no job is taken.
func (s *Server) take(w *wire, j *Job) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, w)
	if j == nil || s.stopped || s.ctx.Err() != nil {
		return false
	}
	s.jobs = append(s.jobs, j)
	return true
}

// drop ends a job.
func (s *Server) drop(j *Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = slices.DeleteFunc(s.jobs, func(other *Job) bool { return other == j })
}

// receiveRequest receives the first frame of an asker, which belongs to the user of this process.
func receiveRequest(w *wire) (request []byte, pid int, err error) {
	pid, err = checkPeer(w.conn)
	if err != nil {
		return nil, 0, err
	}
	if err := w.sendGreeting(); err != nil {
		return nil, 0, err
	}
	if err := w.receiveGreeting(); err != nil {
		return nil, 0, err
	}
	k, content, err := w.receive()
	if err == nil && k != frameRequest {
		err = protocolErrorf("got a message of kind %q, want a request", byte(k))
	}
	return content, pid, err
}

// checkPeer makes sure that the process at the other end is of the same user as this one, and returns its number, zero if it is not
// known.
func checkPeer(conn net.Conn) (pid int, err error) {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0, err
	}
	uid, pid, err := peerOf(raw)
	if err == nil && uid != os.Geteuid() && os.Geteuid() >= 0 {
		err = protocolErrorf("process %d belongs to user %d, and talks only to processes of its own user, not of user %d", os.Getpid(), os.Geteuid(), uid)
	}
	return pid, err
}

// A Job is what an asker wants. Its streams, progress and questions are those of the asker.
type Job struct {
	Request []byte
	PID     int // of the asker, zero if it is not known

	ctx    context.Context
	wire   *wire
	server *Server
	title  string

	pieces  chan piece
	rest    []byte // of the last piece
	inErr   error  // behind it
	answers chan []byte

	busy     atomic.Bool // progress was sent, and not yet drawn
	reported time.Time
}

// A piece is a part of standard input, or its end.
type piece struct {
	content []byte
	err     error
}

// Describe gives the job a title.
func (j *Job) Describe(title string) {
	j.server.mu.Lock()
	defer j.server.mu.Unlock()
	j.title = title
}

// receive takes the messages of the asker until it wants the job to end, or is gone, and returns why.
func (j *Job) receive() error {
	for {
		k, content, err := j.wire.receive()
		if err != nil {
			return errCancelled
		}
		switch k {
		case frameInput:
			err = offer(j.pieces, piece{content: content})
		case frameInputEnd:
			err = offer(j.pieces, piece{err: inputError(content)})
		case frameAnswer:
			err = offer(j.answers, content)
		case frameDrawn:
			j.busy.Store(false)
		default: // frameCancel, or nonsense
			return errCancelled
		}
		if err != nil {
			return errCancelled
		}
	}
}

// offer hands over what was asked for; an error if it was not.
func offer[T any](to chan<- T, value T) error {
	select {
	case to <- value:
		return nil
	default:
		return protocolErrorf("got a message that nobody asked for")
	}
}

// inputError is the end of the input that the asker reports.
func inputError(content []byte) error {
	if len(content) == 0 {
		return io.EOF
	}
	return errors.New(string(content))
}

// send sends a frame. After the end of the job's context the asker has a moment to read it.
func (j *Job) send(k kind, content ...[]byte) error {
	if j.ctx.Err() != nil {
		j.wire.writeUntil(time.Now().Add(lastWords))
	}
	return j.wire.send(k, content...)
}

// trySend is send of a frame that changes nothing if the asker is gone.
func (j *Job) trySend(k kind, content ...[]byte) {
	j.send(k, content...) //nolint:errcheck // see above
}

// Read reads the standard input of the asker, until the job's context ends.
func (j *Job) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(j.rest) == 0 && j.inErr == nil {
		if err := j.send(frameWant); err != nil {
			return 0, err
		}
		select {
		case next := <-j.pieces:
			j.rest, j.inErr = next.content, next.err
		case <-j.ctx.Done():
			return 0, j.ctx.Err()
		}
	}
	n := copy(p, j.rest)
	j.rest = j.rest[n:]
	if n > 0 {
		return n, nil
	}
	return 0, j.inErr
}

// An output is standard output or standard error of the asker.
type output struct {
	job  *Job
	kind kind
}

// Out is the standard output of the asker.
func (j *Job) Out() io.Writer { return output{j, frameOut} }

// Err is the standard error of the asker.
func (j *Job) Err() io.Writer { return output{j, frameErr} }

func (o output) Write(p []byte) (n int, err error) {
	for n < len(p) {
		part := p[n:min(len(p), n+maxPiece)]
		if err := o.job.send(o.kind, part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// Progress has the asker show how far the job is. It never waits for the asker: some reports are not shown.
func (j *Job) Progress(stage string, done, total int64) {
	if time.Since(j.reported) < progressEvery || len(stage) > maxPiece/2 || !j.busy.CompareAndSwap(false, true) {
		return
	}
	j.reported = time.Now()
	numbers := binary.BigEndian.AppendUint64(nil, uint64(done))
	numbers = binary.BigEndian.AppendUint64(numbers, uint64(total))
	j.trySend(frameProgress, numbers, []byte(stage))
}

// Confirm has the asker ask a person.
func (j *Job) Confirm(ctx context.Context, question string) (bool, error) {
	if err := j.send(frameQuestion, cut(question)); err != nil {
		return false, err
	}
	select {
	case answer := <-j.answers:
		if len(answer) > 1 {
			return false, errors.New(string(answer[1:]))
		}
		return len(answer) == 1 && answer[0] == 1, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
