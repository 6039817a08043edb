package kv

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// closedStore is a store with records of every kind in two tables, closed.
func closedStore(t *testing.T) string {
	s := checkedStore(t)
	closeStore(t, s)
	s = openStore(t, s.Dir(), Options{})
	update(t, s, func(tx *Tx) error { return tx.PutDocument("more", "key", "value") })
	closeStore(t, s)
	return s.Dir()
}

// contents are all records of a store as it is read, by key.
func contents(s *Store) (records map[string]string, err error) {
	records = map[string]string{}
	err = s.View(func(tx *Tx) error {
		for r, err := range tx.records().Scan([]byte{}, nil) {
			if err != nil {
				return err
			}
			records[hex.EncodeToString(r.Key)] = string(r.Body)
		}
		return nil
	})
	return records, err
}

func fileNames(t *testing.T, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	must.Do(t, err)
	for i, name := range names {
		names[i] = filepath.Base(name)
	}
	return names
}

// verifyDamaged opens a damaged store: it must be refused, or have a problem, or hold what it held, and lose no table.
func verifyDamaged(t *testing.T, dir, damage string, opt Options, want map[string]string) {
	t.Helper()
	tables := fileNames(t, dir, "*.sst")
	defer func() {
		t.Helper()
		if got := fileNames(t, dir, "*.sst"); opt.ReadOnly && !slices.Equal(got, tables) {
			t.Errorf("%s: got tables %v after a read-only open, want %v", damage, got, tables)
		}
	}()
	damagedStores.Store(dir, true)
	opt.MemoryBudget = minMemoryBudget
	s, err := Open(dir, opt)
	if err != nil {
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNotStore) && !errors.Is(err, ErrVersion) {
			t.Errorf("%s: got %v, want ErrCorrupt", damage, err)
		}
		return
	}
	defer closeStore(t, s)
	var found []Problem
	if err := s.Check(context.Background(), nil, func(p Problem) { found = append(found, p) }); err != nil {
		t.Errorf("%s: checking: %v", damage, err)
	}
	if len(found) > 0 {
		return
	}
	got, err := contents(s)
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%s: Check finds no problem, and %d of %d records are read (%v)", damage, len(got), len(want), err)
	}
}

// TestDamagedFiles cuts and overwrites every file of a closed store.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	dir := closedStore(t)
	s := openStore(t, dir, Options{ReadOnly: true})
	want, err := contents(s)
	must.Do(t, err)
	closeStore(t, s)
	r := rand.New(rand.NewPCG(7, 7))
	entries, err := os.ReadDir(dir)
	must.Do(t, err)
	for _, entry := range entries {
		name := entry.Name()
		text, err := os.ReadFile(filepath.Join(dir, name))
		must.Do(t, err)
		size := len(text)
		damages := map[string][]byte{}
		for _, cut := range []int{0, 1, 7, size / 3, size / 2, size - 9, size - 3, size - 1} {
			if cut >= 0 && cut < size {
				damages[fmt.Sprintf("%s cut to %d of %d bytes", name, cut, size)] = text[:cut]
			}
		}
		for _, at := range []int{r.IntN(size), r.IntN(size), size - 1 - r.IntN(min(size, 40)), r.IntN(min(size, 40))} {
			flipped := slices.Clone(text)
			flipped[at] ^= 1 << r.IntN(8)
			damages[fmt.Sprintf("%s with byte %d of %d changed", name, at, size)] = flipped
		}
		tail := slices.Clone(text)
		clear(tail[size-min(size, 12):])
		damages[name+" with its end zeroed"] = tail
		for i, damage := range slices.Sorted(maps.Keys(damages)) {
			text := damages[damage]
			for _, readOnly := range []bool{true, false} {
				if !longtest.Asked() && readOnly == (i%3 == 0) {
					continue
				}
				copied := copyStore(t, dir)
				must.Do(t, os.WriteFile(filepath.Join(copied, name), text, 0o600))
				verifyDamaged(t, copied, fmt.Sprintf("%s, read-only %t", damage, readOnly), Options{ReadOnly: readOnly}, want)
			}
		}
	}
}

// TestDamageNamesItsFile wants the file in the message, and no table deleted, whether to be written or read.
func TestDamageNamesItsFile(t *testing.T) {
	dir := closedStore(t)
	tables := fileNames(t, dir, "*.sst")
	cases := map[string]func(path string) error{
		"MANIFEST":    func(path string) error { return cutBy(path, 3) },
		"KEYREGISTRY": func(path string) error { return os.Truncate(path, 0) },
		tables[0]:     func(path string) error { return cutBy(path, 100) },
		tables[1]:     os.Remove,
		"000099.sst":  func(path string) error { return os.WriteFile(path, []byte("not named"), 0o600) },
	}
	for name, damage := range cases {
		for _, readOnly := range []bool{true, false} {
			copied := copyStore(t, dir)
			must.Do(t, damage(filepath.Join(copied, name)))
			before := fileNames(t, copied, "*")
			_, err := Open(copied, Options{MemoryBudget: minMemoryBudget, ReadOnly: readOnly})
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, read-only %t: got %v, want ErrCorrupt that names the file", name, readOnly, err)
			}
			if after := fileNames(t, copied, "*"); !slices.Equal(before, after) {
				t.Errorf("%s, read-only %t: got files %v, want %v", name, readOnly, after, before)
			}
		}
	}
}

func cutBy(path string, bytes int64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, info.Size()-bytes)
}

// TestCrashLeftovers has what a crash leaves of a merge of tables as the store closes: reading does not touch it, and
// writing cleans it up.
func TestCrashLeftovers(t *testing.T) {
	dir := closedStore(t)
	for name, text := range map[string]string{"000099.sst": "half a tab", storedir.LockFile: "1\n"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	manifest, err := os.OpenFile(filepath.Join(dir, lsm.ManifestName), os.O_APPEND|os.O_WRONLY, 0)
	must.Do(t, err)
	if _, err := manifest.Write([]byte{0, 0, 0, 20, 1, 2}); err != nil {
		t.Fatal(err)
	}
	must.Do(t, manifest.Close())
	before := fileNames(t, dir, "*")
	if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, ErrCrashed) {
		t.Fatalf("read-only: got %v, want ErrCrashed", err)
	}
	if after := fileNames(t, dir, "*"); !slices.Equal(before, after) {
		t.Fatalf("read-only: got files %v, want %v", after, before)
	}
	s := openStore(t, dir, Options{})
	checkClean(t, s)
	closeStore(t, s)
	openStore(t, dir, Options{ReadOnly: true})
}

// TestKilledWriter kills a process that writes, opens and closes a store at random moments; what it had committed is
// there.
func TestKilledWriter(t *testing.T) {
	if dir := os.Getenv("KV_TEST_KILLED"); dir != "" {
		writeForEver(t, dir)
		return
	}
	s := newStore(t, Options{})
	addNodes(t, s, 500)
	update(t, s, func(tx *Tx) error { return tx.AddColumn("x", KindInt) })
	closeStore(t, s)
	r := rand.New(rand.NewPCG(3, 1))
	for round := range longtest.Of(3, 8) {
		child := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
		child.Env = append(os.Environ(), "KV_TEST_KILLED="+s.Dir())
		var out strings.Builder
		child.Stdout, child.Stderr = &out, &out
		must.Do(t, child.Start())
		time.Sleep(50*time.Millisecond + time.Duration(r.IntN(250))*time.Millisecond)
		must.Do(t, child.Process.Kill())
		if err := child.Wait(); err == nil || strings.Contains(out.String(), "FAIL") {
			t.Fatalf("round %d: the writer ended: %s", round, out.String())
		}
		var reported int64
		for line := range strings.Lines(out.String()) {
			if _, err := fmt.Sscanf(line, "committed %d", &reported); err != nil {
				break // half a line
			}
		}
		opened, err := Open(s.Dir(), Options{MemoryBudget: minMemoryBudget})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		checkClean(t, opened)
		view(t, opened, func(tx *Tx) error {
			value, err := tx.Value(0, "x")
			if err == nil && reported > 0 && value.Int() < reported {
				t.Errorf("round %d: got commit %d, want at least %d", round, value.Int(), reported)
			}
			return err
		})
		closeStore(t, opened)
	}
}

func writeForEver(t *testing.T, dir string) {
	for i := int64(0); ; {
		s, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
		must.Do(t, err)
		view(t, s, func(tx *Tx) error {
			value, err := tx.Value(0, "x")
			if err == nil && !value.IsNull() {
				i = value.Int()
			}
			return err
		})
		for range 5 {
			i++
			update(t, s, func(tx *Tx) error { return tx.SetValue(0, "x", IntValue(i)) })
			fmt.Printf("committed %d\n", i)
		}
		b, err := s.Bulk()
		must.Do(t, err)
		m, err := b.Matrix("m", []string{"a", "b", "c", "d"}, MatrixEncoding{})
		must.Do(t, err)
		for v := range NodeID(500) {
			must.Do(t, m.Put(v, []float32{float32(i), float32(v), 1, 2}))
		}
		must.Do(t, b.Commit(nil))
		closeStore(t, s)
	}
}

// TestUnwritableDirectory opens a store where no file can be made.
func TestUnwritableDirectory(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := closedStore(t)
	must.Do(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Error(err)
		}
	})
	_, err := Open(dir, Options{})
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("got %v, want fs.ErrPermission and that it can be read", err)
	}
	openStore(t, dir, Options{ReadOnly: true})
}
