package shell

import (
	"bufio"
	"context"
	"io/fs"

	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
)

// newFileMode is the mode of a new file, less what the umask takes away.
const newFileMode = 0o666

// privateMode is that of a new file with the tag private, such as a backup: its owner's alone, as the store is.
const privateMode = 0o600

// writeFile writes a file that a flag names, until the command is interrupted. The file "-" is standard output.
func (s *streams) writeFile(path string, fn func(*bufio.Writer) error) error {
	return s.writeFileOf(newFileMode, path, fn)
}

// writeNote is writeFile for what nobody misses after a power cut.
func (s *streams) writeNote(path string, fn func(*bufio.Writer) error) error {
	return s.writeBy(atomic.WriteNote, newFileMode, path, fn)
}

// writeFileOf is writeFile for a new file of a mode.
func (s *streams) writeFileOf(mode fs.FileMode, path string, fn func(*bufio.Writer) error) error {
	return s.writeBy(atomic.WriteFile, mode, path, fn)
}

// writeBy writes a file by one of the ways of atomic, or to standard output.
func (s *streams) writeBy(
	write func(context.Context, string, fs.FileMode, func(*bufio.Writer) error) error, mode fs.FileMode, path string, fn func(*bufio.Writer) error,
) error {
	if path == "-" {
		return atomic.WriteThrough(s.out, fn)
	}
	return write(s.ctx, path, mode, fn)
}
