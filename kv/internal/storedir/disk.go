package storedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A Disk is a directory, held open, so that its files can be opened also if it has another path by now. The zero Disk
// is none.
type Disk struct {
	root *os.Root
	info fs.FileInfo
}

// OpenDisk opens the directory, which is to be closed.
func OpenDisk(dir string) (Disk, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Disk{}, err
	}
	info, err := root.Stat(".")
	if err != nil {
		return Disk{}, errors.Join(err, root.Close())
	}
	return Disk{root, info}, nil
}

// CheckPlace returns an ErrMoved if the path of the directory leads to another one by now, or nowhere.
func (d Disk) CheckPlace() error {
	if d.root == nil {
		return nil
	}
	now, err := os.Stat(d.root.Name())
	if err == nil && os.SameFile(d.info, now) {
		return nil
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = ErrMoved
	}
	return fmt.Errorf("%s: %w", d.root.Name(), err)
}

// Remove removes a file of the directory, wherever that is by now; by its path if the directory was not opened.
func (d Disk) Remove(path string) error {
	if d.root == nil {
		return os.Remove(path)
	}
	return d.root.Remove(filepath.Base(path))
}

// Open opens a file of the directory to read it.
func (d Disk) Open(path string) (*os.File, error) {
	f, err := d.root.Open(filepath.Base(path))
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		failed.Path = path
	}
	return f, err
}

// Close gives the directory back, if it was opened.
func (d Disk) Close() error {
	if d.root == nil {
		return nil
	}
	return d.root.Close()
}
