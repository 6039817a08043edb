package shell

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/graphcleaner/graphcleaner/shell/internal/holder"
	"github.com/graphcleaner/graphcleaner/shell/print"
)

// A request is a command line, or a task, for the process that holds a store.
type request struct {
	Args     []string          // of the command line; nil for a task
	Resolved map[string]string // see streams.resolve
	Task     *task
	Writes   bool
	Program  string       // as the user calls it
	Files    []passedFile // that the command line names

	// The streams of the asker.
	In, Out, Err print.Screen
	Progress     bool // is shown
	Messages     messageFlags

	passing *passing // of Files; nil before they are opened
}

// An answer is what became of a request.
type answer struct {
	Code    int         // exit code of a command line
	Result  *taskResult // of a task
	Written []string    // names of files that are complete
}

// ask has the process that holds a store do what a request says, with the streams of this process, if it takes the job within a time.
// Its errors are those of holder.Ask.
func (s *streams) ask(ctx context.Context, dir string, within time.Duration, what *request) (*answer, error) {
	return s.askFor(ctx, dir, within, what, s.out, s.confirm)
}

// askFor is ask with another output, and another way to confirm.
func (s *streams) askFor(
	ctx context.Context, dir string, within time.Duration, what *request, out io.Writer, confirm func(context.Context, string) (bool, error),
) (*answer, error) {
	var files []*os.File
	if what.Args != nil {
		if what.passing == nil {
			what.passing = s.pass(ctx)
			what.Files = what.passing.files
		}
		if err := what.passing.begin(); err != nil {
			return nil, err
		}
		files = what.passing.open
	}
	progress := s.progress.report()
	what.Program, what.Progress = s.program, progress != nil
	what.In, what.Out, what.Err = *print.ScreenOf(s.in), *print.ScreenOf(s.out), *print.ScreenOf(s.err)
	what.Messages = s.flags
	told := &barless{Writer: out, bar: s.progress}
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(what); err != nil {
		return nil, err
	}
	result, err := holder.Ask(ctx, dir, within, text.Bytes(), files, holder.Streams{
		Out: told, Err: &barless{Writer: s.err, bar: s.progress}, Progress: progress, Confirm: confirm,
	})
	s.progress.clear()
	again := !what.Writes && told.bytes == 0 && !what.passing.isOnce() // nobody has seen a part of the answer
	if errors.Is(err, holder.ErrGone) && again {
		return nil, fmt.Errorf("%w: %w", holder.ErrNobody, err)
	}
	if err != nil {
		return nil, err
	}
	got := new(answer)
	if err := gob.NewDecoder(bytes.NewReader(result)).Decode(got); err != nil {
		return nil, fmt.Errorf("the answer of the process that holds %s: %w", dir, err)
	}
	if r := got.Result; r != nil && r.Failure != nil && r.Failure.Ended && again {
		return nil, holder.ErrNobody
	}
	return got, what.passing.commit(got.Written)
}

// A barless writer takes a bar off the terminal before it writes.
type barless struct {
	io.Writer
	bar   *progress
	bytes int64 // that were written
}

func (w *barless) Write(p []byte) (int, error) {
	w.bar.clear()
	n, err := w.Writer.Write(p)
	w.bytes += int64(n)
	return n, err
}
