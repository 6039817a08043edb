package prompt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
	"github.com/graphcleaner/graphcleaner/shell/internal/columnar"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// A redirection is the file that answers go to. It replaces the earlier file when .output names another or the session
// ends. It does not if the session ends with an error or every statement failed. An answer that fails half way is taken
// out of it.
type redirection struct {
	*atomic.File
	name     string          // as it was typed
	format   columnar.Format // if the name asks for one
	byName   bool            // it does
	answers  int             // of statements, in the file
	whole    int64           // bytes, those of answers that are complete
	answered bool            // a statement did not fail
	failed   bool            // a statement failed
}

// endings are those of the names of files that .output takes, beside no ending.
var endings = []string{".csv", ".tsv", ".json", ".jsonl", ".md", ".parquet", ".txt"}

// redirect sends answers to a file, or with "" back to where they went at first.
func (s *session) redirect(ctx context.Context, file string) error {
	if err := s.endOutput(false); err != nil || file == "" {
		return err
	}
	info, err := os.Stat(file)
	if err == nil && info.Mode().IsRegular() && s.isReading(info) {
		return fmt.Errorf(".output: %s is being read: want another file", file)
	}
	format, byName := columnar.OfFile(file)
	if !byName && strings.EqualFold(filepath.Ext(file), ".gz") {
		return fmt.Errorf(".output: %s: answers are not packed, want a name without .gz", file)
	}
	if ending := filepath.Ext(file); !byName && ending != "" && !strings.EqualFold(ending, ".txt") {
		return fmt.Errorf(".output: %s: answers have no format %s, want a name that ends with %s", file, ending,
			wording.AnyOf(endings))
	}
	begun, err := atomic.Begin(ctx, file, 0o666) // less what the umask takes away
	if err != nil {
		return fmt.Errorf(".output: %w", err)
	}
	s.output, s.out = &redirection{File: begun, name: file, format: format, byName: byName}, begun.Writer
	return nil
}

// answerFormat is the format of the next answer: the one that the name of the file of .output asks for, or else the
// mode.
func (s *session) answerFormat() (columnar.Format, error) {
	r := s.output
	switch {
	case r == nil || !r.byName:
		return s.format, nil
	case r.format.HoldsOne() && r.answers > 0:
		return 0, fmt.Errorf("%s holds one answer, and has it: want .output and another file first", r.name)
	}
	return r.format, nil
}

// sayWritten tells how many rows went to the file of .output.
func (s *session) sayWritten(rows int64) {
	s.output.answers++
	text := wording.Count(rows, "row", "rows") + " to " + s.output.name
	if s.output.answers > 1 {
		text = wording.Count(rows, "more row", "more rows") + " to " + s.output.name
	} else if s.opt.Interactive && !s.output.InPlace() {
		text += ": .output or the end of the session puts the file into place"
	}
	s.note(text)
}

// replaces reports whether the redirection, nil for none, takes the place of a file.
func (r *redirection) replaces(file fs.FileInfo) bool {
	if r == nil || r.InPlace() {
		return false
	}
	there, err := os.Stat(r.Path())
	return err == nil && os.SameFile(there, file)
}

// endOutput puts the file of .output, if any, into place. Where the session failed, or every statement did, the file
// that was there stays.
func (s *session) endOutput(failed bool) error {
	r := s.output
	if r == nil {
		return nil
	}
	s.output, s.out = nil, s.opt.Out
	if !failed && (r.answered || !r.failed) {
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
	switch {
	case r == nil || errors.Is(err, errQuit):
		return err
	case err != nil:
		r.failed = true
	}
	if r.InPlace() {
		r.answered = r.answered || err == nil
		return err
	}
	if err != nil {
		return errors.Join(err, r.Truncate(r.whole))
	}
	end, err := r.Size()
	r.answered = r.answered || end > r.whole
	r.whole = end
	return err
}
