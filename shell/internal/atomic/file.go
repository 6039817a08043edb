// Package atomic writes a file, or puts a new store in place of an old one. At every moment the old or the new is
// there, and whole. It knows nothing of their contents.
package atomic

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
	"time"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/internal/realpath"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// bufferBytes is how much is held before it is written.
const bufferBytes = 256 << 10

// WriteFile writes a file through fn, and puts it into place when it is complete and on disk. A failure leaves the file
// that was there before. A new file gets a mode, a file that was there keeps its own, and a link goes on to lead to it.
// Devices and pipes are written to as they are. No file is written into a store.
func WriteFile(ctx context.Context, path string, mode fs.FileMode, fn func(*bufio.Writer) error) error {
	o, err := Begin(ctx, path, mode)
	if err != nil {
		return err
	}
	if err := WriteThrough(o.Writer, fn); err != nil {
		return errors.Join(err, o.Discard())
	}
	return o.Commit()
}

// WriteThrough writes to a stream through fn and a buffer.
func WriteThrough(w io.Writer, fn func(*bufio.Writer) error) error {
	out := bufio.NewWriterSize(w, bufferBytes)
	if err := fn(out); err != nil {
		return err
	}
	return out.Flush()
}

// A File is a file that is being written. It must end with Commit or Discard.
type File struct {
	io.Writer
	path      string // as it was given
	target    string // where it goes, of a file with a temporary name
	file      *os.File
	temporary string // the name of the file until commit; "" of a device or a pipe, which is written to as it is
	done      func() // tells who has begun the file, and puts it into place, that it is complete; nil: that is done here
}

// partialSuffix ends the temporary name of a file, .NAME.RANDOM.graphcleaner-partial.
const partialSuffix = ".graphcleaner-partial"

// Begin begins to write a file. A new file gets a mode. Until ctx ends it waits for the reader of a named pipe.
func Begin(ctx context.Context, path string, mode fs.FileMode) (*File, error) {
	begun, done, err := stream.Begun(ctx, path)
	if err != nil {
		return nil, err
	}
	if begun != nil {
		return &File{Writer: stream.NewWriter(ctx, begun), path: path, file: begun, done: done}, nil
	}
	before, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		before = nil
	case err != nil:
		return nil, err
	case !before.Mode().IsRegular(): // no file can be renamed over it
		f, err := stream.OpenToWrite(ctx, path)
		if err != nil {
			return nil, err
		}
		return &File{Writer: stream.NewWriter(ctx, f), path: path, file: f}, nil
	}
	if err := CheckOutsideStores(path); err != nil {
		return nil, err
	}
	return newOutput(path, before, mode)
}

// CheckOutsideStores refuses a file in a store. A store takes a file that it does not know for damage.
func CheckOutsideStores(path string) error {
	store, err := kv.StoreAround(path)
	if err == nil && store != "" {
		return fmt.Errorf("%s: the directory is a store, want the file elsewhere", path)
	}
	return err
}

// newOutput makes the temporary file of an output, which it locks. The file that is there is described by before, nil
// where there is none.
func newOutput(path string, before fs.FileInfo, mode fs.FileMode) (*File, error) {
	target, err := realpath.Of(path)
	if err != nil {
		return nil, err
	}
	dir, name := filepath.Split(target)
	err = removePartial(dir, "."+name+".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no directory %s: %w", path, filepath.Dir(path), fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	temporary := dir + "." + name + "." + rand.Text() + partialSuffix
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, &fs.PathError{Op: failed.Op, Path: path, Err: failed.Err}
	}
	if err != nil {
		return nil, err
	}
	o := &File{Writer: f, path: path, target: target, file: f, temporary: temporary}
	err = lock(f)
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	if err == nil && before != nil {
		err = f.Chmod(before.Mode().Perm())
	}
	if err != nil {
		return nil, errors.Join(err, o.Discard())
	}
	return o, nil
}

// Commit puts the file into place, complete and on disk.
func (o *File) Commit() error {
	if o.temporary == "" {
		return o.place()
	}
	if err := o.file.Sync(); err != nil {
		return errors.Join(err, o.Discard())
	}
	if err := o.place(); err != nil {
		return err
	}
	return durable.SyncDirectory(filepath.Dir(o.target))
}

// place puts the file into place, complete.
func (o *File) place() error {
	if o.done != nil {
		o.done()
		return nil
	}
	// Closed before the rename, which not every system does with open files.
	err := o.file.Close()
	if o.temporary == "" {
		return err
	}
	if err == nil {
		err = os.Rename(o.temporary, o.target)
	}
	if err != nil {
		return errors.Join(err, os.Remove(o.temporary))
	}
	return nil
}

// Open is the file as it is open.
func (o *File) Open() *os.File { return o.file }

// Path says where the file lies when it is complete.
func (o *File) Path() string { return o.path }

// InPlace reports whether the file is a device or a pipe, which is written to as it is.
func (o *File) InPlace() bool { return o.temporary == "" }

// Discard leaves the file that was there before, if any.
func (o *File) Discard() error {
	if o.done != nil {
		return nil // who has begun it does so
	}
	err := o.file.Close()
	if o.temporary != "" {
		err = errors.Join(err, os.Remove(o.temporary))
	}
	return err
}

// removePartial removes temporary files in a directory of processes that were killed: those whose names begin alike,
// and old ones, which nobody is about to lock.
func removePartial(dir, prefix string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // a directory may be one to write to and not to list
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), partialSuffix) {
			continue
		}
		info, err := entry.Info()
		isOld := err == nil && time.Since(info.ModTime()) > time.Hour
		if !isOld && !strings.HasPrefix(entry.Name(), prefix) {
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
