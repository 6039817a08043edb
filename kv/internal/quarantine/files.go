package quarantine

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// createPrivate makes a file that is its owner's alone.
func createPrivate(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

// copyFile copies a file of so many bytes, and leaves out blocks of zeros where the file has them: logs are mostly that.
func copyFile(from, to string) (size int64, err error) {
	if err := os.MkdirAll(filepath.Dir(to), storedir.Mode); err != nil {
		return 0, err
	}
	source, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := createPrivate(to)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	buf := make([]byte, 256<<10)
	for {
		n, err := io.ReadFull(source, buf)
		if len(bytes.TrimLeft(buf[:n], "\x00")) > 0 {
			if _, err := target.WriteAt(buf[:n], size); err != nil {
				return size, err
			}
		}
		size += int64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return size, target.Truncate(size)
		}
		if err != nil {
			return size, err
		}
	}
}

// syncFiles makes the files of a store durable.
func syncFiles(dir string) error {
	names, err := storedir.Files(dir)
	directories := map[string]bool{}
	for _, name := range names {
		path := filepath.Join(dir, name)
		err = errors.Join(err, syncFile(path))
		directories[filepath.Dir(path)] = true
	}
	for path := range directories {
		err = errors.Join(err, durable.SyncDirectory(path))
	}
	return err
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0) // Windows syncs no file that is open to read alone
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
