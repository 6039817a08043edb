package storedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Mode is that of the directory of a store. A store is its owner's alone: its directory is made so that nobody else can
// read it. Who wants to share it changes the mode of the directory. The files in it follow: they have its mode, except
// the bits to execute, whatever the umask was and whatever mode Badger gave them, from when the store is next opened
// for writing or closed.
const Mode fs.FileMode = 0o700

// FileMode is the mode of the files in a directory of a mode.
func FileMode(dir fs.FileMode) fs.FileMode { return dir & 0o666 }

// Make makes the directory of a store if it is not there, and those above it as the umask has them.
func Make(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return err
	}
	if err := os.Mkdir(dir, Mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// AlignModes gives what is in the directory of a store the mode that follows from the directory's. What belongs to
// another user stays as it is: only its owner may change it.
func AlignModes(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	return walk(dir, func(name string, entry fs.DirEntry) error {
		want := FileMode(mode)
		switch {
		case entry.IsDir():
			want = mode
		case !entry.Type().IsRegular():
			return nil
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm() != want {
			err = os.Chmod(filepath.Join(dir, name), info.Mode()&^fs.ModePerm|want)
		}
		return err
	})
}
