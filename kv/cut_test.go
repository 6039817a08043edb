package kv

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/journal"
)

// cutsAsked says how many lengths TestCrashKeepsPrefix cuts a log to.
const cutsAsked = "GRAPHCLEANER_TEST_CUTS"

// TestCrashKeepsPrefix commits transactions of very different sizes, copies the files of the open store, and cuts the newest to
// many lengths, as a power cut may leave them. With Badger's log cut all commits are there, as the journal has them. With
// the journal cut and a log that holds no more, a prefix of the commits is there, each of them whole; with one that holds
// more, Open says which are in doubt. Check is clean.
func TestCrashKeepsPrefix(t *testing.T) {
	t.Parallel()
	cuts := longtest.Of(5, 100)
	if asked := os.Getenv(cutsAsked); asked != "" {
		var err error
		if cuts, err = strconv.Atoi(asked); err != nil {
			t.Fatalf("%s: %v", cutsAsked, err)
		}
	}
	s := newStore(t, Options{})
	addNodes(t, s, 50)
	update(t, s, func(tx *Tx) error {
		mark, err := tx.LastCommit()
		return errors.Join(err, tx.AddColumn("x", KindInt), tx.AddColumn("y", KindInt), tx.PutDocument("commits", "last", 0),
			tx.PutDocument("commits", "mark", mark+1))
	})
	closeStore(t, s)
	s = openStore(t, s.Dir(), Options{})
	r := rand.New(rand.NewPCG(8, 2))
	ends := []int64{logEnd(t, s.Dir())}         // of the log, after each commit
	recorded := []int64{journalEnd(t, s.Dir())} // of the journal
	const commits = 60
	for n := range int64(commits) {
		update(t, s, func(tx *Tx) error {
			for range 1 + r.IntN(40) {
				v := NodeID(r.IntN(50))
				must.Do(t, errors.Join(tx.SetValue(v, "x", IntValue(n+1)), tx.SetValue(v, "y", IntValue(n+1))))
			}
			return tx.PutDocument("commits", "last", n+1)
		})
		ends = append(ends, logEnd(t, s.Dir()))
		recorded = append(recorded, journalEnd(t, s.Dir()))
	}
	size := ends[len(ends)-1]
	lengths := []int64{size, size - 1, size + 100, ends[0], ends[0] + 1}
	for i := range int64(cuts) {
		lengths = append(lengths, ends[0]+i*(size-ends[0])/int64(cuts)+r.Int64N((size-ends[0])/int64(cuts)))
	}
	survived, tried := 0, 0
	try := func(name string, want int, cut func(dir string) error) {
		t.Helper()
		tried++
		copied := copyStore(t, s.Dir())
		defer os.RemoveAll(copied)
		must.Do(t, cut(copied))
		opened, err := Open(copied, Options{MemoryBudget: minMemoryBudget})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if got := committed(t, opened); got != want {
			t.Errorf("%s: got %d commits, want %d", name, got, want)
		} else {
			survived++
		}
		checkClean(t, opened)
		closeStore(t, opened)
	}
	for _, length := range lengths {
		try(fmt.Sprintf("log cut to %d of %d bytes", length, size), commits, func(dir string) error {
			return os.Truncate(onlyLog(t, dir), length)
		})
	}
	begin, end := recorded[0], recorded[commits]
	lengths = []int64{end, end - 1, begin, begin + 1}
	for i := range int64(cuts) {
		lengths = append(lengths, begin+i*(end-begin)/int64(cuts)+r.Int64N((end-begin)/int64(cuts)))
	}
	for i, length := range lengths {
		want, _ := slices.BinarySearch(recorded, length+1)
		want-- // commits that end at or before the cut
		try(fmt.Sprintf("journal cut to %d of %d bytes", length, end), want, func(dir string) error {
			log := ends[want] // of what the journal had then, Badger may have less
			if i%2 == 0 {
				log = ends[want/2]
			}
			return errors.Join(os.Truncate(onlyLog(t, dir), log), os.Truncate(onlyJournal(t, dir), length))
		})
		if want == commits {
			continue
		}
		copied := copyStore(t, s.Dir())
		must.Do(t, os.Truncate(onlyJournal(t, copied), length))
		_, err := Open(copied, Options{MemoryBudget: minMemoryBudget})
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(onlyJournal(t, copied))) {
			t.Errorf("only the journal cut to %d of %d bytes: got %v, want ErrCorrupt that names it", length, end, err)
		}
		must.Do(t, os.RemoveAll(copied))
	}
	fmt.Printf("truncated %d survived %d\n", tried, survived)
}

// committed is the number of the last commit, of which everything must be there, and nothing of a later one.
func committed(t *testing.T, s *Store) (last int) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		must.Do(t, tx.Document("commits", "last", &last))
		var mark uint64
		must.Do(t, tx.Document("commits", "mark", &mark))
		changes := must.Get(tx.ChangesSince(mark))(t)
		changed := changes.Column("x")
		greatest := int64(0)
		for v := range NodeID(tx.NumNodes()) {
			x := must.Get(tx.Value(v, "x"))(t)
			y := must.Get(tx.Value(v, "y"))(t)
			if x != y {
				t.Errorf("node number %d has x %v and y %v, which are written together", v, x, y)
			}
			if changed.Has(v) == x.IsNull() {
				t.Errorf("node number %d has x %v, and it is %t that it changed", v, x, changed.Has(v))
			}
			greatest = max(greatest, x.Int())
		}
		if greatest != int64(last) {
			t.Errorf("the last commit is %d, and there is a value of commit %d", last, greatest)
		}
		return nil
	})
	return last
}

// onlyLog is the log of the one memtable there is.
func onlyLog(t *testing.T, dir string) string {
	t.Helper()
	logs := fileNames(t, dir, "*.mem")
	if len(logs) != 1 {
		t.Fatalf("got logs %v, want one", logs)
	}
	return filepath.Join(dir, logs[0])
}

// onlyJournal is the one segment of the journal.
func onlyJournal(t *testing.T, dir string) string {
	t.Helper()
	files := fileNames(t, dir, journalName+"-*.log")
	if len(files) != 1 {
		t.Fatalf("got a journal of %v, want one file", files)
	}
	return filepath.Join(dir, files[0])
}

// journalEnd is where the journal ends: what follows is reserved.
func journalEnd(t *testing.T, dir string) int64 {
	t.Helper()
	c := must.Get(journal.Scan(dir, journalName, nil))(t)
	return c.Segments[len(c.Segments)-1].End
}

// logEnd is where the log of the one memtable ends: what follows is zero.
func logEnd(t *testing.T, dir string) int64 {
	t.Helper()
	text := must.Get(os.ReadFile(onlyLog(t, dir)))(t)
	zeros := make([]byte, 1<<12)
	for bytes.HasSuffix(text, zeros) {
		text = text[:len(text)-len(zeros)]
	}
	return int64(len(bytes.TrimRight(text, "\x00")))
}
