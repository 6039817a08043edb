package kv

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// An inventory is what is known of a repair that is complete.
type inventory struct {
	Version uint64     `json:"version"` // Badger's, of the last commit of the repaired store
	Before  []keptFile `json:"before"`
	After   []keptFile `json:"after"`
}

// A keptFile is a file of a store.
type keptFile struct {
	Name     string      `json:"name"` // relative to the directory of the store, with slashes
	Size     int64       `json:"size"`
	Checksum uint32      `json:"crc32c"`
	Mode     fs.FileMode `json:"mode"`
}

// createPrivate makes a file that is its owner's alone.
func createPrivate(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

// copyStoreFile copies a file, and leaves out blocks of zeros where the file has them: logs are mostly that.
func copyStoreFile(from, to string) (f keptFile, err error) {
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
			if !isZero(buf[:n]) {
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

func isZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// describeFiles reads the files of a store, and makes them durable if sync says so.
func describeFiles(dir string, sync bool) (files []keptFile, err error) {
	names, err := storeFiles(dir)
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

func describeFile(path string, sync bool) (f keptFile, err error) {
	how := os.O_RDONLY
	if sync {
		how = os.O_RDWR // which Windows wants for it
	}
	file, err := os.OpenFile(path, how, 0)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return f, err
	}
	sum := crc32c.New()
	if f.Size, err = io.Copy(sum, file); err != nil {
		return f, err
	}
	f.Checksum, f.Mode = sum.Sum32(), info.Mode().Perm()
	if sync {
		err = file.Sync()
	}
	return f, err
}

// sameFiles reports whether two lists are of the same files, but for their modes and the mark of the process that writes.
func sameFiles(a, b []keptFile) bool {
	return maps.Equal(byName(a), byName(b))
}

// byName has files by name, without modes and the mark of the process that writes.
func byName(files []keptFile) map[string]keptFile {
	named := map[string]keptFile{}
	for _, f := range files {
		if f.Mode = 0; f.Name != storedir.LockFile {
			named[f.Name] = f
		}
	}
	return named
}

// repairFile is the name of the file of an inventory.
const repairFile = "repair.json"

func readInventory(store string, number int) (kept inventory, err error) {
	path := filepath.Join(quarantinePath(store, number), repairFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return kept, err
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		return kept, record.CorruptFile(path, "%v", err)
	}
	for _, f := range slices.Concat(kept.Before, kept.After) {
		if !filepath.IsLocal(f.Name) { // the file may come from anybody
			return kept, record.CorruptFile(path, "it names %q, which is no file of a store", f.Name)
		}
	}
	return kept, nil
}

func writeKeptRepair(store string, number int, kept inventory) error {
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return storedir.ReplaceFile(filepath.Join(quarantinePath(store, number), repairFile), text)
}
