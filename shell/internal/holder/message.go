package holder

import "runtime"

// PassesFiles says whether files can be passed to another process here.
const PassesFiles = runtime.GOOS != "windows"

// The address of jobs. It has the version of the protocol.
const jobsPath = "/1/jobs"

// storeHeader says which directory an asker asks about.
const storeHeader = "Graphcleaner-Store"

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

// A word is a later message of an asker.
type word struct {
	Go     bool // the job shall begin
	Drawn  bool // progress was shown
	Answer *reply
}

// A reply is what a person says to a question.
type reply struct {
	Yes bool
	Err string // why nobody can be asked
}

// An event is a message of a holder.
type event struct {
	Out, Err []byte
	Question string
	Progress *progress
	Result   *result
}

// A progress says how far a job is.
type progress struct {
	Stage       string
	Done, Total int64
}

// A result ends a job.
type result struct{ Content []byte }
