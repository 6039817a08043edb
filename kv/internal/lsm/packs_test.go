package lsm

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A packModel is a database, and what is to be read from it.
type packModel struct {
	t    *testing.T
	r    *rand.Rand
	dir  string
	d    *DB
	live map[record.Generation]bool
	want map[string]string
	next record.Generation

	folding *Fold // has merged, and has not ended
	folds   int   // that have ended
}

// A packSnapshot is a transaction with what it is to read.
type packSnapshot struct {
	txn  *Txn
	want map[string]string
}

func (m *packModel) isLive(g record.Generation) bool { return m.live[g] }

func (m *packModel) open() {
	m.d = openTest(m.t, m.dir)
	must.Do(m.t, m.d.OpenPacks(m.isLive))
}

// keep drops what is not live.
func (m *packModel) keep() {
	must.Get(m.d.KeepPacks(m.isLive, false, func() ([]byte, error) { return []byte("catalogue"), nil }))(m.t)
}

// commit runs a transaction.
func (m *packModel) commit(write func(txn *Txn) error) {
	txn := m.d.Begin(true)
	defer txn.Discard()
	must.Do(m.t, errors.Join(m.d.makeRoom(1<<20), write(txn), txn.Commit(m.d.Version()+1)))
}

// fold merges Badger's own tables, or ends the fold that did, if there is no snapshot.
func (m *packModel) fold() {
	if m.folding == nil {
		live := maps.Clone(m.live)
		m.folding = must.Get(m.d.BeginFold(func(key []byte) bool {
			return len(key) >= 5 && !live[record.GenerationOf(key)]
		}))(m.t)
		m.folding.out.most = 1 + m.r.Int64N(64<<10)
		must.Do(m.t, m.folding.Merge(m.t.Context()))
	} else if must.Get(m.folding.End())(m.t) {
		m.folding = nil
		m.folds++
	}
}

// pack writes a generation of several kinds, and may give it up.
func (m *packModel) pack() {
	m.next++
	g := m.next
	b := m.d.NewPacks()
	b.most = 1 + m.r.Int64N(64<<10)
	wrote := map[string]string{}
	for i := range uint32(m.r.IntN(150)) {
		for _, key := range [][]byte{
			record.NumberKey(record.KindNodeAt, g, i), fmt.Appendf(record.Prefix(record.KindSpace, g), "%03d", i),
			record.PairKey(record.KindMatrix, g, i, 0), record.PairKey(record.KindMatrix, g, i, 7),
		} {
			body := randomBody(m.r)
			must.Do(m.t, b.Put(key, body))
			wrote[string(key)] = string(body)
		}
		if m.r.IntN(60) == 0 {
			must.Do(m.t, b.Publish())
		}
	}
	if m.r.IntN(4) == 0 {
		must.Do(m.t, b.Cancel())
		m.keep()
		return
	}
	must.Do(m.t, errors.Join(b.Publish(), b.Cancel()))
	m.name(g)
	m.live[g] = true
	maps.Copy(m.want, wrote)
	m.keep()
}

// name commits a record, as a catalogue that names other generations.
func (m *packModel) name(g record.Generation) {
	key := []byte{byte(record.KindCounts)}
	m.commit(func(txn *Txn) error {
		return txn.Set(key, record.Encode(key, []byte{byte(g)}))
	})
	m.want[string(key)] = string([]byte{byte(g)})
}

// change writes and deletes entries of spaces.
func (m *packModel) change() {
	if len(m.live) == 0 {
		return
	}
	g := m.anyLive()
	m.commit(func(txn *Txn) error {
		for range m.r.IntN(40) {
			key := fmt.Appendf(record.Prefix(record.KindSpace, g), "%03d", m.r.IntN(160))
			if m.r.IntN(2) == 0 {
				delete(m.want, string(key))
				if err := txn.Set(key, nil); err != nil {
					return err
				}
			} else {
				body := randomBody(m.r)
				m.want[string(key)] = string(body)
				if err := txn.Set(key, record.Encode(key, body)); err != nil {
					return err
				}
			}
			if m.r.IntN(8) == 0 {
				m.check(packSnapshot{txn, m.want}, record.Prefix(record.KindSpace, g))
			}
		}
		return nil
	})
}

func (m *packModel) anyLive() record.Generation {
	all := slices.Sorted(maps.Keys(m.live))
	return all[m.r.IntN(len(all))]
}

// drop ends a generation.
func (m *packModel) drop() {
	if len(m.live) == 0 {
		return
	}
	g := m.anyLive()
	m.name(g)
	delete(m.live, g)
	maps.DeleteFunc(m.want, func(key, _ string) bool { return len(key) >= 5 && record.GenerationOf([]byte(key)) == g })
	m.keep()
}

// check compares what a transaction reads under a prefix, in both directions and by key, with what it is to read.
func (m *packModel) check(s packSnapshot, prefix []byte) {
	m.t.Helper()
	lives := map[record.Generation]bool{}
	for key := range s.want {
		if len(key) >= 5 {
			lives[record.GenerationOf([]byte(key))] = true
		}
	}
	var keys []string
	for key := range s.want {
		if strings.HasPrefix(key, string(prefix)) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, descending := range []bool{false, true} {
		if descending && len(prefix) == 0 {
			continue
		}
		from := slices.Clone(prefix)
		if descending {
			slices.Reverse(keys)
			from = append(from, bytes.Repeat([]byte{0xff}, 8)...)
		}
		it := s.txn.Iterator(prefix, descending)
		var got []string
		for err := it.Seek(from); it.Valid(); err = it.Next() {
			rec, _, reading := it.Record()
			must.Do(m.t, errors.Join(err, reading))
			if len(rec.Key) >= 5 && !lives[record.GenerationOf(rec.Key)] {
				continue // of a generation that is dead, or of one that is not committed
			}
			if string(rec.Body) != s.want[string(rec.Key)] {
				m.t.Fatalf("%s: got a body of %d bytes, want %d", record.Describe(rec.Key), len(rec.Body),
					len(s.want[string(rec.Key)]))
			}
			got = append(got, string(rec.Key))
		}
		it.Close()
		if !slices.Equal(got, keys) {
			m.t.Fatalf("below %x, descending %v: got %d keys, want %d", prefix, descending, len(got), len(keys))
		}
	}
	for range 20 {
		key := fmt.Appendf(record.Prefix(record.KindSpace, 1+record.Generation(m.r.IntN(int(m.next)+1))), "%03d",
			m.r.IntN(160))
		if len(keys) > 0 && m.r.IntN(2) == 0 {
			key = []byte(keys[m.r.IntN(len(keys))])
		}
		want, there := s.want[string(key)]
		value, _, err := s.txn.Get(key)
		if !there {
			if lives[record.GenerationOf(key)] && !errors.Is(err, record.ErrNotFound) {
				m.t.Fatalf("%s: got %v, want ErrNotFound", record.Describe(key), err)
			}
			continue
		}
		body, decoding := record.Decode(key, value)
		if err := errors.Join(err, decoding); err != nil || string(body) != want {
			m.t.Fatalf("%s: got %d bytes, %v, want %d", record.Describe(key), len(body), err, len(want))
		}
	}
}

// TestPacks writes packs, changes entries of them, and drops them, at random and in several sessions, and compares
// what snapshots read with what was written. When it is closed, the database without Badger, and Badger alone, read
// the same.
func TestPacks(t *testing.T) {
	folds := 0
	for seed := range uint64(12) {
		m := &packModel{
			t: t, r: rand.New(rand.NewPCG(seed, 5)), dir: filepath.Join(t.TempDir(), "store"),
			live: map[record.Generation]bool{}, want: map[string]string{},
		}
		for range 4 {
			m.open()
			var snapshots []packSnapshot
			for range 12 {
				[]func(){m.pack, m.change, m.change, m.drop, m.fold, m.fold}[m.r.IntN(6)]()
				if m.r.IntN(4) == 0 {
					snapshots = append(snapshots, packSnapshot{m.d.Begin(false), maps.Clone(m.want)})
				}
				for i, s := range snapshots {
					if prefix := []byte(nil); m.r.IntN(3) == 0 {
						m.check(s, prefix)
					} else if len(m.live) > 0 {
						m.check(s, record.Prefix(record.KindSpace, m.anyLive()))
						m.check(s, record.Prefix(record.KindMatrix, m.anyLive()))
					}
					if m.r.IntN(4) == 0 {
						s.txn.Discard()
						snapshots = slices.Delete(snapshots, i, i+1)
						break
					}
				}
			}
			for _, s := range snapshots {
				s.txn.Discard()
			}
			if m.folding != nil {
				must.Do(t, m.folding.Cancel())
				m.folding = nil
			}
			closeTest(t, m.d)
			m.checkClosed()
		}
		folds += m.folds
	}
	if folds < 10 {
		t.Errorf("%d folds have ended, want more", folds)
	}
}

// checkClosed reads a closed database without Badger, and with Badger alone.
func (m *packModel) checkClosed() {
	d := must.Get(Open(m.dir, readOnlyOptions))(m.t)
	txn := d.Begin(false)
	m.check(packSnapshot{txn, m.want}, nil)
	txn.Discard()
	must.Do(m.t, d.Close())
	db := must.Get(badger.Open(badger.DefaultOptions(m.dir).WithReadOnly(true).WithLogger(nil)))(m.t)
	got := map[string]string{}
	must.Do(m.t, db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.DefaultIteratorOptions)
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			key := it.Item().KeyCopy(nil)
			if len(key) >= 5 && !m.live[record.GenerationOf(key)] {
				continue // of a generation that is dead
			}
			body, err := record.Decode(key, must.Get(it.Item().ValueCopy(nil))(m.t))
			if errors.Is(err, record.ErrNotFound) {
				continue // a record.Deletion
			}
			if err != nil {
				return err
			}
			got[string(key)] = string(body)
		}
		return nil
	}))
	must.Do(m.t, db.Close())
	if !maps.Equal(got, m.want) {
		m.t.Fatalf("Badger alone reads %d records, want %d", len(got), len(m.want))
	}
}

// closedDatabase is a database with two packs and a record of Badger's, closed.
func closedDatabase(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	m := &packModel{t: t, r: rand.New(rand.NewPCG(1, 0)), dir: dir, live: map[record.Generation]bool{7: true},
		want: map[string]string{}}
	m.open()
	b := m.d.NewPacks()
	must.Do(t, errors.Join(
		b.Put(record.NumberKey(record.KindNodeAt, 7, 0), []byte("node")), b.Put(record.NumberKey(record.KindPosition, 7, 0),
			[]byte("position")),
		b.Publish(), b.Cancel()))
	set(t, m.d, 1, "loose")
	m.keep()
	closeTest(t, m.d)
	return dir
}

// packFiles are the names of packs in a directory, in either form.
func packFiles(t *testing.T, dir string) (open, closed int) {
	t.Helper()
	f := must.Get(list(dir))(t)
	return len(f.open), len(f.closed)
}

// TestPacksWhileOpen expects packs to have no number while a database is open, and to have one when it is closed.
func TestPacksWhileOpen(t *testing.T) {
	dir := closedDatabase(t)
	if open, closed := packFiles(t, dir); open != 0 || closed != 2 {
		t.Errorf("closed: got %d packs without a number and %d with one, want 0 and 2", open, closed)
	}
	d := openTest(t, dir)
	if open, closed := packFiles(t, dir); open != 2 || closed != 0 {
		t.Errorf("open: got %d packs without a number and %d with one, want 2 and 0", open, closed)
	}
	must.Do(t, d.OpenPacks(func(record.Generation) bool { return true }))
	closeTest(t, d)
}

// TestCutManifest cuts the manifest of a closed database short: that is told, and no other program is blamed.
func TestCutManifest(t *testing.T) {
	dir := closedDatabase(t)
	path := filepath.Join(dir, ManifestName)
	must.Do(t, os.Truncate(path, must.Get(os.Stat(path))(t).Size()-1))
	for _, opt := range []Options{{MemoryBudget: testBudget}, readOnlyOptions} {
		_, err := Open(dir, opt)
		if !errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(), "cut off") || strings.Contains(err.Error(),
			foreign) {
			t.Errorf("read-only %v: got %v, want ErrCorrupt of a manifest that is cut off", opt.ReadOnly, err)
		}
	}
}

// TestMissingPack removes a pack of a closed database, and of one that crashed: opening says which is missing.
func TestMissingPack(t *testing.T) {
	dir := closedDatabase(t)
	opt := Options{MemoryBudget: testBudget}
	crashed := filepath.Join(t.TempDir(), "crashed")
	must.Do(t, os.CopyFS(crashed, os.DirFS(dir)))
	d := openTest(t, crashed)
	must.Do(t, d.OpenPacks(func(record.Generation) bool { return true }))
	d.Fail(errors.New("a write failed"))
	d.Close() // it leaves what a crash leaves
	must.Do(t, os.Remove(openPath(crashed, must.Get(list(crashed))(t).open[0])))
	missing := table.NewFilename(must.Get(list(dir))(t).closed[0], dir)
	must.Do(t, os.Remove(missing))
	for _, opt := range []Options{opt, readOnlyOptions} {
		if _, err := Open(dir, opt); !errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(),
			filepath.Base(missing)) {
			t.Errorf("closed, read-only %v: got %v, want ErrCorrupt that names the pack", opt.ReadOnly, err)
		}
	}
	d = openTest(t, crashed)
	if err := d.OpenPacks(func(record.Generation) bool { return true }); !errors.Is(err, record.ErrCorrupt) {
		t.Errorf("crashed: got %v, want ErrCorrupt", err)
	}
	closeTest(t, d)
}

// TestKilledSwitch stops the switch of names, of Close and of Open, at each step: the next Open has everything.
func TestKilledSwitch(t *testing.T) {
	whole := closedDatabase(t)
	ids := []uint64{firstPack + 1, firstPack + 2}
	check := func(name, dir string) {
		t.Helper()
		must.Do(t, storedir.MarkWriter(dir)) // as if it was killed
		d := openTest(t, dir)
		defer closeTest(t, d)
		must.Do(t, d.OpenPacks(func(record.Generation) bool { return true }))
		must.Do(t, d.View(func(txn *Txn) error {
			for _, key := range [][]byte{record.NumberKey(record.KindNodeAt, 7, 0), record.NumberKey(record.KindPosition, 7, 0),
				testKey(0)} {
				if _, _, err := txn.Get(key); err != nil {
					t.Errorf("%s: %s: %v", name, record.Describe(key), err)
				}
			}
			return nil
		}))
	}
	for renamed := range len(ids) + 1 { // the manifest names all packs, of which so many have their numbers
		dir := filepath.Join(t.TempDir(), "store")
		must.Do(t, os.CopyFS(dir, os.DirFS(whole)))
		for _, id := range ids[renamed:] {
			must.Do(t, os.Rename(table.NewFilename(id, dir), openPath(dir, id)))
		}
		check(fmt.Sprint(renamed, " renamed"), dir)
	}
	dir := filepath.Join(t.TempDir(), "store")
	must.Do(t, os.CopyFS(dir, os.DirFS(whole)))
	must.Do(t, must.Get(prepare(dir, false))(t).settle(dir)) // all but the opening of Badger
	check("hidden", dir)
}
