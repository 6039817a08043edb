package shell

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// An outFile is a file being written under a temporary name.
type outFile struct {
	*bufio.Writer
}

// writeFile writes a file through fn and renames it into place when it is complete, so that a failure leaves what was
// there before. The path "-" is standard output.
func writeFile(path string, stdout io.Writer, fn func(*outFile) error) (err error) {
	if path == "-" {
		out := &outFile{bufio.NewWriterSize(stdout, 64<<10)}
		if err := fn(out); err != nil {
			return err
		}
		return out.Flush()
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return writeInPlace(path, fn)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	out := &outFile{bufio.NewWriterSize(f, 256<<10)}
	err = fn(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// writeInPlace writes to what no file can be renamed over, such as /dev/null or a pipe.
func writeInPlace(path string, fn func(*outFile) error) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := &outFile{bufio.NewWriter(f)}
	if err := fn(out); err != nil {
		return err
	}
	return out.Flush()
}
