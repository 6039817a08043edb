package quarantine

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A file is one of a store.
type file struct {
	Name     string      `json:"name"` // relative to the directory of the store, with slashes
	Size     int64       `json:"size"`
	Checksum uint32      `json:"crc32c"`
	Mode     fs.FileMode `json:"mode"`
}

// createPrivate makes a file that is its owner's alone.
func createPrivate(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

// copyFile copies a file, and leaves out blocks of zeros where the file has them: logs are mostly that.
func copyFile(from, to string) (f file, err error) {
	if err := os.MkdirAll(filepath.Dir(to), storedir.Mode); err != nil {
		return f, err
	}
	source, err := os.Open(from)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	info, err := source.Stat()
	if err != nil {
		return f, err
	}
	target, err := createPrivate(to)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	f.Mode = info.Mode().Perm()
	buf := make([]byte, 256<<10)
	for {
		n, err := io.ReadFull(source, buf)
		if n > 0 {
			f.Checksum = crc32c.Update(f.Checksum, buf[:n])
			if len(bytes.TrimLeft(buf[:n], "\x00")) > 0 {
				if _, err := target.WriteAt(buf[:n], f.Size); err != nil {
					return f, err
				}
			}
			f.Size += int64(n)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return f, err
		}
	}
	return f, target.Truncate(f.Size)
}

// describeFiles reads the files of a store, and makes them durable if sync says so.
func describeFiles(dir string, sync bool) (files []file, err error) {
	names, err := storedir.Files(dir)
	if err != nil {
		return nil, err
	}
	directories := map[string]bool{}
	for _, name := range names {
		f, err := describeFile(filepath.Join(dir, name), sync)
		if err != nil {
			return nil, err
		}
		f.Name = name
		files = append(files, f)
		directories[filepath.Dir(filepath.Join(dir, name))] = true
	}
	for path := range directories {
		if sync {
			if err := durable.SyncDirectory(path); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

func describeFile(path string, sync bool) (f file, err error) {
	how := os.O_RDONLY
	if sync {
		how = os.O_RDWR // which Windows wants for it
	}
	source, err := os.OpenFile(path, how, 0)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	info, err := source.Stat()
	if err != nil {
		return f, err
	}
	sum := crc32c.New()
	if f.Size, err = io.Copy(sum, source); err != nil {
		return f, err
	}
	f.Checksum, f.Mode = sum.Sum32(), info.Mode().Perm()
	if sync {
		err = source.Sync()
	}
	return f, err
}

// byName has files by name, without modes and the mark of the process that writes.
func byName(files []file) map[string]file {
	names := map[string]file{}
	for _, f := range files {
		if f.Mode = 0; f.Name != storedir.LockFile {
			names[f.Name] = f
		}
	}
	return names
}

// An inventory describes a repair that is complete.
type inventory struct {
	Version uint64 `json:"version"` // of the last commit of the repaired store
	Before  []file `json:"before"`
	After   []file `json:"after"`
}

func readInventory(store string, number int) (i inventory, err error) {
	path := filepath.Join(pathOf(store, number), repairName)
	text, err := os.ReadFile(path)
	if err != nil {
		return i, err
	}
	if err := json.Unmarshal(text, &i); err != nil {
		return i, record.CorruptFile(path, "%v", err)
	}
	for _, f := range slices.Concat(i.Before, i.After) {
		if !filepath.IsLocal(f.Name) { // the file may come from anybody
			return i, record.CorruptFile(path, "it names %q, which is no file of a store", f.Name)
		}
	}
	return i, nil
}

func (i inventory) write(store string, number int) error {
	text, err := json.Marshal(i)
	if err != nil {
		return err
	}
	return storedir.ReplaceFile(filepath.Join(pathOf(store, number), repairName), text)
}
