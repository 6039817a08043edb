// Package holder lets the process that has a store open, the holder, do jobs for other processes of the same user, the
// askers. It carries a request and its files, a result, output and progress. It knows nothing of stores, commands and
// their requests.
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
// The status 200 says that the job begins. The body of the response is a stream of gob: output, progress, and at last
// the result. Output is as fast as the asker reads it: the job waits. The asker ends the job by ending its side of the
// connection.
package holder

import (
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

	// ErrSilent is returned by Ask, beside the error of the context, if the asker has ended its job and the holder does
	// not say so. The job may have been done or not.
	ErrSilent = errors.New("the process that holds the store does not answer, and may go on with the job")

	// ErrEnded is the cause of the end of a job's context if the holder ends.
	ErrEnded = errors.New("the process that holds the store ends")
)

// A RefusedError says why the holder does not take the job.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// strangerText tells an asker that a store is held by a process of another user.
func strangerText(pid, uid int) string {
	return fmt.Sprintf("process %d of user %d holds the store, and answers only that user", pid, uid)
}

// Streams are those of an asker.
type Streams struct {
	Out, Err io.Writer
	Progress func(stage string, done, total int64)
}

const (
	// jobsPath is the address of jobs. It has the version of the protocol.
	jobsPath = "/4/jobs"

	// storeHeader says which directory an asker asks about.
	storeHeader = "Graphcleaner-Store"

	// greetingTime is how long an asker may take to send its request.
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
)

// An event is a message of a holder.
type event struct {
	Out, Err []byte
	Progress *progress
	Done     bool
	Result   []byte // of a job that is done
}

// A progress says how far a job is.
type progress struct {
	Stage       string
	Done, Total int64
}
