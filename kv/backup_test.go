package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

func backupOf(t testing.TB, s *Store, since []byte) ([]byte, BackupInfo) {
	t.Helper()
	var opt BackupOptions
	if since != nil {
		opt.Since = bytes.NewReader(since)
	}
	var out bytes.Buffer
	info := must.Get(s.Backup(t.Context(), &out, opt))(t)
	if info.Stored != int64(out.Len()) {
		t.Errorf("the backup says that it has %d bytes, and has %d", info.Stored, out.Len())
	}
	return out.Bytes(), info
}

func readers(files ...[]byte) []io.Reader {
	var list []io.Reader
	for _, file := range files {
		list = append(list, bytes.NewReader(file))
	}
	return list
}

// restoreAll restores a chain and opens the store.
func restoreAll(t *testing.T, files ...[]byte) *Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "restored")
	must.Get(Restore(t.Context(), dir, readers(files...), Options{MemoryBudget: minMemoryBudget}, nil))(t)
	return openStore(t, dir, Options{})
}

// versionedContents are all records that a snapshot can see, with the commits that wrote them.
func versionedContents(t testing.TB, s *Store) map[string]string {
	t.Helper()
	records := map[string]string{}
	tx := s.Begin()
	defer tx.Close()
	it := tx.txn.Iterator(nil, false)
	defer it.Close()
	err := it.Seek(nil)
	for ; err == nil && it.Valid(); err = it.Next() {
		value := must.Get(it.Value())(t)
		records[record.Describe(it.Key())+fmt.Sprintf(" %x", it.Key())] = fmt.Sprintf("%d %x", it.Version(), value)
	}
	must.Do(t, err)
	return records
}

// compareContents fails where two stores do not hold the same records of the same commits.
func compareContents(t *testing.T, got, want map[string]string) {
	t.Helper()
	for key, record := range want {
		if got[key] != record {
			t.Errorf("%s: got %.80q, want %.80q", key, got[key], record)
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			t.Errorf("%s: there is one, want none", key)
		}
	}
}

// TestBackupAndRestore backs up a store that was closed, and one that crashed.
func TestBackupAndRestore(t *testing.T) {
	for _, crashed := range []bool{false, true} {
		s := backedUp(t)
		if crashed {
			changeKinds(t, s, 1)
			s = openStore(t, copyStore(t, s.Dir()), Options{})
		}
		file, info := backupOf(t, s, nil)
		if again, _ := backupOf(t, s, nil); !bytes.Equal(again, file) {
			t.Error("two backups of the same snapshot differ")
		}
		if !info.Full || info.Store != s.ID() || info.Changed != info.Records || info.Since != "" {
			t.Errorf("a full backup says of itself %+v", info)
		}
		restored := restoreAll(t, file)
		compareContents(t, versionedContents(t, restored), versionedContents(t, s))
		if got, want := describeStore(t, restored), describeStore(t, s); got != want {
			t.Errorf("it is another store than was backed up:\n%s", difference(got, want))
		}
		checkClean(t, restored)
		verified, err := CheckBackup(t.Context(), readers(file), nil)
		if err != nil || verified != info || restored.ID() != s.ID() {
			t.Errorf("CheckBackup: got %+v, %v; want %+v", verified, err, info)
		}
		if again, _ := backupOf(t, restored, nil); !bytes.Equal(again, file) {
			t.Error("the backup of what was restored differs from the backup it was restored from")
		}
		// It goes on as a store does, and the versions of its parts with it.
		version := func(s *Store) (v string) {
			view(t, s, func(tx *Tx) (err error) { v, err = tx.Version(nil, nil); return err })
			return v
		}
		before := version(restored)
		if want := version(s); before != want {
			t.Errorf("the graph has version %s, want %s", before, want)
		}
		changeKinds(t, restored, 1+codec.Bit(crashed))
		if version(restored) == before {
			t.Error("the graph was changed and its version was not")
		}
		must.Do(t, restored.Compact(t.Context(), nil))
		checkClean(t, restored)
	}
}

// backedUp is an open store with records of every kind.
func backedUp(t *testing.T) *Store { return openStore(t, everyKind(t, 300), Options{}) }

// changeKinds changes, adds and deletes records of every kind that is not written by a Bulk.
func changeKinds(t *testing.T, s *Store, round int) {
	t.Helper()
	update(t, s, func(tx *Tx) error {
		removed := must.Get(tx.Removed())(t)
		node := func(i int) NodeID {
			v := NodeID(i)
			for removed.Has(v) {
				v++
			}
			return v
		}
		name := strconv.Itoa(round)
		v := must.Get(tx.AddNode(Node{ID: "round " + name, Label: "added"}))(t)
		must.Do(t, tx.AddEdge(v, node(round)))
		if round > 1 { // so that deltas go
			before := must.Get(tx.Node("round " + strconv.Itoa(round-1)))(t)
			must.Do(t, tx.RemoveEdge(before, node(round-1)))
			must.Do(t, tx.Documents("rounds").Delete(strconv.Itoa(round-1)))
		}
		long := strings.Repeat("long ", 40_000/round) // a chain that becomes shorter
		return errors.Join(
			tx.Documents("rounds").Put(name, round), tx.Documents("long").Put("document", long),
			tx.SetLabel(node(20+round%7), "label "+strconv.Itoa(round%3)), tx.SetRow("m", node(round),
				[]float32{1, float32(round), 0}),
			tx.Space("lent").Put([]byte(name), []byte(name)), tx.Space("lent").Delete([]byte(strconv.Itoa(round-2))),
		)
	})
}

// TestBackupOfACopy has a store that was copied go on twice. Since what it was before, and since what only its copy
// was, a backup is right.
func TestBackupOfACopy(t *testing.T) {
	s := backedUp(t)
	full, _ := backupOf(t, s, nil)
	other := openStore(t, copyStore(t, s.Dir()), Options{})
	changeKinds(t, s, 1)
	since, _ := backupOf(t, s, full)
	for round := range 5 {
		changeKinds(t, other, round+1)
	}
	next, _ := backupOf(t, other, since)
	compareContents(t, versionedContents(t, restoreAll(t, full, since, next)), versionedContents(t, other))
	// But what is since the one does not follow the other.
	beside, _ := backupOf(t, other, full)
	for name, files := range map[string][][]byte{
		"of another": {full, beside, next}, "left out": {full, next}, "twice": {full, since, since},
	} {
		_, err := CheckBackup(t.Context(), readers(files...), nil)
		if !errors.Is(err, ErrBackupOrder) {
			t.Errorf("%s: got %v, want ErrBackupOrder", name, err)
		}
	}
	if _, err := s.Backup(t.Context(), io.Discard, BackupOptions{Since: bytes.NewReader(next)}); !errors.Is(err,
		ErrBackupOrder) {
		t.Errorf("since a commit that the store has not come to: got %v, want ErrBackupOrder", err)
	}
	_, err := newStore(t, Options{}).Backup(t.Context(), io.Discard, BackupOptions{Since: bytes.NewReader(full)})
	if !errors.Is(err, ErrBackupOrder) {
		t.Errorf("since a backup of another store: got %v, want ErrBackupOrder", err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	s := backedUp(t)
	full, _ := backupOf(t, s, nil)
	changeKinds(t, s, 1)
	next, _ := backupOf(t, s, full)
	for name, test := range map[string]struct {
		files [][]byte
		want  error
	}{
		"nothing":            {nil, ErrBackupOrder},
		"no full one":        {[][]byte{next}, ErrBackupOrder},
		"the wrong order":    {[][]byte{next, full}, ErrBackupOrder},
		"two full ones":      {[][]byte{full, full}, ErrBackupOrder},
		"an empty file":      {[][]byte{{}}, ErrBackup},
		"another file":       {[][]byte{[]byte("id,label\n1,a\n, and so on for some while")}, ErrBackup},
		"more behind it":     {[][]byte{append(slices.Clone(full), 0)}, ErrBackup},
		"more behind it all": {[][]byte{append(slices.Clone(full), full...)}, ErrBackup},
		"the first one cut":  {[][]byte{full[:len(full)-1], next}, ErrBackup},
	} {
		dir := filepath.Join(t.TempDir(), "restored")
		_, err := Restore(t.Context(), dir, readers(test.files...), Options{MemoryBudget: minMemoryBudget}, nil)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
		checkNothingLeft(t, dir)
	}
	occupied := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(occupied, "file"), nil, 0o600))
	if _, err := Restore(t.Context(), occupied, readers(full), Options{}, nil); !errors.Is(err, ErrExists) {
		t.Errorf("where there is something: got %v, want ErrExists", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	dir := filepath.Join(t.TempDir(), "restored")
	_, err := Restore(ctx, dir, readers(full), Options{MemoryBudget: minMemoryBudget},
		func(string, int64, int64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ends: got %v, want context.Canceled", err)
	}
	checkNothingLeft(t, dir)
}

// checkNothingLeft fails where something is at a directory that was not to be made, or beside it.
func checkNothingLeft(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(entries) > 0 {
		t.Errorf("got %v, %v; want nothing left", entries, err)
	}
}

// TestTruncatedBackups cuts a backup off at its ends and at random places.
func TestTruncatedBackups(t *testing.T) {
	s := backedUp(t)
	full, _ := backupOf(t, s, nil)
	changeKinds(t, s, 1)
	next, _ := backupOf(t, s, full)
	r := rand.New(rand.NewPCG(3, 4))
	for _, file := range [][]byte{full, next} {
		cuts := []int{0, 1, len(file) - 33, len(file) - 32, len(file) - 1}
		for range 300 {
			cuts = append(cuts, r.IntN(len(file)))
		}
		for _, cut := range cuts {
			files := readers(full, file[:cut])
			if bytes.Equal(file, full) {
				files = readers(file[:cut])
			}
			if _, err := CheckBackup(t.Context(), files, nil); !errors.Is(err, ErrBackup) {
				t.Fatalf("cut to %d of %d bytes: got %v, want ErrBackup", cut, len(file), err)
			}
		}
		cut := bytes.NewReader(file[:len(file)-1])
		if _, err := s.Backup(t.Context(), io.Discard, BackupOptions{Since: cut}); !errors.Is(err, ErrBackup) {
			t.Errorf("a backup since one that is cut short: got %v, want ErrBackup", err)
		}
	}
}

// TestBackupOfDamage damages a record. A backup is refused, also since one that has the record.
func TestBackupOfDamage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Create(dir, Options{})
	must.Do(t, err)
	err = s.Update(func(tx *Tx) error {
		for i := range 20 { // each in a block of its own
			if err := tx.Documents("kept").Put(fmt.Sprintf("%02d", i),
				strings.Repeat(fmt.Sprintf("text %02d ", i), 1000)); err != nil {
				return err
			}
		}
		return nil
	})
	var full bytes.Buffer
	if err == nil {
		_, err = s.Backup(t.Context(), &full, BackupOptions{})
	}
	must.Do(t, errors.Join(err, s.Close()))
	damagedStores.Store(dir, true)
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) != 1 {
		t.Fatalf("got tables %q, want one: %v", tables, err)
	}
	text, err := os.ReadFile(tables[0])
	must.Do(t, err)
	at := bytes.Index(text, []byte("text 07 text"))
	if at < 0 {
		t.Fatal("the document is not in the table")
	}
	text[at+4000] ^= 1
	must.Do(t, os.WriteFile(tables[0], text, 0o600))
	s = must.Get(Open(dir, Options{}))(t)
	defer closeStore(t, s)
	for _, since := range []io.Reader{&full, nil} {
		_, err := s.Backup(t.Context(), io.Discard, BackupOptions{Since: since})
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), record.KindDocument.String()) {
			t.Errorf("got %v, want ErrCorrupt with the name of the record", err)
		}
	}
}

// TestFlippedBackups flips bits of a backup, everywhere at its begin and end, and at random places between.
func TestFlippedBackups(t *testing.T) {
	s := backedUp(t)
	full, _ := backupOf(t, s, nil)
	changeKinds(t, s, 1)
	next, _ := backupOf(t, s, full)
	r := rand.New(rand.NewPCG(5, 6))
	for _, file := range [][]byte{full, next} {
		var places []int
		for at := range 200 {
			places = append(places, at, len(file)-1-at)
		}
		for range 500 {
			places = append(places, r.IntN(len(file)))
		}
		for _, at := range places {
			damaged := slices.Clone(file)
			damaged[at] ^= 1 << r.IntN(8)
			files := readers(full, damaged)
			if bytes.Equal(file, full) {
				files = readers(damaged)
			}
			if _, err := CheckBackup(t.Context(), files, nil); !errors.Is(err, ErrBackup) && !errors.Is(err, ErrBackupOrder) {
				t.Fatalf("byte %d of %d is flipped: got %v, want ErrBackup", at, len(file), err)
			}
		}
	}
}

// TestBackupWhileWriting backs a store up at moments of a Bulk, and while others write.
func TestBackupWhileWriting(t *testing.T) {
	s := backedUp(t)
	want := versionedContents(t, s)
	b := beginBulk(t, s)
	w, err := b.Column("half", KindInt)
	must.Do(t, err)
	for v := range NodeID(100) {
		must.Do(t, w.Put(v, ValueOf(int64(v))))
	}
	must.Do(t, w.finish())
	must.Get(b.preview())(t).Close()
	if len(versionedContents(t, s)) <= len(want) {
		t.Fatal("the Bulk has written nothing: the test shows nothing")
	}
	file, _ := backupOf(t, s, nil)
	b.Abort()
	compareContents(t, versionedContents(t, restoreAll(t, file)), want)

	// A writer that writes in step with what is read.
	round := 0
	var out bytes.Buffer
	want = versionedContents(t, s)
	_, err = s.Backup(t.Context(), writerFunc(func(p []byte) (int, error) {
		round++
		changeKinds(t, s, round)
		return out.Write(p)
	}), BackupOptions{})
	if err != nil || round < 3 {
		t.Fatalf("got %v after %d writes", err, round)
	}
	compareContents(t, versionedContents(t, restoreAll(t, out.Bytes())), want)
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestBackupFailures has the writer fail at every write, and the reader of what it is restored from.
func TestBackupFailures(t *testing.T) {
	s := backedUp(t)
	failure := errors.New("failure")
	var file bytes.Buffer
	for n := 0; ; n++ {
		file.Reset()
		writes := 0
		_, err := s.Backup(t.Context(), writerFunc(func(p []byte) (int, error) {
			if writes++; writes > n {
				return 0, failure
			}
			return file.Write(p)
		}), BackupOptions{})
		if err == nil {
			break
		}
		if !errors.Is(err, failure) {
			t.Fatalf("write %d failed: got %v", n, err)
		}
		if _, err := CheckBackup(t.Context(), readers(file.Bytes()), nil); !errors.Is(err, ErrBackup) {
			t.Errorf("what was written before write %d: got %v, want ErrBackup", n, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "restored")
	broken := io.MultiReader(bytes.NewReader(file.Bytes()[:file.Len()/2]),
		readerFunc(func([]byte) (int, error) { return 0, failure }))
	_, err := Restore(t.Context(), dir, []io.Reader{broken}, Options{MemoryBudget: minMemoryBudget}, nil)
	if !errors.Is(err, failure) {
		t.Errorf("a reader that fails: got %v, want its failure", err)
	}
	checkNothingLeft(t, dir)
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestBackupReadOnly backs a store up whose files and directory cannot be written to.
func TestBackupReadOnly(t *testing.T) {
	s := backedUp(t)
	want, _ := backupOf(t, s, nil)
	closeStore(t, s)
	before := fileNames(t, s.Dir(), "*")
	s = openStore(t, s.Dir(), Options{ReadOnly: true})
	if got, _ := backupOf(t, s, nil); !bytes.Equal(got, want) {
		t.Error("the backup of a store that is open read-only differs from that of one that is not")
	}
	closeStore(t, s)
	if after := fileNames(t, s.Dir(), "*"); !slices.Equal(after, before) {
		t.Errorf("got the files %q, want %q", after, before)
	}
}

// TestCloseDuringBackup has the store closed from beside.
func TestCloseDuringBackup(t *testing.T) {
	s := newStore(t, Options{})
	for i := range 2 * record.ContextEvery / 1000 {
		update(t, s, func(tx *Tx) error {
			for j := range 1000 {
				must.Do(t, tx.Documents("many").Put(strconv.Itoa(1000*i+j), j))
			}
			return nil
		})
	}
	closed := make(chan error, 1)
	began := false
	_, err := s.Backup(t.Context(), io.Discard, BackupOptions{Progress: func(string, int64, int64) {
		if !began {
			began = true
			s.mu.Lock()
			txs := slices.Collect(maps.Keys(s.txs)) // that of the backup
			s.mu.Unlock()
			go func() { closed <- s.Close() }()
			for txs[0].Err() == nil {
				runtime.Gosched()
			}
		}
	}})
	if !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, err := s.Backup(t.Context(), io.Discard, BackupOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed store: got %v, want ErrClosed", err)
	}
}

func TestRestoreClearsWhatWasLeft(t *testing.T) {
	s := backedUp(t)
	file, _ := backupOf(t, s, nil)
	dir := filepath.Join(t.TempDir(), "restored")
	left := filepath.Join(dir+restoreMark, "store")
	must.Do(t, os.MkdirAll(left, 0o700))
	must.Do(t, os.WriteFile(filepath.Join(left, lsm.ManifestName), []byte("half"), 0o600))
	must.Get(Restore(t.Context(), dir, readers(file), Options{MemoryBudget: minMemoryBudget}, nil))(t)
	if _, err := os.Stat(dir + restoreMark); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was beside the store is still there: %v", err)
	}
	restored := openStore(t, dir, Options{})
	if !maps.Equal(versionedContents(t, restored), versionedContents(t, s)) {
		t.Error("it is another store than was backed up")
	}
}

// TestRestoreOfOtherFormats restores and checks backups of an older and of a newer format.
func TestRestoreOfOtherFormats(t *testing.T) {
	for _, version := range []int{formatVersion - 1, formatVersion + 1} {
		s := newStore(t, Options{})
		setVersion(t, s, version)
		file, _ := backupOf(t, s, nil)
		dir := filepath.Join(t.TempDir(), "restored")
		_, failed := Restore(t.Context(), dir, readers(file), Options{MemoryBudget: minMemoryBudget}, nil)
		_, wrong := CheckBackup(t.Context(), readers(file), nil)
		for _, err := range []error{failed, wrong} {
			if !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), fmt.Sprintf("it is %d,", version)) {
				t.Errorf("got %v, want ErrVersion for version %d", err, version)
			}
		}
		checkNothingLeft(t, dir)
	}
}
