package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

const minMemoryBudget = machine.LeastBudget

// newStore creates a store that is closed when the test ends. Its budget is small, unless opt says otherwise.
func newStore(t *testing.T, opt Options) *Store {
	t.Helper()
	opt.MemoryBudget = max(opt.MemoryBudget, minMemoryBudget)
	s := must.Get(Create(filepath.Join(t.TempDir(), "store"), opt))(t)
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

// damagedStores are the directories of stores that a test damages, or makes up: closeStore checks all others.
var damagedStores sync.Map

// closeStore closes a store in which Check must find nothing, unless the test has damaged it.
func closeStore(t *testing.T, s *Store) {
	t.Helper()
	_, damaged := damagedStores.Load(s.name)
	if open := s.View(func(*Tx) error { return nil }); open == nil && !damaged && !s.bulkOpen.Load() {
		err := s.Check(context.Background(), nil, func(p Problem) { t.Errorf("store %s: %s", s.dir, p) })
		if err != nil {
			t.Errorf("checking the store: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing the store: %v", err)
	}
}

func openStore(t *testing.T, dir string, opt Options) *Store {
	t.Helper()
	opt.MemoryBudget = max(opt.MemoryBudget, minMemoryBudget)
	s := must.Get(Open(dir, opt))(t)
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func update(t *testing.T, s *Store, fn func(tx *Tx) error) {
	t.Helper()
	must.Do(t, s.Update(fn))
}

// addNodes adds nodes n0, n1, … that have no edges.
func addNodes(t *testing.T, s *Store, count int) {
	t.Helper()
	update(t, s, func(tx *Tx) error {
		for i := range count {
			if _, err := tx.AddNode(Node{ID: fmt.Sprintf("n%d", i)}); err != nil {
				return err
			}
		}
		return nil
	})
}

func view(t *testing.T, s *Store, fn func(tx *Tx) error) {
	t.Helper()
	must.Do(t, s.View(fn))
}

// copyStore copies the files of a store, open or not, as a crash would leave them.
func copyStore(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	for {
		err := filepath.WalkDir(dir+"/.", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			if entry.Type()&fs.ModeSymlink == 0 {
				return copyFile(path, filepath.Join(to, name))
			}
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, filepath.Join(to, name))
		})
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) { // a table that was just merged
			t.Fatal(err)
		}
		must.Do(t, os.RemoveAll(to))
	}
	if _, damaged := damagedStores.Load(dir); damaged {
		damagedStores.Store(to, true)
	}
	return to
}

// copyFile copies a file, and leaves out blocks of zeros where the file has them: logs are mostly that.
func copyFile(from, to string) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), storedir.Mode); err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, storedir.FileMode(storedir.Mode))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	size, err := eachBlock(from, func(at int64, block []byte) error {
		_, err := target.WriteAt(block, at)
		return err
	})
	return errors.Join(err, target.Truncate(size))
}

// eachBlock reads a file in blocks, passes on those that are not all zeros, and returns the size of the file.
func eachBlock(path string, do func(at int64, block []byte) error) (size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buf, zeros := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(f, buf)
		if !bytes.Equal(buf[:n], zeros[:n]) {
			if err := do(size, buf[:n]); err != nil {
				return size, err
			}
		}
		size += int64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return size, nil
		}
		if err != nil {
			return size, err
		}
	}
}

// A store without its manifest is a damaged one, to whoever opens it.
func TestOpenWithoutManifest(t *testing.T) {
	dir := copyStore(t, everyKind(t, 50))
	must.Do(t, os.Remove(filepath.Join(dir, "MANIFEST")))
	before := fileNames(t, dir, "*")
	for _, readOnly := range []bool{false, true} {
		_, err := Open(dir, Options{ReadOnly: readOnly})
		if !errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNotStore) || !strings.Contains(err.Error(),
			filepath.Join(dir, "MANIFEST")) {
			t.Errorf("read-only %v: got %v, want ErrCorrupt and the file", readOnly, err)
		}
	}
	if after := fileNames(t, dir, "*"); !slices.Equal(after, before) {
		t.Errorf("Open left the files %v, want %v", after, before)
	}
}

func TestOpenWhatIsNoStore(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "nowhere"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: got %v, want fs.ErrNotExist", err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrNotStore) {
		t.Errorf("an empty directory: got %v, want ErrNotStore", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("Open left %v behind, %v", entries, err)
	}
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, []byte("text"), 0o600))
	if _, err := Open(file, Options{}); !errors.Is(err, ErrNotStore) {
		t.Errorf("a file: got %v, want ErrNotStore", err)
	}
	if _, err := Create(dir, Options{}); !errors.Is(err, ErrExists) {
		t.Errorf("Create where there is a file: got %v, want ErrExists", err)
	}
	if _, err := Create(filepath.Join(dir, "new"), Options{MemoryBudget: -1}); err == nil {
		t.Error("Create with a negative budget: got no error")
	}
}

func TestEmptyStoreReopens(t *testing.T) {
	s := newStore(t, Options{})
	id := s.ID()
	closeStore(t, s)
	s = openStore(t, s.Dir(), Options{})
	if s.ID() != id || len(id) != 32 {
		t.Errorf("store id: got %q, want %q, 32 digits", s.ID(), id)
	}
	view(t, s, func(tx *Tx) error {
		if tx.NumNodes() != 0 || tx.Shape().Edges != 0 || len(tx.Classes()) != 0 || !tx.Shape().IntegerIDs {
			t.Errorf("got %d nodes, %d edges, classes %v, integer ids %t; want an empty store", tx.NumNodes(), tx.Shape().Edges,
				tx.Classes(), tx.Shape().IntegerIDs)
		}
		if _, err := tx.Label(0); !errors.Is(err, ErrNotFound) {
			t.Errorf("label of node 0: got %v, want ErrNotFound", err)
		}
		if got := tx.Columns(); len(got) != 1 || got[0] != (Column{Name: LabelColumn, Kind: KindClass}) {
			t.Errorf("columns: got %v, want only the label", got)
		}
		return tx.ReadClasses(LabelColumn, Range{End: NodeID(tx.NumNodes())}, nil)
	})
}

// setVersion gives a store the header of a format version.
func setVersion(t *testing.T, s *Store, version int) {
	t.Helper()
	update(t, s, func(tx *Tx) error {
		body, err := msgpack.Marshal(header{Version: version, ID: s.ID()})
		return errors.Join(err, tx.put(headerKey(), body))
	})
}

// TestOtherVersion opens and repairs stores of another format version, also one that a crash left. They are refused,
// and stay as they are.
func TestOtherVersion(t *testing.T) {
	for version, writer := range map[int]string{0: "an older", formatVersion - 1: "an older",
		formatVersion + 1: "a newer"} {
		s := newStore(t, Options{})
		setVersion(t, s, version)
		crashed := copyStore(t, s.Dir())
		closeStore(t, s)
		for _, dir := range []string{s.Dir(), crashed} {
			opt := Options{MemoryBudget: minMemoryBudget}
			want := fmt.Sprintf("%s: %v: it is %d, want %d: %s graphcleaner wrote it", dir, ErrVersion, version, formatVersion,
				writer)
			_, opening := Open(dir, opt)
			_, repairing := Repair(t.Context(), dir, opt, nil, func(Correction) {})
			_, again := Open(dir, opt)
			for _, err := range []error{opening, repairing, again} {
				if !errors.Is(err, ErrVersion) || err.Error() != want {
					t.Errorf("got %v, want %s", err, want)
				}
			}
		}
	}
}

func TestLocked(t *testing.T) {
	s := newStore(t, Options{})
	_, err := Open(s.Dir(), Options{})
	if want := fmt.Sprintf("%s is in use by this process", s.Dir()); !errors.Is(err, ErrLocked) || err.Error() != want {
		t.Errorf("got %v, want the ErrLocked %q", err, want)
	}
	if _, err := Open(s.Dir(), Options{ReadOnly: true}); !errors.Is(err, ErrLocked) {
		t.Errorf("reading beside a writer: got %v, want ErrLocked", err)
	}
	closeStore(t, s)
	a := openStore(t, s.Dir(), Options{ReadOnly: true})
	openStore(t, s.Dir(), Options{ReadOnly: true}) // readers share
	if _, err := Open(s.Dir(), Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("writing beside readers: got %v, want ErrLocked", err)
	}
	if err := a.Update(func(*Tx) error { return nil }); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Update of a read-only store: got %v, want ErrReadOnly", err)
	}
	if _, err := a.Bulk(context.Background()); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Bulk of a read-only store: got %v, want ErrReadOnly", err)
	}
}

// TestLockedByOther runs this test binary again, which holds the store until its input ends.
func TestLockedByOther(t *testing.T) {
	if dir := os.Getenv("KV_TEST_HOLD"); dir != "" {
		s := must.Get(Open(dir, Options{}))(t)
		fmt.Println("holding")
		if _, err := os.Stdin.Read(make([]byte, 1)); !errors.Is(err, io.EOF) { // the parent closes it
			t.Error(err)
		}
		closeStore(t, s)
		return
	}
	s := newStore(t, Options{})
	closeStore(t, s)
	child := exec.Command(os.Args[0], "-test.run=^TestLockedByOther$")
	child.Env = append(os.Environ(), "KV_TEST_HOLD="+s.Dir())
	in := must.Get(child.StdinPipe())(t)
	out, err := child.StdoutPipe()
	must.Do(t, err)
	must.Do(t, child.Start())
	must.Get(out.Read(make([]byte, len("holding"))))(t)
	_, err = Open(s.Dir(), Options{})
	want := fmt.Sprintf("%s is in use by process %d since ", s.Dir(), child.Process.Pid)
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	must.Do(t, in.Close())
	must.Do(t, child.Wait())
	openStore(t, s.Dir(), Options{})
}

func TestReadOnlyAfterCrash(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	dir := copyStore(t, s.Dir())
	_, err := Open(dir, Options{ReadOnly: true})
	if !errors.Is(err, ErrCrashed) || !strings.Contains(err.Error(), "open it once for writing") {
		t.Fatalf("got %v, want ErrCrashed with advice", err)
	}
	closeStore(t, openStore(t, dir, Options{}))
	s = openStore(t, dir, Options{ReadOnly: true})
	view(t, s, func(tx *Tx) error {
		if tx.NumNodes() != 3 {
			t.Errorf("got %d nodes, want 3", tx.NumNodes())
		}
		return nil
	})
}

// TestKilledBetweenLogs leaves empty logs, as a process does that is killed while Badger makes or deletes one.
func TestKilledBetweenLogs(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	closeStore(t, s)
	for _, name := range []string{"00007.mem", "000099.vlog"} {
		must.Do(t, os.WriteFile(filepath.Join(s.Dir(), name), nil, 0o600))
	}
	s = openStore(t, s.Dir(), Options{})
	view(t, s, func(tx *Tx) error {
		if tx.NumNodes() != 3 {
			t.Errorf("got %d nodes, want 3", tx.NumNodes())
		}
		return nil
	})
}
