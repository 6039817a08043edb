// Package realpath finds the one path of a file or directory, however it is named.
package realpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Of returns the absolute path of what a path leads to, without links, "." and "..". The system follows a link before
// it goes up by a ".." after it, and so does Of; filepath.Abs, Clean and Join do not. The last elements of the path
// need not exist.
func Of(path string) (string, error) {
	if runtime.GOOS == "windows" { // where the system itself goes up first
		var err error
		if path, err = filepath.Abs(path); err != nil {
			return "", err
		}
	}
	if !filepath.IsAbs(path) {
		here, err := os.Getwd()
		if err != nil {
			return "", err
		}
		path = here + separator + path
	}
	real, missing := filepath.EvalSymlinks(path)
	if !errors.Is(missing, fs.ErrNotExist) {
		return real, missing
	}
	parent, name := filepath.Split(strings.TrimRight(path, separator))
	if name == ".." {
		return "", missing
	}
	parent, err := Of(parent)
	if err != nil {
		return "", err
	}
	path = filepath.Join(parent, name)
	target, err := os.Readlink(path)
	if err != nil {
		return path, nil //nolint:nilerr // it is no link
	}
	if !filepath.IsAbs(target) {
		target = parent + separator + target
	}
	return Of(target)
}

const separator = string(filepath.Separator)
