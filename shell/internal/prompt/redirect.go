package prompt

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
	"github.com/graphcleaner/graphcleaner/shell/print"
)

// A redirection is the file that answers go to. It replaces the earlier file when .output names another or the session
// ends, but not if the session ends with an error. An answer that fails half way is taken out of it.
type redirection struct {
	*atomic.File
	name  string       // as it was typed
	whole int64        // bytes, those of answers that are complete
	mode  print.Format // of answers before it
}

// redirect sends answers to a file, in the format that its name asks for, or with "" back to where they went at first.
func (s *session) redirect(ctx context.Context, file string) error {
	if err := s.endOutput(false); err != nil || file == "" {
		return err
	}
	format, named := print.OfFile(file)
	if named && format == print.FormatParquet && s.format != format {
		return fmt.Errorf(".output %s: a Parquet file holds one answer: use shell -c with --format parquet", file)
	}
	begun, err := atomic.Begin(ctx, file, 0o666) // less the bits of the umask
	if err != nil {
		return fmt.Errorf(".output: %w", err)
	}
	s.output, s.out = &redirection{File: begun, name: file, mode: s.format}, begun.Writer
	if named {
		s.format = format
	}
	return nil
}

// endOutput puts the file of .output, if any, into place. Where the session failed, the file that was there stays.
func (s *session) endOutput(failed bool) error {
	r := s.output
	if r == nil {
		return nil
	}
	s.output, s.out, s.format = nil, s.opt.Out, r.mode
	if !failed {
		return r.Commit()
	}
	if !r.InPlace() {
		s.say(fmt.Sprintf("%s was not written", r.Path()))
	}
	return r.Discard()
}

// settle keeps what a statement wrote to the file of .output, or takes it out again where the statement failed with
// err, which it returns.
func (s *session) settle(err error) error {
	r := s.output
	if r == nil || r.InPlace() || errors.Is(err, errQuit) {
		return err
	}
	if err != nil {
		return errors.Join(err, r.Truncate(r.whole))
	}
	r.whole, err = r.Size()
	return err
}
