package holder

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// DirectoryName is the directory of a holder in that of its store.
const DirectoryName = "holder"

const (
	socketName = "socket"

	// maxPath is the longest path of a socket that every system takes, in bytes.
	maxPath = 100
)

// openPlace opens the directory of a store. No name in it leads out of it. The directory of the holder is no link.
func openPlace(dir string) (*os.Root, error) {
	store, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	info, err := store.Lstat(DirectoryName)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is a link or a file, want a directory: remove it", filepath.Join(dir, DirectoryName))
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// atSocket calls fn with a path of the socket of a store. Where its name is too long, the path leads through the open
// directory. Not every system has such paths: then the error is errors.ErrUnsupported.
func atSocket(store *os.Root, dir string, fn func(path string) error) (err error) {
	path := dir + "/" + DirectoryName + "/" + socketName // filepath.Join takes out .. behind a link
	if len(path) <= maxPath {
		return fn(path)
	}
	open, err := store.Open(DirectoryName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, open.Close()) }()
	link := fmt.Sprintf("/proc/self/fd/%d", open.Fd())
	if _, err := os.Stat(link); err != nil {
		return fmt.Errorf("the path of %s is too long for a socket: %w", dir, errors.ErrUnsupported)
	}
	return fn(link + "/" + socketName)
}

// A place is where a holder listens.
type place struct {
	net.Listener
	store *os.Root // its directory, wherever it is moved to
}

// listen listens at the place of a store, whose lock the caller has. It replaces the socket that a killed holder left.
func listen(dir string) (p *place, err error) {
	store, err := openPlace(dir)
	if err != nil {
		return nil, err
	}
	begun := &place{store: store}
	defer func() {
		if err != nil {
			err = errors.Join(err, begun.Close())
		}
	}()
	if err := store.Mkdir(DirectoryName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := begun.remove(); err != nil {
		return nil, err
	}
	return begun, atSocket(store, dir, func(path string) (err error) {
		if begun.Listener, err = net.Listen("unix", path); err != nil {
			return err
		}
		begun.Listener.(*net.UnixListener).SetUnlinkOnClose(false)
		return os.Chmod(path, 0o600)
	})
}

// remove removes the socket, which may be gone.
func (p *place) remove() error {
	err := p.store.Remove(DirectoryName + "/" + socketName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Close ends the listening, and removes the files, so that nobody connects.
func (p *place) Close() (err error) {
	if p.Listener != nil {
		err = errors.Join(p.remove(), p.Listener.Close())
	}
	p.store.Remove(DirectoryName) //nolint:errcheck // it may have other files, or be gone
	return errors.Join(err, p.store.Close())
}
