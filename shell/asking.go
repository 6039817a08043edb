package shell

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"time"

	"github.com/graphcleaner/graphcleaner/shell/internal/holder"
	"github.com/graphcleaner/graphcleaner/shell/internal/prompt"
	"github.com/graphcleaner/graphcleaner/shell/print"
)

// A request is a command line, or a task, for the process that holds a store.
type request struct {
	Args            []string // of the command line; nil for a task
	Inputs, Outputs []string // names of the files that go along, in their order
	Task            *task
	Writes          bool
	Program         string // as the user calls it

	// The streams of the asker.
	In, Out, Err print.Screen
	Progress     bool // is shown
	Messages     messageFlags

	passing *passing // nil before the files are opened
}

// An answer is the outcome of a request.
type answer struct {
	Code    int         // exit code of a command line
	Result  *taskResult // of a task
	Written []string    // names of files that are complete
}

// ask has the process that holds a store do a request, with the streams of this process, if it takes the job within a time. The answer of a
// task goes to a listener. Its errors are those of holder.Ask.
func (s *streams) ask(ctx context.Context, dir string, within time.Duration, r *request, to prompt.Listener) (*answer, error) {
	if r.passing == nil && r.Args != nil {
		var err error
		if r.passing, err = s.pass(ctx); err != nil {
			return nil, err
		}
		r.Inputs, r.Outputs = r.passing.inputs.names, r.passing.outputs.names
	}
	progress := s.progress.report()
	r.Program, r.Progress, r.Messages = s.program, progress != nil, s.flags
	r.In, r.Out, r.Err = *print.ScreenOf(s.in), *print.ScreenOf(s.out), *print.ScreenOf(s.err)
	result, err := holder.Ask(ctx, dir, within, encoded(r), r.passing.files(), holder.Streams{
		Out: barless{to.Out, s.progress}, Err: barless{s.err, s.progress}, Progress: progress, Confirm: to.Confirm,
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

func (w barless) Write(p []byte) (int, error) {
	w.bar.clear()
	return w.Writer.Write(p)
}
