package holder

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// DirectoryName is the directory of a holder in that of its store.
const DirectoryName = "holder"

const (
	socketName  = "socket"
	addressName = "address" // has the path of a socket that lies elsewhere

	// maxPath is the longest path of a socket that every system takes, in bytes.
	maxPath = 100

	elsewhere = "graphcleaner-holder-" // begins the names of directories for sockets elsewhere
)

// socketOf is the path of the socket of a store's holder.
func socketOf(dir string) string {
	if text, err := os.ReadFile(filepath.Join(dir, DirectoryName, addressName)); err == nil {
		return string(text)
	}
	return filepath.Join(dir, DirectoryName, socketName)
}

// A place is where a holder listens.
type place struct {
	net.Listener
	dir   string        // the directory of the holder
	files []string      // to be removed, the socket first
	marks []fs.FileInfo // of the files; others may lie there later, if the store was moved
}

// listen listens at the place of a store, whose lock the caller has. It replaces what a killed holder left.
func listen(dir string) (p *place, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	of := filepath.Join(dir, DirectoryName)
	address := filepath.Join(of, addressName)
	if err := errors.Join(os.MkdirAll(of, 0o700), removeLeft(dir)); err != nil {
		return nil, err
	}
	p = &place{dir: of}
	begun := p // of which an error returns none
	defer func() {
		if err != nil {
			err = errors.Join(err, begun.Close())
		}
	}()
	path := filepath.Join(of, socketName)
	far := len(path) > maxPath
	if far {
		if path, err = temporaryPath(); err != nil {
			return nil, err
		}
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	p.Listener = listener
	if err := p.keep(path); err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" { // where the rights of the directory count
		if err := os.Chmod(path, 0o600); err != nil {
			return nil, err
		}
	}
	if !far {
		return p, nil
	}
	if err := p.keep(filepath.Dir(path)); err != nil {
		return nil, err
	}
	draft := address + ".tmp"
	if err = os.WriteFile(draft, []byte(path), 0o600); err == nil {
		err = os.Rename(draft, address)
	}
	if err != nil {
		os.Remove(draft) //nolint:errcheck // what failed is told
		return nil, err
	}
	return p, p.keep(address)
}

// keep remembers a file that Close removes.
func (p *place) keep(path string) error {
	info, err := os.Lstat(path)
	if err == nil {
		p.files, p.marks = append(p.files, path), append(p.marks, info)
	}
	return err
}

// Close ends the listening, and removes the files, so that nobody connects.
func (p *place) Close() (err error) {
	for i, path := range p.files {
		if info, there := os.Lstat(path); there == nil && os.SameFile(info, p.marks[i]) {
			err = errors.Join(err, os.Remove(path))
		}
	}
	p.files, p.marks = nil, nil
	if p.Listener != nil {
		err = errors.Join(err, p.Listener.Close())
	}
	os.Remove(p.dir) //nolint:errcheck // it may have other files, or be gone
	return err
}

// answerTime is how long a process that listens may take to be reached.
const answerTime = time.Second

// removeLeft removes what a killed holder left.
func removeLeft(dir string) error {
	path := socketOf(dir)
	paths := []string{path, filepath.Join(dir, DirectoryName, addressName)}
	if parent := filepath.Dir(path); strings.HasPrefix(filepath.Base(parent), elsewhere) {
		paths = append(paths, parent)
	} else {
		paths[0] = filepath.Join(dir, DirectoryName, socketName)
	}
	// In a copy of a store that is held, the address is that of a holder that lives.
	if other, err := net.DialTimeout("unix", path, answerTime); err == nil {
		paths = paths[1:2]
		if err := other.Close(); err != nil {
			return err
		}
	}
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// temporaryPath is a short path for a socket, in a new directory that only its owner can enter.
func temporaryPath() (string, error) {
	parent := os.TempDir()
	if len(parent)+len(elsewhere)+len(socketName)+12 > maxPath {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, elsewhere)
	return filepath.Join(dir, socketName), err
}
