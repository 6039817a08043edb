// Package holder lets the process that has a store open, the holder, do jobs for other processes of the same user, the
// askers. It carries a request and its files, a result, output, progress and questions. It knows nothing of stores,
// commands and their requests.
//
// # The place
//
// A holder listens on a unix socket: the file socket in the directory holder of the store. It does not decide who holds
// a store: the lock on the store does. A holder that was killed leaves the socket, and the next holder replaces it. A
// store may come from somebody else, so the directory is no link, and only processes of the same user talk.
//
// # The protocol
//
// An asker posts one request by HTTP. A header says which directory it asks about, as the system numbers it. The holder
// of another directory does not take the job. The descriptors of files go along with the first bytes. So a holder needs
// no path, and opens no file.
//
// The body of the request is a stream of gob: the call, and later the answers of a person. The end of the body ends the
// job. The status 200 says that the job begins. It does not begin if the asker is gone by then. The body of the
// response is a stream of events: output, progress, questions, and at last the result. Output is as fast as the asker
// reads it: the job waits.
package holder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

var (
	// ErrNobody is returned by Ask if nobody listens, or takes a job: it may have ended, or not yet begun to listen.
	ErrNobody = errors.New("the process that holds the store does not answer")

	// ErrGone is returned by Ask if the holder is gone before it sent the result. The job may have been done or not.
	ErrGone = errors.New("the process that held the store is gone")

	// ErrEnded is the cause of the end of a job's context if the holder ends.
	ErrEnded = errors.New("the process that holds the store ends")

	// errCancelled is the cause of the end of a job's context if the asker wants it to end, or is gone.
	errCancelled = fmt.Errorf("the asker ended the job: %w", context.Canceled)
)

// A RefusedError says why the holder does not take the job.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// A SilentError says that the asker ended its job, and the holder did not answer. The job may have been done or not. It
// is the error of the context of the asker.
type SilentError struct{ err error }

func (e *SilentError) Error() string {
	return "the process that holds the store does not answer, and may go on with the job"
}

func (e *SilentError) Unwrap() error { return e.err }

// strangerText tells an asker that a store is held by a process of another user.
func strangerText(pid, uid int) string {
	return fmt.Sprintf("process %d of user %d holds the store, and answers only that user", pid, uid)
}

// Streams are those of an asker.
type Streams struct {
	Out, Err io.Writer
	Progress func(stage string, done, total int64)

	// Confirm asks a person a question.
	Confirm func(ctx context.Context, question string) (bool, error)
}

const (
	// jobsPath is the address of jobs. It has the version of the protocol.
	jobsPath = "/2/jobs"

	// storeHeader says which directory an asker asks about.
	storeHeader = "Graphcleaner-Store"

	// greetingTime is how long an asker may take to send its call.
	greetingTime = 10 * time.Second

	// shortestGreeting is how long a holder may at least take to take a job: its machine may be busy.
	shortestGreeting = time.Second

	// patience is how long a holder may take to end a job that is to end, and an asker to read a piece of output after
	// it.
	patience = time.Second

	// progressEvery is the time between two reports of progress.
	progressEvery = 50 * time.Millisecond
)

const (
	// maxPiece is the most output that one event has, in bytes.
	maxPiece = 64 << 10

	// MaxRequest is the most that a request may have, in bytes. The longest statement fits, which has 1 MiB.
	MaxRequest = 5 << 18

	// MaxFiles is the most files that a request may have.
	MaxFiles = 4096

	// callBytes is the most that a call may have: a request, and the names of its files.
	callBytes = MaxRequest + 1<<18
)

// A call is the first message of an asker.
type call struct {
	Request []byte
	Names   []string // of the files, in the order of their descriptors
}

// A reply is a later message of an asker: the answer of a person to a question.
type reply struct {
	Yes bool
	Err string // why nobody can be asked
}

// An event is a message of a holder.
type event struct {
	Out, Err []byte
	Question string
	Progress *progress
	Done     bool
	Result   []byte // of a job that is done
}

// A progress says how far a job is.
type progress struct {
	Stage       string
	Done, Total int64
}
