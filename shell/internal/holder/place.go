package holder

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/realpath"
)

// DirectoryName is the directory of a holder in that of its store.
const DirectoryName = "holder"

const (
	socketName  = DirectoryName + "/socket"
	addressName = DirectoryName + "/address" // has the path of a socket that lies elsewhere

	// maxPath is the longest path of a socket that every system takes, in bytes.
	maxPath = 100

	elsewhere = "graphcleaner-holder-" // begins the names of directories for sockets elsewhere
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

// socketOf is the path of the socket of a store's holder.
func socketOf(dir string) (path string, err error) {
	store, err := openPlace(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if path := addressIn(store); path != "" {
		return path, nil
	}
	return dir + "/" + socketName, nil // filepath.Join takes out .. behind a link
}

// addressIn is the path of a socket elsewhere that a store names, "" if it names none that is of this program and this
// user.
func addressIn(store *os.Root) string {
	text, err := store.ReadFile(addressName)
	path := string(text)
	parent := filepath.Dir(path)
	if err != nil || !strings.HasPrefix(filepath.Base(parent), elsewhere) {
		return ""
	}
	in, err := os.Lstat(parent)
	if err != nil || !in.IsDir() || !isOwn(in) {
		return ""
	}
	if socket, err := os.Lstat(path); err != nil || socket.Mode()&fs.ModeSocket == 0 || !isOwn(socket) {
		return ""
	}
	return path
}

// A place is where a holder listens.
type place struct {
	net.Listener
	store     *os.Root // its directory, wherever it is moved to
	elsewhere string   // the directory of a socket that lies elsewhere
}

// listen listens at the place of a store, whose lock the caller has. It replaces what a killed holder left.
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
	if err := removeLeft(store); err != nil {
		return nil, err
	}
	path, err := realpath.Of(dir)
	if err != nil {
		return nil, err
	}
	path = filepath.Join(path, socketName)
	if len(path) > maxPath {
		if begun.elsewhere, err = newTemporary(); err != nil {
			return nil, err
		}
		path = filepath.Join(begun.elsewhere, filepath.Base(socketName))
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	begun.Listener = listener
	if runtime.GOOS != "windows" { // where the rights of the directory count
		if err := os.Chmod(path, 0o600); err != nil {
			return nil, err
		}
	}
	if begun.elsewhere == "" {
		return begun, nil
	}
	return begun, store.WriteFile(addressName, []byte(path), 0o600)
}

// Close ends the listening, and removes the files, so that nobody connects.
func (p *place) Close() (err error) {
	if p.Listener != nil {
		if p.elsewhere == "" {
			err = removed(p.store.Remove(socketName))
		}
		err = errors.Join(err, p.Listener.Close())
	}
	if p.elsewhere != "" {
		err = errors.Join(err, removed(p.store.Remove(addressName)), os.RemoveAll(p.elsewhere))
	}
	p.store.Remove(DirectoryName) //nolint:errcheck // it may have other files, or be gone
	return errors.Join(err, p.store.Close())
}

// removed is the error of a removal of what may be gone.
func removed(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// answerTime is how long a process that listens may take to be reached.
const answerTime = time.Second

// removeLeft removes what a killed holder left.
func removeLeft(store *os.Root) error {
	path := addressIn(store)
	err := errors.Join(removed(store.Remove(socketName)), removed(store.Remove(addressName)))
	parent := filepath.Dir(path)
	if err != nil || path == "" || filepath.Dir(parent) != temporary() {
		return err
	}
	// In a copy of a store that is held, the address is that of a holder that lives.
	if other, err := net.DialTimeout("unix", path, answerTime); err == nil {
		return other.Close()
	}
	return errors.Join(removed(os.Remove(path)), removed(os.Remove(parent)))
}

// newTemporary makes a directory for a socket, with a short path, that only its owner can enter.
func newTemporary() (string, error) { return os.MkdirTemp(temporary(), elsewhere) }

// temporary is the directory for sockets that lie elsewhere.
func temporary() string {
	if dir := os.TempDir(); len(dir)+len(elsewhere)+len("socket")+12 <= maxPath {
		return filepath.Clean(dir)
	}
	return "/tmp"
}
