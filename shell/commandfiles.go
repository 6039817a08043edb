package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/graphcleaner/graphcleaner/internal/realpath"
	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
)

// checkFiles says, before anything is read, that there is no place for a file that a command writes. A flag or argument
// that names a file has the tag file:"read" or file:"write".
func checkFiles(arguments *kong.Context) error {
	for _, value := range fileValues(arguments) {
		flag := value.Name
		if value.Flag != nil {
			flag = "--" + flag
		}
		for _, path := range pathsOf(value) {
			if path != "" && path != "-" && value.Tag.Get("file") == "write" {
				if err := checkPlace(flag, path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// fileValues are the flags and arguments that name files.
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

// checkPlace says, before hours of work, that there is no place for the file of a flag, or that it would lie in a
// store.
func checkPlace(flag, path string) error {
	place, err := realpath.Of(path)
	if err != nil {
		return fmt.Errorf("%s %s: %w", flag, path, err)
	}
	dir := filepath.Dir(path) // for messages
	info, err := os.Stat(filepath.Dir(place))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s %s: there is no directory %s: %w", flag, path, dir, fs.ErrNotExist)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", flag, path, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s %s: %s is no directory: %w", flag, path, dir, fs.ErrInvalid)
	}
	if err := atomic.CheckOutsideStores(path); err != nil {
		return fmt.Errorf("%s %w", flag, err)
	}
	return nil
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
