//go:build linux && (amd64 || arm64)

package faults

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A disk has the files under a directory as a power failure leaves them: the bytes of a file as they were when it was
// last synced, under the names that directories had when they were last synced. The name of a new file is durable once
// the file is, as on the usual file systems.
type disk struct {
	root  string
	files map[uint64]image             // by inode
	names map[uint64]map[string]uint64 // of directories, by inode: the inodes of their entries
}

// An image is the content of a file: the parts that are not zero, by their places.
type image struct {
	mode  fs.FileMode
	size  int64
	parts map[int64][]byte
}

// newDisk holds what is under root now.
func newDisk(root string) (*disk, error) {
	d := &disk{root: root, files: map[uint64]image{}, names: map[uint64]map[string]uint64{}}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return d.sync(path)
	})
	return d, err
}

// sync has the file or directory at a path be durable as it is.
func (d *disk) sync(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a file that has no name any more
	}
	if err != nil {
		return err
	}
	inode := inodeOf(info)
	switch {
	case info.IsDir():
		if d.names[inode], err = d.namesIn(path); err != nil {
			return err
		}
	case info.Mode().IsRegular():
		_, known := d.files[inode]
		if d.files[inode], err = readImage(path, info); err != nil {
			return err
		}
		if !known {
			return d.enter(path, inode)
		}
	}
	return nil
}

// enter gives a new file its name, and the directories on the way to it theirs.
func (d *disk) enter(path string, inode uint64) error {
	for path != d.root {
		parent := filepath.Dir(path)
		info, err := os.Lstat(parent)
		if err != nil {
			return err
		}
		within := inodeOf(info)
		if d.names[within] == nil {
			d.names[within] = map[string]uint64{}
		}
		d.names[within][filepath.Base(path)] = inode
		path, inode = parent, within
	}
	return nil
}

// syncMapping has the file be durable that a process has mapped at an address.
func (d *disk) syncMapping(pid uint32, address uint64) error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var from, to uint64
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x", &from, &to); err != nil || address < from || address >= to {
			continue
		}
		if i := strings.IndexByte(lines.Text(), '/'); i >= 0 && strings.HasPrefix(lines.Text()[i:], d.root+"/") {
			return d.sync(lines.Text()[i:])
		}
	}
	return nil
}

// cut replaces what is under the root by what is durable. With a torn, each page and each name that is not durable is
// the old or the new one, by chance.
func (d *disk) cut(torn *rand.Rand) error {
	if torn != nil {
		if err := d.tear(torn); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(d.root)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(d.root, entry.Name())); err != nil {
			return err
		}
	}
	info, err := os.Lstat(d.root)
	if err != nil {
		return err
	}
	return d.write(d.root, inodeOf(info))
}

// tear makes some bytes and names durable that are not.
func (d *disk) tear(torn *rand.Rand) error {
	var paths []string
	there := map[uint64]bool{} // what has a name as the power fails, by inode
	err := filepath.WalkDir(d.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			paths, there[inodeOf(info)] = append(paths, path), true
		}
		return err
	})
	for _, path := range paths {
		if err != nil {
			return err
		}
		var info fs.FileInfo
		if info, err = os.Lstat(path); err == nil && info.IsDir() {
			err = d.tearNames(path, inodeOf(info), there, torn)
		} else if err == nil {
			err = d.tearFile(path, info, torn)
		}
	}
	return err
}

// tearNames tears a directory. What was renamed keeps one name at least.
func (d *disk) tearNames(path string, inode uint64, there map[uint64]bool, torn *rand.Rand) error {
	now, err := d.namesIn(path)
	if err != nil {
		return err
	}
	durable := d.names[inode]
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if durable[name] != now[name] && torn.IntN(2) == 0 {
			maps.DeleteFunc(durable, func(_ string, of uint64) bool { return of == now[name] }) // it was renamed
			durable[name] = now[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(durable)) {
		if now[name] == 0 && !there[durable[name]] && torn.IntN(2) == 0 {
			delete(durable, name)
		}
	}
	return nil
}

// tearFile tears the pages of a file.
func (d *disk) tearFile(path string, info fs.FileInfo, torn *rand.Rand) error {
	now, err := readImage(path, info)
	if err != nil {
		return err
	}
	durable, known := d.files[inodeOf(info)]
	if !known {
		durable = image{mode: now.mode, parts: map[int64][]byte{}}
	}
	if torn.IntN(2) == 0 {
		durable.size = now.size
	}
	durable.parts = maps.Clone(durable.parts)
	for _, at := range slices.Sorted(maps.Keys(now.parts)) {
		if at < durable.size && !bytes.Equal(now.parts[at], durable.parts[at]) && torn.IntN(2) == 0 {
			durable.parts[at] = now.parts[at]
		}
	}
	d.files[inodeOf(info)] = durable
	return nil
}

// write writes the durable part of a directory.
func (d *disk) write(path string, inode uint64) error {
	for name, of := range d.names[inode] {
		path := filepath.Join(path, name)
		if _, directory := d.names[of]; directory {
			if err := errors.Join(os.Mkdir(path, 0o755), d.write(path, of)); err != nil {
				return err
			}
			continue
		}
		if err := d.files[of].write(path); err != nil { // of a file that was never synced nothing
			return err
		}
	}
	return nil
}

func (i image) write(path string) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if i.mode != 0 {
		err = f.Chmod(i.mode)
	}
	for at, part := range i.parts {
		if end := min(i.size, at+int64(len(part))); end > at {
			_, writing := f.WriteAt(part[:end-at], at)
			err = errors.Join(err, writing)
		}
	}
	return errors.Join(err, f.Truncate(i.size))
}

const pageSize = 4096

// readImage reads the pages of a file that are not holes.
func readImage(path string, info fs.FileInfo) (i image, err error) {
	f, err := os.Open(path)
	if err != nil {
		return i, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	i = image{info.Mode().Perm(), info.Size(), map[int64][]byte{}}
	for at := int64(0); at < i.size; {
		if at, err = unix.Seek(int(f.Fd()), at, unix.SEEK_DATA); errors.Is(err, unix.ENXIO) {
			return i, nil
		}
		if err != nil {
			return i, err
		}
		at -= at % pageSize
		page := make([]byte, pageSize)
		n, err := f.ReadAt(page, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return i, err
		}
		if len(bytes.Trim(page[:n], "\x00")) > 0 {
			i.parts[at] = page[:n]
		}
		at += pageSize
	}
	return i, nil
}

func inodeOf(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

// namesIn are the inodes of the entries of a directory that are files or directories. Directories are then known as
// such.
func (d *disk) namesIn(path string) (map[string]uint64, error) {
	entries, err := os.ReadDir(path)
	names := map[string]uint64{}
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if info.IsDir() || info.Mode().IsRegular() {
			names[entry.Name()] = inodeOf(info)
		}
		if info.IsDir() && d.names[inodeOf(info)] == nil {
			d.names[inodeOf(info)] = map[string]uint64{}
		}
	}
	return names, err
}
