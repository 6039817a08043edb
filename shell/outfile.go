package shell

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// An outFile is a file being written under a temporary name.
type outFile struct {
	*bufio.Writer
}

// writeFile writes a file through fn and renames it into place when it is complete and on disk, so that a failure leaves
// what was there before. A file that was there keeps its permissions, and a link goes on to lead to it. The path "-" is
// standard output; devices and pipes are written to as they are.
func writeFile(path string, stdout io.Writer, fn func(*outFile) error) error {
	return writeFileOf(0o666, path, stdout, fn) // as the umask has it
}

// writeFileOf is writeFile for a new file of a mode.
func writeFileOf(mode fs.FileMode, path string, stdout io.Writer, fn func(*outFile) error) error {
	if path == "-" {
		return writeTo(stdout, fn)
	}
	// A store takes a file that it does not know for damage, or for what a crash left behind.
	if kv.IsStore(filepath.Dir(path)) {
		return fmt.Errorf("%s: the directory is a store, want the file elsewhere", path)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return replaceFile(path, nil, mode, fn)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return writeInPlace(path, fn)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	return replaceFile(path, info, mode, fn)
}

func writeTo(w io.Writer, fn func(*outFile) error) error {
	out := &outFile{bufio.NewWriterSize(w, 256<<10)}
	if err := fn(out); err != nil {
		return err
	}
	return out.Flush()
}

// partialSuffix ends the temporary name of a file, .NAME.RANDOM.partial.
const partialSuffix = ".partial"

// replaceFile writes a file under a temporary name and renames it over the one that was there, described by before; nil
// where none was.
func replaceFile(path string, before fs.FileInfo, mode fs.FileMode, fn func(*outFile) error) error {
	dir, name := filepath.Split(path)
	err := removePartial(filepath.Clean(dir), "."+name+".")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no directory %s: %w", path, filepath.Dir(path), fs.ErrNotExist)
	}
	if err != nil {
		return err
	}
	temporary := filepath.Join(dir, "."+name+"."+rand.Text()+partialSuffix)
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: failed.Op, Path: path, Err: failed.Err}
	}
	if err != nil {
		return err
	}
	// Closed before the rename, which not every system does with open files.
	err = errors.Join(fillFile(f, before, fn), f.Close())
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return syncDirectory(filepath.Dir(path))
}

// fillFile writes a temporary file, which it locks, through fn to the disk.
func fillFile(f *os.File, before fs.FileInfo, fn func(*outFile) error) error {
	if err := lock(f); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if before != nil {
		if err := f.Chmod(before.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := writeTo(f, fn); err != nil {
		return err
	}
	return f.Sync()
}

// removePartial removes the temporary files, whose names begin alike, of processes that were killed.
func removePartial(dir, prefix string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // a directory may be one to write to and not to list
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), prefix) || !strings.HasSuffix(entry.Name(), partialSuffix) {
			continue
		}
		name := filepath.Join(dir, entry.Name())
		f, err := openLocked(name)
		switch {
		case isInUse(err) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
			continue
		case err != nil:
			return err
		}
		if err := errors.Join(os.Remove(name), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// writeInPlace writes to what no file can be renamed over, such as /dev/null or a pipe.
func writeInPlace(path string, fn func(*outFile) error) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return writeTo(f, fn)
}

// checkPlace says, before hours of work, that there is no place for the file of a flag.
func checkPlace(flag, path string) error {
	if path == "" || path == "-" {
		return nil
	}
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("%s %s: %w", flag, path, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s %s: %s is no directory: %w", flag, path, dir, fs.ErrInvalid)
	}
	return nil
}
