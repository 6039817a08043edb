package shell

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// An outFile is what a file is written through.
type outFile struct {
	*bufio.Writer
}

// writeFile writes a file through fn and puts it into place when it is complete and on disk, so that a failure leaves
// the file that was there before. A file that was there keeps its permissions, and a link goes on to lead to it. The path
// "-" is standard output; devices and pipes are written to as they are. No file is written into a store.
func writeFile(ctx context.Context, path string, stdout io.Writer, fn func(*outFile) error) error {
	return writeFileOf(ctx, 0o666, path, stdout, fn) // as the umask has it
}

// writeFile is writeFile for a file that a flag names, until the command is interrupted.
func (s *streams) writeFile(path string, fn func(*outFile) error) error {
	return writeFile(s.ctx, path, s.out, fn)
}

// writeFileOf is writeFile for a new file of a mode.
func writeFileOf(ctx context.Context, mode fs.FileMode, path string, stdout io.Writer, fn func(*outFile) error) error {
	if path == "-" {
		return writeTo(stdout, fn)
	}
	o, err := beginOutput(ctx, path, mode)
	if err != nil {
		return err
	}
	if err := writeTo(o.Writer, fn); err != nil {
		return errors.Join(err, o.discard())
	}
	return o.commit()
}

func writeTo(w io.Writer, fn func(*outFile) error) error {
	out := &outFile{bufio.NewWriterSize(w, 256<<10)}
	if err := fn(out); err != nil {
		return err
	}
	return out.Flush()
}

// An output is a file that is being written. It must end with commit or discard.
type output struct {
	io.Writer
	path      string
	file      *os.File
	temporary string // the name of the file until commit; "" of a device or a pipe, which is written to as it is
}

// partialSuffix ends the temporary name of a file, .NAME.RANDOM.partial.
const partialSuffix = ".partial"

// beginOutput begins to write a file, which gets a mode where none was there. Until ctx ends it waits for the reader of a
// named pipe.
func beginOutput(ctx context.Context, path string, mode fs.FileMode) (*output, error) {
	before, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		before = nil
	case err != nil:
		return nil, err
	case before.Mode()&fs.ModeNamedPipe != 0:
		return outputInPlace(ctx, path, stream.OpenPipeToWrite)
	case !before.Mode().IsRegular():
		return outputInPlace(ctx, path, func(_ context.Context, path string) (*os.File, error) {
			return os.OpenFile(path, os.O_WRONLY, 0)
		})
	default:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	}
	if err := checkOutsideStores(path); err != nil {
		return nil, err
	}
	return newOutput(path, before, mode)
}

// checkOutsideStores refuses a file in a store, which takes one that it does not know for damage, or for what a crash left
// behind.
func checkOutsideStores(path string) error {
	if linked, err := filepath.EvalSymlinks(path); err == nil {
		path = linked
	}
	store, err := kv.StoreAround(path)
	if err == nil && store != "" {
		return fmt.Errorf("%s: the directory is a store, want the file elsewhere", path)
	}
	return err
}

// outputInPlace opens a device or a pipe, which no file can be renamed over.
func outputInPlace(
	ctx context.Context, path string, open func(context.Context, string) (*os.File, error),
) (*output, error) {
	f, err := open(ctx, path)
	if err != nil {
		return nil, err
	}
	return &output{Writer: stream.NewWriter(ctx, f), path: path, file: f}, nil
}

// newOutput makes the temporary file of an output, which it locks. The file that is there is described by before, nil
// where there is none.
func newOutput(path string, before fs.FileInfo, mode fs.FileMode) (*output, error) {
	dir, name := filepath.Split(path)
	err := removePartial(filepath.Clean(dir), "."+name+".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no directory %s: %w", path, filepath.Dir(path), fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	temporary := filepath.Join(dir, "."+name+"."+rand.Text()+partialSuffix)
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, &fs.PathError{Op: failed.Op, Path: path, Err: failed.Err}
	}
	if err != nil {
		return nil, err
	}
	o := &output{Writer: f, path: path, file: f, temporary: temporary}
	err = lock(f)
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	if err == nil && before != nil {
		err = f.Chmod(before.Mode().Perm())
	}
	if err != nil {
		return nil, errors.Join(err, o.discard())
	}
	return o, nil
}

// commit puts the file into place, complete and on disk.
func (o *output) commit() error {
	if o.temporary == "" {
		return o.file.Close()
	}
	// Closed before the rename, which not every system does with open files.
	err := errors.Join(o.file.Sync(), o.file.Close())
	if err == nil {
		err = os.Rename(o.temporary, o.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(o.temporary))
	}
	return durable.SyncDirectory(filepath.Dir(o.path))
}

// discard leaves the file that was there, if any.
func (o *output) discard() error {
	err := o.file.Close()
	if o.temporary != "" {
		err = errors.Join(err, os.Remove(o.temporary))
	}
	return err
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
