package storedir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/graphcleaner/graphcleaner/internal/durable"
)

// FilesNamed are the paths of the files in a directory whose names begin and end so, in order; none if there is no
// directory.
func FilesNamed(dir, prefix, suffix string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths, err
}

// checkFileTypes returns an ErrForeignFile unless a store has only files, directories and the socket of its holder. The
// store may come from somebody else. To open a link in it for writing would change a file of whoever opens the store,
// and to open a named pipe would wait for ever. Of a store that is not only read, no file may have a second name
// either: Badger cuts even a table to no bytes before it removes it. Whoever can write to the directory at the same
// time is not kept from making such a file afterwards. The error names the directory as its user does.
func checkFileTypes(path, dir string, reading bool) error {
	return walk(path, func(name string, entry fs.DirEntry) error {
		what := "a device"
		switch kind := entry.Type(); kind {
		case 0:
			if reading {
				return nil
			}
			info, err := entry.Info()
			if err != nil || links(info) < 2 {
				return err
			}
			return fmt.Errorf("%s%c%s: %w: it has %d names (hard links), and a write would change the file under all of them: "+
				"copy the directory with cp -a, and use the copy", dir, filepath.Separator, name, ErrForeignFile, links(info))
		case fs.ModeDir, fs.ModeSocket:
			return nil
		case fs.ModeSymlink:
			what = "a symbolic link"
		case fs.ModeNamedPipe:
			what = "a named pipe"
		}
		return fmt.Errorf("%s%c%s: %w: it is %s, want a regular file or a directory", dir, filepath.Separator, name,
			ErrForeignFile, what)
	})
}

// walk calls use with what is in a directory, and below, and with its name relative to the directory. What is not there
// by now, or cannot be reached, is passed over.
func walk(dir string, use func(name string, entry fs.DirEntry) error) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if path == dir {
			return err
		}
		name, relative := filepath.Rel(dir, path)
		if err = cmp.Or(err, relative); err == nil {
			err = use(name, entry)
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
		return err
	})
}

// Names of directories in that of a store that are no part of it.
const (
	WorkName   = "work"   // the finished stages of long jobs
	HolderName = "holder" // where the process that has the store open answers others
)

// ReplaceFile puts a text in the place of a file, at once and durably.
func ReplaceFile(path string, text []byte) error {
	return WrapFull(durable.ReplaceFile(path, filepath.Join(filepath.Dir(path), DraftName), text))
}

// DraftName is the name of a file that is to replace another. In a store, the next open removes it.
const DraftName = "spill-replace.tmp"

// A Mark tells a file from one that was put in its place, or written to, since. Its mode or its links may have changed.
type Mark struct {
	Size     int64
	Modified int64  // when it was written to, in nanoseconds since 1970
	Number   uint64 // of the file in its file system, 0 if the system does not say
}

// MarkOf is the mark of a file.
func MarkOf(info fs.FileInfo) Mark { return Mark{info.Size(), info.ModTime().UnixNano(), number(info)} }

// WrapFull is ErrNoSpace for an error of the system that the disk is full; any other stays as it is.
func WrapFull(err error) error {
	if err != nil && strings.Contains(err.Error(), syscall.ENOSPC.Error()) { // not everybody wraps it
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}
