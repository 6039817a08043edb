package kv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestDamagedOlderLog has a crash leave the logs of two memtables, the older of which is then damaged or missing, while
// the table that was made of it is unfinished. Commits are missing before the last: Open says so, and Repair takes
// every decision from decisions.log.
func TestDamagedOlderLog(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 5)
	closeStore(t, s) // so that the header lies in a table
	s = openStore(t, s.Dir(), Options{})
	dir, decided := "", 0
	for try := 0; dir == ""; try++ {
		if try == 1000 {
			t.Fatal("there never were two logs")
		}
		update(t, s, func(tx *Tx) error {
			for i := range 15 {
				must.Do(t, tx.Space("filler").Put(fmt.Appendf(nil, "%d %d", try, i), make([]byte, 60000)))
			}
			return nil
		})
		decide(t, s, decided, decided+1)
		if decided++; len(fileNames(t, s.Dir(), "*.mem")) > 1 {
			decide(t, s, decided, decided+1)
			decided++
			dir = copyOfCrash(t, s.Dir())
		}
	}
	older := fileNames(t, dir, "*.mem")[0]
	for how, damage := range map[string]func(path string) error{
		"missing": os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, 4<<20) },
		"flipped": func(path string) error { return flipByte(path, 4<<20) },
	} {
		c := copyStore(t, dir)
		damagedStores.Store(c, true)
		must.Do(t, damage(filepath.Join(c, older)))
		if _, err := Open(c, Options{MemoryBudget: minMemoryBudget}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: opening it: got %v, want ErrCorrupt", how, err)
		}
		must.Get(Repair(t.Context(), c, Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) {}))(t)
		view(t, openStore(t, c, Options{}), func(tx *Tx) error {
			for i := range decided {
				if _, err := tx.Space("decisions").Get(fmt.Appendf(nil, "%03d", i)); err != nil {
					t.Errorf("%s: decision %d of %d, after a repair: %v", how, i, decided, err)
				}
			}
			return nil
		})
	}
}

// copyOfCrash copies an open store that has the logs of two memtables, with the table of the older cut short. It is ""
// if the manifest names that already.
func copyOfCrash(t *testing.T, dir string) string {
	t.Helper()
	named := must.Get(os.ReadFile(filepath.Join(dir, "MANIFEST")))(t)
	to := copyStore(t, dir)
	must.Do(t, os.WriteFile(filepath.Join(to, "MANIFEST"), named, 0o600))
	if len(fileNames(t, to, "*.mem")) < 2 {
		return ""
	}
	tables := fileNames(t, to, "0*.sst")
	last := filepath.Join(to, tables[len(tables)-1])
	if info := must.Get(os.Stat(last))(t); len(tables) > 1 && info.Size() > 1<<16 {
		must.Do(t, os.Truncate(last, 1<<16))
	}
	sound, err := Open(copyStore(t, to), Options{MemoryBudget: minMemoryBudget})
	if err != nil {
		return ""
	}
	must.Do(t, sound.Close())
	return to
}
