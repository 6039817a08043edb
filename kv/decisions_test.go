package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// decide puts decisions into a store that is open.
func decisionsPath(dir string) string { return filepath.Join(dir, decisions.FileName) }

func decide(t *testing.T, s *Store, first, end int) {
	t.Helper()
	for i := first; i < end; i++ {
		update(t, s, func(tx *Tx) error {
			space := tx.Space("decisions")
			return errors.Join(space.KeepTwice(), space.Put(fmt.Appendf(nil, "%03d", i), fmt.Append(nil, "decision ", i)),
				space.Put(fmt.Appendf(nil, "by node %d", i%5), fmt.Append(nil, i)), space.Delete(fmt.Appendf(nil, "by node %d",
					(i+1)%5)))
		})
	}
}

// decided returns how many of these decisions a store has, which opens and has no problem.
func decided(t *testing.T, dir string, first, end int) (n int) {
	t.Helper()
	s := must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget}))(t)
	defer closeStore(t, s)
	view(t, s, func(tx *Tx) error {
		for i := first; i < end; i++ {
			value, err := tx.Space("decisions").Get(fmt.Appendf(nil, "%03d", i))
			n += codec.Bit(err == nil && string(value) == fmt.Sprint("decision ", i))
		}
		return nil
	})
	checkClean(t, s)
	return n
}

// agedStore has decisions of three sessions: old is a copy of the closed store after the first, later after the
// second, and crashed is a copy after a kill in the third.
func agedStore(t *testing.T) (old, later, crashed string) {
	t.Helper()
	s := newStore(t, Options{})
	addNodes(t, s, 5)
	decide(t, s, 0, 10)
	closeStore(t, s)
	old = copyStore(t, s.Dir())
	s = openStore(t, s.Dir(), Options{})
	decide(t, s, 10, 20)
	closeStore(t, s)
	later = copyStore(t, s.Dir())
	s = openStore(t, s.Dir(), Options{})
	decide(t, s, 20, 25)
	return old, later, copyStore(t, s.Dir())
}

// replaceFiles puts the files of patterns that one directory has in the place of those of another.
func replaceFiles(t *testing.T, from, to string, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		for _, name := range fileNames(t, to, pattern) {
			must.Do(t, os.Remove(filepath.Join(to, name)))
		}
		for _, name := range fileNames(t, from, pattern) {
			text, err := os.ReadFile(filepath.Join(from, name))
			must.Do(t, errors.Join(err, os.WriteFile(filepath.Join(to, name), text, 0o600)))
		}
	}
}

// repairLosing repairs a store that is damaged, and returns what was lost and done.
func repairLosing(t *testing.T, dir string) (lost Losses, done string) {
	t.Helper()
	var all []Correction
	lost, err := Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil,
		func(m Correction) { all = append(all, m) })
	if err != nil {
		t.Fatalf("repairing: %v, after %v", err, all)
	}
	damagedStores.Delete(dir)
	return lost, fmt.Sprint(all)
}

// TestLostEntriesAreBroughtBack deletes and changes entries of a space that is kept twice: Check finds each, and Repair
// puts it back.
func TestLostEntriesAreBroughtBack(t *testing.T) {
	t.Parallel()
	_, dir, _ := agedStore(t)
	want := must.Get(contentsOf(t, copyStore(t, dir)))(t)
	for _, how := range []string{"deleted", "other"} {
		copied := copyStore(t, dir)
		damagedStores.Store(copied, true)
		s, err := Open(copied, Options{MemoryBudget: minMemoryBudget})
		must.Do(t, err)
		g := record.Generation(0)
		view(t, s, func(tx *Tx) error { g = tx.cat.Spaces["decisions"]; return nil })
		for _, i := range []int{0, 7, 15} {
			key := spaceKey(g, fmt.Appendf(nil, "%03d", i))
			var value []byte
			if how == "other" {
				value = record.Encode(key, []byte("another"))
			}
			writeRaw(t, s, key, value)
		}
		const want3 = "space decisions: 3 entries are missing, or not as decisions.log has them"
		if found := problems(t, s); !slices.Contains(found, want3) {
			t.Errorf("%s: Check finds %q, want %q", how, found, want3)
		}
		closeStore(t, s)
		if _, done := repairLosing(t, copied); !strings.Contains(done, " 3 ") {
			t.Errorf("%s: repairing did %s, want 3 entries put back", how, done)
		}
		sameButChanges(t, how, copied, want)
	}
}

// TestDamagedDecisionsAreTold damages decisions.log of a closed store: Check and an Open for writing find it, the
// store can be read, and Repair, which loses nothing, makes it again.
func TestDamagedDecisionsAreTold(t *testing.T) {
	t.Parallel()
	old, dir, _ := agedStore(t)
	want := must.Get(contentsOf(t, copyStore(t, dir)))(t)
	damages := fileDamages(400, old)
	damages["of another store"] = func(path string) error {
		other, _, _ := agedStore(t)
		replaceFiles(t, other, filepath.Dir(path), decisions.FileName)
		return nil
	}
	for name, damage := range damages {
		copied := copyStore(t, dir)
		damagedStores.Store(copied, true)
		must.Do(t, damage(decisionsPath(copied)))
		_, err := Open(copied, Options{MemoryBudget: minMemoryBudget})
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), decisions.FileName) ||
			!strings.Contains(err.Error(), "not written to") {
			t.Errorf("%s: open: got %v, want ErrCorrupt that names the file", name, err)
		}
		s, err := Open(copied, Options{MemoryBudget: minMemoryBudget, ReadOnly: true})
		must.Do(t, err)
		found := 0
		if err := s.Check(t.Context(), nil, func(p Problem) {
			found += codec.Bit(strings.Contains(p.String(),
				decisions.FileName))
		}); err != nil || found == 0 {
			t.Errorf("%s: Check finds nothing (%v)", name, err)
		}
		closeStore(t, s)
		lost, done := repairLosing(t, copied)
		if !strings.Contains(done, decisions.FileName) || len(lost) > 0 || strings.Contains(done, "put back") {
			t.Errorf("%s: repairing did %s, and lost %v, want the file written anew", name, done, lost)
		}
		sameContents(t, name, copied, want)
	}
}

// TestDamagedDecisionsAfterACrash damages decisions.log of a store that crashed. If the damage is at its end, Open
// completes it from the store. If something whole follows, Open leaves it alone and tells, and Repair loses nothing.
func TestDamagedDecisionsAfterACrash(t *testing.T) {
	t.Parallel()
	_, _, crashed := agedStore(t)
	size := must.Get(os.Stat(decisionsPath(crashed)))(t).Size()
	completed, repaired := 0, 0
	for at := size - 1; at > size/3; at -= size / 8 {
		dir := copyStore(t, crashed)
		must.Do(t, flipByte(decisionsPath(dir), at))
		damagedStores.Store(dir, true)
		if s, err := Open(dir, Options{MemoryBudget: minMemoryBudget}); err == nil {
			closeStore(t, s)
			completed++
		} else if !errors.Is(err, ErrCorrupt) || strings.Contains(err.Error(), "can be read") {
			t.Errorf("byte %d: got %v, want ErrCorrupt that does not say the store can be read", at, err)
		} else if must.Get(os.Stat(decisionsPath(dir)))(t).Size() != size {
			t.Errorf("byte %d: the file is not as it was", at)
		} else {
			lost, done := repairLosing(t, dir)
			if len(lost) > 0 {
				t.Errorf("byte %d: repairing did %s, and lost %v", at, done, lost)
			}
			repaired++
		}
		damagedStores.Delete(dir)
		if got := decided(t, dir, 0, 25); got != 25 {
			t.Errorf("byte %d: got %d decisions, want 25", at, got)
		}
	}
	if completed == 0 || repaired == 0 {
		t.Errorf("%d stores were opened and %d repaired, want some of both", completed, repaired)
	}
}

// TestTornDecisionsBesideALostLog has lost Badger's log in a crash that tore the end of decisions.log: Repair takes
// from that what is whole.
func TestTornDecisionsBesideALostLog(t *testing.T) {
	t.Parallel()
	_, _, dir := agedStore(t)
	must.Do(t, os.Truncate(onlyLog(t, dir), 10))
	f := must.Get(os.OpenFile(decisionsPath(dir), os.O_WRONLY|os.O_APPEND, 0))(t)
	_, err := f.WriteString("a frame")
	must.Do(t, errors.Join(err, f.Close()))
	damagedStores.Store(dir, true)
	if _, err := Open(dir, Options{MemoryBudget: minMemoryBudget}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
	lost, done := repairLosing(t, dir)
	if got := decided(t, dir, 0, 25); got != 25 {
		t.Errorf("got %d decisions, want 25: repairing did %s, and lost %v", got, done, lost)
	}
}

// TestLostDecisions has lost both logs in a crash: Repair says that decisions may be lost.
func TestLostDecisions(t *testing.T) {
	t.Parallel()
	_, _, dir := agedStore(t)
	must.Do(t, errors.Join(os.Remove(onlyLog(t, dir)), os.Remove(decisionsPath(dir))))
	damagedStores.Store(dir, true)
	if _, done := repairLosing(t, dir); !strings.Contains(done,
		"if a log of Badger is lost too, so are decisions of the last commits") {
		t.Errorf("repairing did %s", done)
	}
}

// TestReplayedDeletion replays the deletion of an entry that a pack has.
func TestReplayedDeletion(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	addNodes(t, s, 5)
	decide(t, s, 0, 3)
	var backup bytes.Buffer
	must.Get(s.Backup(t.Context(), &backup, BackupOptions{}))(t)
	dir := filepath.Join(t.TempDir(), "restored")
	must.Get(Restore(t.Context(), dir, []io.Reader{&backup}, Options{}, nil))(t)
	before := copyStore(t, dir)
	s = openStore(t, dir, Options{})
	update(t, s, func(tx *Tx) error { return tx.Space("decisions").Delete([]byte("001")) })
	closeStore(t, s)
	replaceFiles(t, dir, before, decisions.FileName)
	if got := decided(t, before, 0, 3); got != 2 {
		t.Errorf("got %d decisions, want 2", got)
	}
	if lost, done := repairLosing(t, before); done != "[]" {
		t.Errorf("repairing did %s, and lost %v, want nothing done", done, lost)
	}
}

// TestDamagedLogKeepsDecisions has a store that crashed after commits with and without decisions, and damages
// Badger's log at many places. Every decision is there when the store is opened, or Open says that commits are lost
// and a repair brings back the decisions.
func TestDamagedLogKeepsDecisions(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	addNodes(t, s, 20)
	decide(t, s, 0, 1)
	update(t, s, func(tx *Tx) error { return tx.SetLabel(19, "class") })
	closeStore(t, s)
	s = openStore(t, s.Dir(), Options{})
	begin := logEnd(t, s.Dir())
	const last = 12
	for i := 1; i < last; i++ {
		if i%3 > 0 {
			update(t, s, func(tx *Tx) error { return tx.SetLabel(NodeID(i), "class") })
		}
		decide(t, s, i, i+1)
	}
	update(t, s, func(tx *Tx) error { return tx.SetLabel(0, "class") })
	crashed, end := copyStore(t, s.Dir()), logEnd(t, s.Dir())
	outcomes := map[string]int{}
	tries := int64(longtest.Of(12, 200))
	for i := range tries + 1 {
		dir := copyStore(t, crashed)
		must.Do(t, flipByte(onlyLog(t, dir), begin+(end-1-begin)*i/tries))
		damagedStores.Store(dir, true)
		opened, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
		outcome := "opened"
		switch {
		case err == nil:
			closeStore(t, opened)
			damagedStores.Delete(dir)
		case errors.Is(err, ErrCorrupt) && strings.Contains(err.Error(), "what was committed between is lost"):
			outcome = "repaired"
			if lost, done := repairLosing(t, dir); !strings.Contains(lost.String(), "commit") {
				t.Errorf("byte %d: repairing did %s, and lost %v, want commits", i, done, lost)
			}
		default:
			t.Fatalf("byte %d: %v", i, err)
		}
		outcomes[outcome]++
		if got := decided(t, dir, 0, last); got != last {
			t.Errorf("byte %d, %s: got %d decisions, want %d", i, outcome, got, last)
		}
	}
	if outcomes["opened"] == 0 || outcomes["repaired"] == 0 {
		t.Errorf("got %v, want both", outcomes)
	}
}

// TestDecisionsOfEarlierTables has all but decisions.log of an earlier time. Open gives Badger the decisions that it
// lacks; if another commit is missing, Open tells, and Repair takes the decisions from the file.
func TestDecisionsOfEarlierTables(t *testing.T) {
	t.Parallel()
	for _, missing := range []bool{false, true} {
		s := newStore(t, Options{})
		addNodes(t, s, 5)
		decide(t, s, 0, 10)
		closeStore(t, s)
		dir := copyStore(t, s.Dir())
		s = openStore(t, s.Dir(), Options{})
		if missing {
			update(t, s, func(tx *Tx) error { return tx.SetLabel(0, "other") })
		}
		decide(t, s, 10, 20)
		closeStore(t, s)
		replaceFiles(t, s.Dir(), dir, decisions.FileName)
		damagedStores.Store(dir, true)
		if missing {
			for _, readOnly := range []bool{false, true} {
				_, err := Open(dir, Options{MemoryBudget: minMemoryBudget, ReadOnly: readOnly})
				if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(),
					"decisions of commit 23, and the store has come to 12") {
					t.Errorf("read-only %t: got %v, want ErrCorrupt that names the commits", readOnly, err)
				}
			}
			if lost, done := repairLosing(t, dir); lost.String() != "at most 11 commits" {
				t.Errorf("repairing did %s, and lost %v, want at most 11 commits", done, lost)
			}
		}
		damagedStores.Delete(dir)
		if got := decided(t, dir, 0, 20); got != 20 {
			t.Errorf("a commit missing %t: got %d decisions, want 20", missing, got)
		}
	}
}

// TestReplayGoesOn has tables that lack a commit of decisions which no transaction of the smallest memory budget holds,
// or have a part of it, as a kill amid the replay leaves. Open gives Badger all of it.
func TestReplayGoesOn(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{MemoryBudget: 1 << 30})
	decide(t, s, 0, 1)
	fill := func(name string) {
		update(t, s, func(tx *Tx) (err error) {
			for i := range 100 {
				err = errors.Join(err, tx.Space("decisions").Put(fmt.Append([]byte(name), i), make([]byte, MaxSpaceValue)))
			}
			return err
		})
	}
	fill("earlier ")
	closeStore(t, s)
	earlier := copyStore(t, s.Dir())
	s = openStore(t, s.Dir(), Options{MemoryBudget: 1 << 30})
	g, commit := record.Generation(0), s.commits+1
	view(t, s, func(tx *Tx) error { g = tx.cat.Spaces["decisions"]; return nil })
	fill("later ")
	closeStore(t, s)
	for _, part := range []string{"no", "a closed", "a killed"} {
		dir := copyStore(t, earlier)
		if part != "no" {
			damagedStores.Store(dir, true)
			s := openStore(t, dir, Options{})
			key, changes := spaceKey(g, []byte("later 7")), record.ChangesKey(commit)
			entries := []decisions.Entry{{Key: key, Value: record.Encode(key, make([]byte, MaxSpaceValue))},
				{Key: changes, Value: record.Encode(changes, nil)}}
			txn := s.db.Begin(true)
			for _, e := range changesFirst(entries)[:1] { // as early as can be
				must.Do(t, txn.Set(e.Key, e.Value))
			}
			must.Do(t, txn.Commit(commit))
			txn.Discard()
			if part == "a killed" {
				dir = copyStore(t, dir)
				damagedStores.Store(dir, true)
			}
			closeStore(t, s)
		}
		replaceFiles(t, s.Dir(), dir, decisions.FileName)
		damagedStores.Delete(dir)
		s := openStore(t, dir, Options{MemoryBudget: minMemoryBudget})
		if got := s.db.Version(); got != commit {
			t.Errorf("%s part: got version %d, want %d", part, got, commit)
		}
		checkClean(t, s)
	}
}

// TestEarlierDecisionsAreUsed damages an entry beside a decisions.log that is too old: it is put back, and an entry
// that was changed later stays.
func TestEarlierDecisionsAreUsed(t *testing.T) {
	t.Parallel()
	old, later, _ := agedStore(t)
	s := must.Get(Open(later, Options{MemoryBudget: minMemoryBudget}))(t)
	g := record.Generation(0)
	view(t, s, func(tx *Tx) error { g = tx.cat.Spaces["decisions"]; return nil })
	for i, value := range map[int][]byte{3: {1, 2}, 4: record.Encode(spaceKey(g, []byte("004")), []byte("newer"))} {
		writeRaw(t, s, spaceKey(g, fmt.Appendf(nil, "%03d", i)), value)
	}
	closeStore(t, s)
	replaceFiles(t, old, later, decisions.FileName)
	_, done := repairLosing(t, later)
	if got := decided(t, later, 0, 20); got != 19 {
		t.Errorf("got %d decisions after %v, want all but the newer one", got, done)
	}
	s = openStore(t, later, Options{})
	view(t, s, func(tx *Tx) error {
		if value, err := tx.Space("decisions").Get([]byte("004")); err != nil || string(value) != "newer" {
			t.Errorf("got %q (%v) after %v, want what is later than the file", value, err, done)
		}
		return nil
	})
}

// TestDecisionsOfAFork has the decisions.log of a store that was copied and went on in another way, by as many
// commits: the report says that whole entries were replaced.
func TestDecisionsOfAFork(t *testing.T) {
	t.Parallel()
	_, dir, _ := agedStore(t)
	fork := copyStore(t, dir)
	for i, dir := range []string{dir, fork} {
		s := openStore(t, dir, Options{})
		for k := range 3 {
			update(t, s, func(tx *Tx) error {
				return tx.Space("decisions").Put(fmt.Append(nil, "since ", k+i), fmt.Append(nil, "of ", i))
			})
		}
		closeStore(t, s)
	}
	damagedStores.Store(dir, true)
	replaceFiles(t, fork, dir, decisions.FileName)
	_, done := repairLosing(t, dir)
	if want := "1 are missing, and 2 other than in " + decisions.FileName; !strings.Contains(done, want) {
		t.Errorf("repairing did %s, want %s", done, want)
	}
}

// entriesOfLog are the decisions that decisions.log has, with the names of their spaces.
func entriesOfLog(t *testing.T, s *Store) string {
	t.Helper()
	log := must.Get(decisions.Open(s.Dir(), s.ID(), true))(t)
	defer log.Close()
	tx := s.Begin()
	defer tx.Close()
	got := map[string]string{}
	must.Do(t, log.Scan(true, func(f decisions.Frame) error {
		for _, e := range f.Entries {
			for _, space := range tx.cat.twice() {
				key, found := bytes.CutPrefix(e.Key, record.Prefix(record.KindSpace, tx.cat.Spaces[space]))
				name := space + " " + string(key)
				if found {
					delete(got, name)
				}
				if found && e.Value != nil {
					got[name] = string(must.Get(record.Decode(e.Key, e.Value))(t))
				}
			}
		}
		return nil
	}))
	return fmt.Sprint(got)
}

// TestDecisionsFollowBulks replaces a space that is kept twice, drops it, and marks one that is there already; what
// is restored of a backup has decisions.log too. A crash may come before the file follows: then Open writes it.
func TestDecisionsFollowBulks(t *testing.T) {
	t.Parallel()
	_, dir, _ := agedStore(t)
	s := openStore(t, dir, Options{})
	before := map[string]string{} // decisions.log before each change
	keep := func(what string) { before[what] = textOf(t, decisionsPath(s.Dir())) }
	want := map[string]string{}
	same := func(what string) {
		t.Helper()
		if got := entriesOfLog(t, s); got != fmt.Sprint(want) {
			t.Errorf("%s: got %s, want %v", what, got, want)
		}
		checkClean(t, s)
		if before[what] == "" {
			return
		}
		crashed := copyStore(t, s.Dir())
		must.Do(t, os.WriteFile(decisionsPath(crashed), []byte(before[what]), 0o600))
		again := openStore(t, crashed, Options{})
		if got := entriesOfLog(t, again); got != fmt.Sprint(want) {
			t.Errorf("%s, after a crash: got %s, want %v", what, got, want)
		}
		checkClean(t, again)
	}
	keep("replaced")
	b := must.Get(s.Bulk(context.Background()))(t)
	defer b.Abort()
	put := must.Get(b.Space("decisions"))(t)
	for i := range 10 {
		must.Do(t, put(fmt.Append(nil, i), []byte("new")))
		want["decisions "+fmt.Sprint(i)] = "new"
	}
	must.Do(t, b.Commit(nil))
	same("replaced")
	update(t, s, func(tx *Tx) error { return tx.Space("other").Put([]byte("k"), []byte("v")) })
	keep("kept")
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.Space("other").KeepTwice(), tx.Space("decisions").Delete([]byte("3")))
	})
	delete(want, "decisions 3")
	want["other k"] = "v"
	same("kept")
	file, _ := backupOf(t, s, nil)
	restored := restoreAll(t, file)
	if got := entriesOfLog(t, restored); got != fmt.Sprint(want) {
		t.Errorf("restored: got %s, want %v", got, want)
	}
	checkClean(t, restored)
	keep("dropped")
	update(t, s, func(tx *Tx) error { return tx.Space("decisions").Drop() })
	want = map[string]string{"other k": "v"}
	same("dropped")
	closeStore(t, s)
	s = openStore(t, s.Dir(), Options{})
	same("opened again")
}

// TestDecisionsStayShort decides the same again and again: decisions.log does not grow with it.
func TestDecisionsStayShort(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	addNodes(t, s, 1)
	most := int64(0)
	for i := range 120 {
		update(t, s, func(tx *Tx) error {
			space := tx.Space("decisions")
			return errors.Join(space.KeepTwice(), space.Put([]byte("key"), fmt.Append(make([]byte, MaxSpaceValue-9), i)))
		})
		info := must.Get(os.Stat(decisionsPath(s.Dir())))(t)
		most = max(most, info.Size())
	}
	if most > 3<<20 {
		t.Errorf("decisions.log grew to %d bytes, want at most 3 MiB", most)
	}
	checkClean(t, s)
	crashed := openStore(t, copyAtRest(t, s.Dir()), Options{})
	checkClean(t, crashed)
}

// TestLostTableOfDecisions takes records out of the table that has most decisions, as a fault of the disk may: Repair
// brings all back.
func TestLostTableOfDecisions(t *testing.T) {
	t.Parallel()
	_, dir, _ := agedStore(t)
	found := false
	for _, table := range fileNames(t, dir, "*.sst") {
		copied := copyStore(t, dir)
		text := must.Get(os.ReadFile(filepath.Join(copied, table)))(t)
		from := strings.Index(string(text), "decision 3")
		if from < 0 {
			continue
		}
		found = true
		copy(text[from-40:], make([]byte, 80))
		must.Do(t, os.WriteFile(filepath.Join(copied, table), text, 0o600))
		damagedStores.Store(copied, true)
		_, done := repairLosing(t, copied)
		if got := decided(t, copied, 0, 20); got != 20 {
			t.Errorf("got %d decisions after %v, want 20", got, done)
		}
	}
	if !found {
		t.Error("no table has the decisions")
	}
}

// TestDecisionsBesideCheck decides while a Check reads: nothing waits for it, and it finds what was committed when it
// began.
func TestDecisionsBesideCheck(t *testing.T) {
	t.Parallel()
	_, dir, _ := agedStore(t)
	s := openStore(t, dir, Options{})
	asked := 0
	progress := func(string, int64, int64) {
		if asked++; asked > 3 {
			return
		}
		decide(t, s, 20*asked, 20*asked+5)
		update(t, s, func(tx *Tx) error { return tx.Space("decisions").Delete([]byte("003")) })
		must.Do(t, s.renewDecisions())
	}
	if err := s.Check(t.Context(), progress, func(p Problem) { t.Error(p) }); err != nil || asked == 0 {
		t.Errorf("got %v, asked %d times", err, asked)
	}
}

// TestRefusedDecisionIsThereLater has Badger refuse decisions that decisions.log has: they are committed, and the
// error says so; nothing more is written, and the next open finds them.
func TestRefusedDecisionIsThereLater(t *testing.T) {
	t.Parallel()
	_, dir, _ := agedStore(t)
	s := openStore(t, dir, Options{})
	refused := s.Update(func(tx *Tx) error {
		defer s.db.Abandon()
		return errors.Join(tx.Space("decisions").Put([]byte("last"), []byte("committed")),
			tx.Documents("documents").Put("last", "committed"))
	})
	if !errors.Is(refused, ErrFailed) || !errors.Is(refused, ErrCommitted) || !strings.HasPrefix(refused.Error(),
		"committed") {
		t.Errorf("got %v, want an ErrFailed and ErrCommitted that says committed", refused)
	}
	if err := s.db.Failed(); !errors.Is(err, ErrFailed) {
		t.Errorf("the store goes on writing: got %v", err)
	}
	left := copyAtRest(t, s.Dir())
	s.mu.Lock()
	s.closed = true // Badger is
	s.mu.Unlock()
	must.Do(t, s.decided.Close())
	again := openStore(t, left, Options{})
	view(t, again, func(tx *Tx) error {
		var got string
		_, err := tx.Space("decisions").Get([]byte("last"))
		if err := errors.Join(err, tx.Documents("documents").Get("last", &got)); err != nil || got != "committed" {
			t.Errorf("opened again: got %q (%v), want what was committed", got, err)
		}
		return nil
	})
	checkClean(t, again)
}
