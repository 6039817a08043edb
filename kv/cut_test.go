package kv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/longtest"
)

// cutsAsked says how many lengths TestCrashKeepsPrefix cuts a log to.
const cutsAsked = "GRAPHCLEANER_TEST_CUTS"

// TestCrashKeepsPrefix commits transactions of very different sizes, copies the files of the open store, cuts the newest, its
// log, to many lengths, and opens each copy: a prefix of the commits is there, each of them whole, and Check is clean. A
// log that is cut where it is full of zeros, or not at all, has all.
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
		return errors.Join(tx.AddColumn("x", KindInt), tx.AddColumn("y", KindInt), tx.PutDocument("commits", "last", 0))
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
				if err := errors.Join(tx.SetValue(v, "x", IntValue(n+1)), tx.SetValue(v, "y", IntValue(n+1))); err != nil {
					return err
				}
			}
			return tx.PutDocument("commits", "last", n+1)
		})
		ends = append(ends, logEnd(t, s.Dir()))
	}
	size := ends[len(ends)-1]
	lengths := []int64{size, size - 1, size + 100, ends[0], ends[0] + 1}
	for i := range int64(cuts) {
		lengths = append(lengths, ends[0]+i*(size-ends[0])/int64(cuts)+r.Int64N((size-ends[0])/int64(cuts)))
	}
	survived := 0
	for _, length := range lengths {
		copied := copyStore(t, s.Dir())
		if err := os.Truncate(onlyLog(t, copied), length); err != nil {
			t.Fatal(err)
		}
		opened, err := Open(copied, Options{MemoryBudget: minMemoryBudget})
		if err != nil {
			t.Errorf("cut to %d of %d bytes: %v", length, size, err)
			continue
		}
		want, _ := slices.BinarySearch(ends, length+1)
		want-- // commits that end at or before the cut
		if got := committed(t, opened); got != want {
			t.Errorf("cut to %d of %d bytes: got %d commits, want %d", length, size, got, want)
		} else {
			survived++
		}
		checkClean(t, opened)
		closeStore(t, opened)
		if err := os.RemoveAll(copied); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Printf("truncated %d survived %d\n", len(lengths), survived)
}

// committed is the number of the last commit, of which everything must be there, and nothing of a later one.
func committed(t *testing.T, s *Store) (last int) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		if err := tx.Document("commits", "last", &last); err != nil {
			return err
		}
		greatest := int64(0)
		for v := range NodeID(tx.NumNodes()) {
			x, err := tx.Value(v, "x")
			if err != nil {
				return err
			}
			y, err := tx.Value(v, "y")
			if err != nil {
				return err
			}
			if x != y {
				t.Errorf("node number %d has x %v and y %v, which are written together", v, x, y)
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
	text, err := os.ReadFile(onlyLog(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	end := len(text)
	for end > 0 && text[end-1] == 0 {
		end--
	}
	return int64(end)
}
