package shell

import (
	"bufio"
	"io/fs"

	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
)

// newFileMode is the mode of a new file, less what the umask takes away.
const newFileMode = 0o666

// writeFile writes a file that a flag names, until the command is interrupted. The file "-" is standard output.
func (s *streams) writeFile(path string, fn func(*bufio.Writer) error) error {
	return s.writeFileOf(newFileMode, path, fn)
}

// writeNote is writeFile for what nobody misses after a power cut.
func (s *streams) writeNote(path string, fn func(*bufio.Writer) error) error {
	if path == "-" {
		return atomic.WriteThrough(s.out, fn)
	}
	return atomic.WriteNote(s.ctx, path, newFileMode, fn)
}

// writeFileOf is writeFile for a new file of a mode.
func (s *streams) writeFileOf(mode fs.FileMode, path string, fn func(*bufio.Writer) error) error {
	if path == "-" {
		return atomic.WriteThrough(s.out, fn)
	}
	return atomic.WriteFile(s.ctx, path, mode, fn)
}
