package shell

import (
	"bufio"
	"io/fs"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
)

// fileValues are the flags and arguments that name files. They have the tag file:"read" or file:"write".
func fileValues(arguments *kong.Context) (values []*kong.Value) {
	all := slices.Clone(arguments.Selected().Positional)
	for _, flag := range arguments.Flags() {
		all = append(all, flag.Value)
	}
	for _, value := range all {
		if value.Tag.Get("file") != "" {
			values = append(values, value)
		}
	}
	return values
}

// pathsOf are the paths that a flag or an argument names.
func pathsOf(value *kong.Value) (paths []string) {
	if given, several := value.Target.Interface().([]string); several {
		return given
	}
	paths = []string{value.Target.String()}
	if path, ok := strings.CutPrefix(paths[0], "file:"); ok { // of --noise
		paths = append(paths, path)
	}
	return paths
}

// newFileMode is the mode of a new file, less the bits of the umask.
const newFileMode = 0o666

// privateMode is that of a new file with the tag private, such as a backup: its owner's alone, as the store is.
const privateMode = 0o600

// writeFile writes a file that a flag names, until the command is interrupted. The file "-" is standard output.
func (s *streams) writeFile(path string, fn func(*bufio.Writer) error) error {
	return s.writeFileOf(newFileMode, path, fn)
}

// writeFileOf is writeFile for a new file of a mode.
func (s *streams) writeFileOf(mode fs.FileMode, path string, fn func(*bufio.Writer) error) error {
	if path == "-" {
		return atomic.WriteThrough(s.out, fn)
	}
	return atomic.WriteFile(s.ctx, path, mode, fn)
}
