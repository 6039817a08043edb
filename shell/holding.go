package shell

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/holder"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// A holding is a store that this process has open. If it is open for writing, the process answers others.
type holding struct {
	s      *streams
	dir    string
	store  *kv.Store
	server *holder.Server // nil if nobody is answered
}

// hold begins to answer others on a store that was just opened.
func (s *streams) hold(dir string, store *kv.Store) (*holding, error) {
	h := &holding{s: s, dir: dir, store: store}
	if store.ReadOnly() { // others that read open it too
		return h, nil
	}
	var err error
	h.server, err = holder.Listen(s.ctx, dir, (&host{store: store}).work)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, errors.Join(fmt.Errorf("cannot answer other processes: %w", err), store.Close())
	}
	return h, nil
}

// close waits for the jobs of others, and closes the store. Ctrl-C ends the jobs.
func (h *holding) close() error {
	if h.server == nil {
		return h.store.Close()
	}
	err := h.server.Stop()
	if jobs := h.server.Jobs(); jobs > 0 {
		h.s.say("%s: waiting for others who use the store through this process; Ctrl-C ends their %s", h.dir,
			wording.Count(jobs, "job", "jobs"))
		ctx, stop := signal.NotifyContext(context.WithoutCancel(h.s.ctx), os.Interrupt)
		defer stop()
		defer context.AfterFunc(ctx, h.server.End)()
	}
	return errors.Join(err, h.server.Close(), h.store.Close())
}

// A host does the jobs of other processes on a store.
type host struct {
	store    *kv.Store
	readOnly bool
	foreign  bool // the process is not of this program, and its limits of memory are not ours
}

// work does a job.
func (h *host) work(ctx context.Context, j *holder.Job) (result []byte) {
	failed := func(format string, args ...any) []byte {
		fmt.Fprintf(j.Err(), "graphcleaner: "+format+"\n", args...)
		return encoded(&answer{Code: exitFailed})
	}
	// A fault in one job must not end the jobs of others, or the program that embeds us.
	defer func() {
		if fault := recover(); fault != nil {
			result = failed("a fault of the program ended this command: %v\n%s", fault, debug.Stack())
		}
	}()
	var r request
	if err := gob.NewDecoder(bytes.NewReader(j.Request)).Decode(&r); err != nil {
		return failed("%v", err)
	}
	open, err := j.Files(slices.Concat(r.Inputs, r.Outputs))
	if err != nil {
		return failed("%v", err)
	}
	files := &receivedFiles{inputs: named(r.Inputs, open), outputs: named(r.Outputs, open[len(r.Inputs):])}
	ctx = stream.WithFiles(ctx, files)
	s := &streams{
		ctx: ctx, in: remote{Reader: files.input(ctx), screen: r.In}, out: remote{Writer: j.Out(), screen: r.Out},
		messages: messages{err: remote{Writer: j.Err(), screen: r.Err}},
		program:  r.Program, args: r.Args, asked: &askedJob{host: h},
	}
	s.follow(r.Messages)
	defer s.asked.release()
	if s.progress = s.newProgress(); r.Progress && s.log == nil {
		s.progress.report = j.Progress
	}
	a := new(answer)
	if r.Task != nil {
		a.Result = r.Task.do(ctx, s)
	} else {
		a.Code = s.run(r.Args)
		if a.Code == exitInterrupted && errors.Is(context.Cause(ctx), holder.ErrEnded) {
			s.sayError("%s: %v (process %d); give the command again", s.program, holder.ErrEnded, os.Getpid())
			a.Code = exitFailed
		}
	}
	a.Written = files.done // nothing of the job runs any more
	return encoded(a)
}

// encoded is a message to another process.
func encoded(message any) []byte {
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(message); err != nil {
		panic(err) // all types of messages can be encoded
	}
	return text.Bytes()
}

// An askedJob is the work of this process for another.
type askedJob struct {
	*host
	reserved int64 // bytes of the heap
}

// reserve lets the heap of this process grow by the memory of the job, until release.
func (j *askedJob) reserve(memory byteSize) {
	if !j.foreign {
		j.reserved += growHeap(heapLimit(int64(memory)))
	}
}

func (j *askedJob) release() { growHeap(-j.reserved) }

// growHeap moves the bytes that the garbage collector keeps the heap in, if there is a limit, and returns by how many.
func growHeap(bytes int64) int64 {
	heapMoving.Lock()
	defer heapMoving.Unlock()
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return 0
	}
	debug.SetMemoryLimit(limit + bytes)
	return bytes
}

var heapMoving sync.Mutex

// allow refuses writing commands if the holder only reads.
func (j *askedJob) allow(writes bool) error {
	if writes && j.readOnly {
		return fmt.Errorf("process %d serves the store with --read-only, and refuses what writes: %w", os.Getpid(),
			kv.ErrReadOnly)
	}
	return nil
}

// answered are the commands whose work is done on a store that is open.
var answered = []string{
	"predict", "import", "remove", "estimate", "clean", "score", "rescore", "draw", "audit", "review", "gate", "eval",
	"export", "check", "backup", "compact",
}

// check refuses a command that would do more than to use the store that is open here.
func (j *askedJob) check(cli *commandLine, command string) error {
	isNew := !cli.Import.Append && (cli.Import.Nodes != "" || cli.Import.Edges != "")
	if !slices.Contains(answered, command) || isNew || cli.Check.Repair {
		return errors.New("the process that holds the store does not do this for another one")
	}
	return nil
}

// A remote is standard input, standard output or standard error of another process.
type remote struct {
	io.Reader
	io.Writer
	screen print.Screen
}

// Screen describes the terminal of the other process.
func (r remote) Screen() print.Screen { return r.screen }

// A request is a command line, or a task, for the process that holds a store.
type request struct {
	Args            []string // of the command line; nil for a task
	Inputs, Outputs []string // names of the files that go along, in their order
	Task            *task
	Program         string // as the user calls it

	// The streams of the asker.
	In, Out, Err print.Screen
	Progress     bool // is shown
	Messages     messageFlags

	passing passing
}

// An answer is the outcome of a request.
type answer struct {
	Code    int         // exit code of a command line
	Result  *taskResult // of a task
	Written []string    // names of files that are complete
}

// ask has the process that holds a store do a request, with the streams of this process, if it takes the job within a
// time. The answer of a task goes to out. Its errors are those of holder.Ask.
func (s *streams) ask(
	ctx context.Context, dir string, within time.Duration, r *request, out io.Writer,
) (*answer, error) {
	if r.passing.ctx == nil && r.Args != nil {
		if err := r.passing.open(ctx, s); err != nil {
			return nil, err
		}
		r.Inputs, r.Outputs = r.passing.inputs.names, r.passing.outputs.names
	}
	progress := s.progress.report
	r.Program, r.Progress, r.Messages = s.program, progress != nil, s.flags
	r.In, r.Out, r.Err = *print.ScreenOf(s.in), *print.ScreenOf(s.out), *print.ScreenOf(s.err)
	result, err := holder.Ask(ctx, dir, within, encoded(r), r.passing.files(), holder.Streams{
		Out: out, Err: s.err, Progress: progress,
	})
	s.progress.clear()
	if err != nil {
		return nil, err
	}
	got := new(answer)
	if err := gob.NewDecoder(bytes.NewReader(result)).Decode(got); err != nil {
		return nil, fmt.Errorf("the answer of the process that holds %s: %w", dir, err)
	}
	return got, r.passing.commit(got.Written)
}

// A barless writer takes a bar off the terminal before it writes.
type barless struct {
	io.Writer
	bar *progress
}

// Screen describes the terminal.
func (w barless) Screen() print.Screen { return *print.ScreenOf(w.Writer) }

func (w barless) Write(p []byte) (int, error) {
	w.bar.clear()
	return w.Writer.Write(p)
}
