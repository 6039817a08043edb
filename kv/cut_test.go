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
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// cutsAsked says how many lengths TestCrashKeepsPrefix cuts a log to.
const cutsAsked = "GRAPHCLEANER_TEST_CUTS"

// TestCrashKeepsPrefix commits transactions of very different sizes, copies the files of the open store, and cuts
// Badger's log to many lengths. A prefix of the commits is there, each of them whole: those that end before the cut.
// Check is clean.
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
		return errors.Join(err, tx.AddColumn("x", KindInt), tx.AddColumn("y", KindInt),
			tx.Documents("commits").Put("last", 0),
			tx.Documents("commits").Put("mark", mark+1))
	})
	closeStore(t, s)
	s = openStore(t, s.Dir(), Options{})
	r := rand.New(rand.NewPCG(8, 2))
	ends := []int64{logEnd(t, s.Dir())} // of the log, after each commit
	const commits = 60
	for n := range int64(commits) {
		update(t, s, func(tx *Tx) error {
			for range 1 + r.IntN(40) {
				v := NodeID(r.IntN(50))
				must.Do(t, errors.Join(tx.SetValue(v, "x", ValueOf(n+1)), tx.SetValue(v, "y", ValueOf(n+1))))
			}
			return tx.Documents("commits").Put("last", n+1)
		})
		ends = append(ends, logEnd(t, s.Dir()))
	}
	// The first commit changes the catalogue, which is there twice: Open tells if it is lost (TestRepairOfALostCatalogue).
	size := ends[len(ends)-1]
	lengths := []int64{size, size - 1, size + 100, ends[1], ends[1] + 1}
	for i := range int64(cuts) {
		lengths = append(lengths, ends[1]+i*(size-ends[1])/int64(cuts)+r.Int64N((size-ends[1])/int64(cuts)))
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
		want, _ := slices.BinarySearch(ends, length+1)
		try(fmt.Sprintf("log cut to %d of %d bytes", length, size), want-1, func(dir string) error {
			return os.Truncate(onlyLog(t, dir), length)
		})
	}
	fmt.Printf("truncated %d survived %d\n", tried, survived)
}

// committed is the number of the last commit, of which everything must be there, and nothing of a later one.
func committed(t *testing.T, s *Store) (last int) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		must.Do(t, tx.Documents("commits").Get("last", &last))
		var mark uint64
		must.Do(t, tx.Documents("commits").Get("mark", &mark))
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
