package holder

import (
	"context"
	"encoding/gob"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A Server answers askers.
type Server struct {
	place *place
	store string // the system's name of its directory
	work  func(context.Context, *Job) []byte
	end   context.CancelCauseFunc
	ctx   context.Context // of the jobs
	http  *http.Server
	ends  sync.WaitGroup // of the listener, and of jobs

	mu      sync.Mutex
	stopped bool
	jobs    int // that run
}

// Listen answers the processes that ask for the holder of a directory, whose lock the caller has. It calls work in a
// goroutine for each job, with a context that ends if the asker wants it or is gone, or if ctx ends (the cause is then
// ErrEnded). Work returns the result. If ctx ends, work has a second to end. Where no process can ask another, the
// error is errors.ErrUnsupported. Close the Server before the lock is given back.
func Listen(ctx context.Context, dir string, work func(context.Context, *Job) []byte) (*Server, error) {
	store, err := identity(dir)
	if err != nil {
		return nil, err
	}
	p, err := listen(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{place: p, store: store, work: work}
	own, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { end(ErrEnded) })
	s.ctx, s.end = own, func(cause error) { stop(); end(cause) }
	s.http = &http.Server{
		Handler: s, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: greetingTime, MaxHeaderBytes: 4 << 10,
		BaseContext: func(net.Listener) context.Context { return own },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	s.http.SetKeepAlivesEnabled(false)
	s.ends.Go(func() { s.http.Serve(connListener{p.Listener}) }) //nolint:errcheck // it ends when the place is closed
	return s, nil
}

// connKey is the key of the *conn of a request.
type connKey struct{}

// A connListener accepts each connection as a *conn.
type connListener struct{ net.Listener }

func (l connListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if own, err := newConn(c); err == nil {
			return own, nil
		}
	}
}

// Stop takes no more jobs.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	return s.place.Close()
}

// End ends the jobs. Their contexts have the cause ErrEnded.
func (s *Server) End() { s.end(ErrEnded) }

// Close stops, and waits for the jobs. Who has no job by then can ask again.
func (s *Server) Close() error {
	err := s.Stop()
	s.ends.Wait()
	s.end(nil)
	return errors.Join(err, s.http.Close())
}

// Jobs is how many jobs run.
func (s *Server) Jobs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs
}

// ServeHTTP does the job of a connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(connKey{}).(*conn)
	control := http.NewResponseController(w)
	if control.SetReadDeadline(time.Now().Add(greetingTime)) != nil {
		return
	}
	switch {
	case !c.isOwn():
		http.Error(w, strangerText(os.Getpid(), os.Geteuid()), http.StatusForbidden)
		return
	case r.Method != http.MethodPost || r.URL.Path != jobsPath:
		http.NotFound(w, r)
		return
	case r.Header.Get(storeHeader) != s.store:
		http.Error(w, "this process holds another store", http.StatusMisdirectedRequest)
		return
	}
	request, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxRequest))
	if err != nil {
		http.Error(w, "got no whole request: "+err.Error(), http.StatusBadRequest)
		return
	}
	if !s.take() {
		http.Error(w, ErrEnded.Error(), http.StatusServiceUnavailable)
		return
	}
	defer s.drop()
	w.WriteHeader(http.StatusOK)
	if control.Flush() != nil { // the asker has gone
		return
	}
	control.SetReadDeadline(time.Time{}) //nolint:errcheck // a closed connection: who reads it is told
	j := &Job{Request: request, conn: c, ctx: r.Context(), control: control, events: gob.NewEncoder(w)}
	// What blocks in sending ends soon after the context.
	defer context.AfterFunc(j.ctx, j.hurry)()
	result := s.work(j.ctx, j)
	c.closeFiles()
	j.try(event{Done: true, Result: result})
}

// take begins a job, false if no job is taken.
func (s *Server) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || s.ctx.Err() != nil {
		return false
	}
	s.ends.Add(1)
	s.jobs++
	return true
}

// drop ends a job.
func (s *Server) drop() {
	defer s.ends.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs--
}

// A Job is the work that an asker requests. Its output and progress are those of the asker.
type Job struct {
	Request []byte

	conn    *conn
	ctx     context.Context
	control *http.ResponseController

	sending  sync.Mutex
	events   *gob.Encoder
	reported atomic.Int64 // when the last progress was, in nanoseconds
}

// Files are the files that the asker has opened, which get names. They are closed when the job ends. It is an error if
// there are not as many as names.
func (j *Job) Files(names []string) ([]*os.File, error) { return j.conn.take(names) }

// hurry bounds the time that the asker has to read the reply.
func (j *Job) hurry() {
	j.control.SetWriteDeadline(time.Now().Add(patience)) //nolint:errcheck // a closed connection: who writes to it is told
}

// send sends an event. After the end of the job's context the asker has a moment to read it.
func (j *Job) send(e event) error {
	j.sending.Lock()
	defer j.sending.Unlock()
	if j.ctx.Err() != nil {
		j.hurry()
	}
	if err := j.events.Encode(e); err != nil {
		return err
	}
	return j.control.Flush()
}

// try is send of an event that changes nothing if the asker is gone.
func (j *Job) try(e event) {
	j.send(e) //nolint:errcheck // see above
}

// An output makes the events of standard output or standard error of the asker.
type output func(piece []byte) error

// Out is the standard output of the asker.
func (j *Job) Out() io.Writer {
	return output(func(piece []byte) error { return j.send(event{Out: piece}) })
}

// Err is the standard error of the asker.
func (j *Job) Err() io.Writer {
	return output(func(piece []byte) error { return j.send(event{Err: piece}) })
}

func (o output) Write(p []byte) (n int, err error) {
	for n < len(p) {
		part := p[n:min(len(p), n+maxPiece)]
		if err := o(part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// Progress has the asker show how far the job is, now and then.
func (j *Job) Progress(stage string, done, total int64) {
	before, now := j.reported.Load(), time.Now().UnixNano()
	if now-before >= int64(progressEvery) && j.reported.CompareAndSwap(before, now) {
		j.try(event{Progress: &progress{stage, done, total}})
	}
}
