package ordeal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/demograph"
)

const (
	positionsAsked = "GRAPHCLEANER_TEST_POSITIONS" // at how many positions of a file each way of damage is tried
	somePositions  = 1                             // without positionsAsked, and of some damages only
)

// A lifetime is a small store at several moments of its life, each a copy of its directory.
type lifetime struct {
	before  []string // closed stores, oldest first
	closed  string   // the last one
	crashed string   // the same, as a process leaves it that is killed once everything is acknowledged
	want    string   // what is in both
}

// newLifetime makes a store that was cleaned, decided on and changed, in several sessions.
func newLifetime(t *testing.T) *lifetime {
	t.Helper()
	var l lifetime
	dir := t.TempDir()
	db := filepath.Join(dir, "g")
	l.before = append(l.before, filepath.Join(templateDir(t, "cleaned"), "g"))
	must.Do(t, memdir.Copy(l.before[0], db))
	opt := decide.Options{Who: "a person", Why: "seen", Now: func() time.Time { return time.Unix(1e9, 0) }}
	session := func(number int) {
		must.Do(t, withStore(db, kv.Options{MemoryBudget: 1}, func(store *kv.Store) error {
			for i := range 3 {
				node := kv.NodeID(7*number + 2*i)
				request := decide.Request{Node: node, Kind: decide.Relabel, To: demograph.Fields[(number+i)%len(demograph.Fields)]}
				if _, err := decide.Write(context.Background(), store, []decide.Request{request}, opt); err != nil {
					return err
				}
				err := store.Update(func(tx *kv.Tx) error {
					added, err := tx.AddNode(kv.Node{ID: fmt.Sprintf("added %d/%d", number, i), Label: demograph.Fields[0]})
					return errors.Join(err, tx.RemoveNode(kv.NodeID(41+3*number+i)), tx.SetValue(node+1, "year", kv.ValueOf(int64(100*number+i))),
						tx.Documents("steps").Put("done", number), tx.AddEdge(added, node))
				})
				if err != nil {
					return err
				}
			}
			if number == 5 {
				l.want = storeContents(t, store)
				l.crashed = filepath.Join(dir, "crashed")
				copyOpen(t, db, l.crashed)
			}
			return nil
		}))
	}
	for number := range 6 {
		session(number)
		copied := filepath.Join(dir, fmt.Sprint("closed", number))
		must.Do(t, memdir.Copy(db, copied))
		l.before = append(l.before, copied)
	}
	l.closed = l.before[len(l.before)-1]
	l.before = l.before[:len(l.before)-1]
	if got := contents(t, l.closed); got != l.want {
		t.Fatalf("the store has other contents once it is closed: %s", firstDifference(got, l.want))
	}
	return &l
}

// copyOpen copies the directory of a store that is open, between two changes of its tables: a merge in the background
// removes tables whenever it likes.
func copyOpen(t *testing.T, from, to string) {
	t.Helper()
	manifest := func() string {
		text := must.Get(os.ReadFile(filepath.Join(from, "MANIFEST")))(t)
		return string(text)
	}
	for range 100 {
		before := manifest()
		err := memdir.Copy(from, to)
		if err == nil && manifest() == before {
			return
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		must.Do(t, os.RemoveAll(to))
	}
	t.Fatal("the tables of the open store changed while each of 100 copies was made")
}

// A damage changes the file of that name in a store.
type damage struct {
	way  string // a row of the table
	what string
	file string
	text []byte // what is in the file afterwards; nil where it is missing
}

// eachDamage calls use with the ways in which a file can be damaged, at some positions: a byte is flipped, the file is
// cut, emptied, missing, or as it was at an earlier moment, whole or the page at a position.
func (l *lifetime) eachDamage(t *testing.T, db, file string, positions int, use func(damage)) {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(db, file)))(t)
	used := len(bytes.TrimRight(text, "\x00")) // logs are files of zeros that are written from the front
	add := func(way, what string, damaged []byte) {
		if !bytes.Equal(damaged, text) || damaged == nil {
			use(damage{way: way, what: what, file: file, text: damaged})
		}
	}
	add("missing", "missing", nil)
	if len(text) == 0 {
		return
	}
	add("emptied", "emptied", []byte{})
	const page = 4096
	r := rand.New(rand.NewPCG(uint64(len(text)), uint64(positions)))
	var old [][]byte
	for _, before := range l.before {
		earlier, err := os.ReadFile(filepath.Join(before, file))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err == nil && !bytes.Equal(earlier, text) && !slices.ContainsFunc(old, func(b []byte) bool { return bytes.Equal(b, earlier) }) {
			old = append(old, earlier)
			add("old copy", fmt.Sprintf("as in %s", filepath.Base(before)), earlier)
		}
	}
	for i := range min(positions, max(used, 1)) {
		at := i * used / positions
		if width := used / positions; width > 1 {
			at += r.IntN(width)
		}
		flipped := slices.Clone(text)
		flipped[at] ^= byte(1 + r.IntN(255))
		add("byte flipped", fmt.Sprintf("byte %d of %d flipped", at, len(text)), flipped)
		add("cut", fmt.Sprintf("cut to %d of %d bytes", at, len(text)), slices.Clone(text[:at]))
		zeroed := slices.Clone(text)
		clear(zeroed[at:min(at+page, len(zeroed))])
		add("emptied", fmt.Sprintf("zeros from byte %d", at), zeroed)
		if len(old) > 0 {
			earlier := old[i%len(old)]
			mixed := slices.Clone(text)
			from := at / page * page
			if from < len(earlier) {
				copy(mixed[from:min(from+page, len(mixed))], earlier[from:min(from+page, len(earlier))])
			}
			add("old copy", fmt.Sprintf("its page at byte %d is old", from), mixed)
		}
	}
}

// TestDamagedStores damages each file of a store that was closed, and of one that was left by a crash, in each way.
// What was acknowledged is all there, or opening, reading or check says that something is wrong. Then check --repair
// has it all again, or says what is lost for good; of decisions none is lost. If the log of a crashed store is damaged,
// its last commits that are no decisions may be lost without a word.
func TestDamagedStores(t *testing.T) {
	templateDir(t, "files")
	l := newLifetime(t)
	positions := asked(t, positionsAsked, somePositions)
	for _, state := range []struct{ name, db string }{{"closed", l.closed}, {"after a crash", l.crashed}} {
		t.Run(state.name, func(t *testing.T) {
			var mu sync.Mutex
			count := map[string]*damageOutcomes{}
			t.Run("files", func(t *testing.T) { // ends with the last of them
				tries := 0
				for _, file := range filesOfStore(t, state.db) {
					t.Run(file, func(t *testing.T) {
						t.Parallel()
						l.eachDamage(t, state.db, file, positions, func(d damage) {
							mu.Lock()
							if count[d.way] == nil {
								count[d.way] = &damageOutcomes{}
							}
							tries++
							skipped := positions == somePositions && tries%longtest.Of(24, 6) != 0
							mu.Unlock()
							if skipped {
								return
							}
							outcome, wrong := judge(t, state.db, l.want, d)
							for _, wrong := range wrong {
								t.Errorf("%s: %s: %s", d.file, d.what, wrong)
							}
							mu.Lock()
							count[d.way].add(outcome)
							mu.Unlock()
						})
					})
				}
			})
			for _, way := range slices.Sorted(maps.Keys(count)) {
				c := count[way]
				t.Logf("damage table: %s, %s: %d %d %d %d %d %d %d", way, state.name,
					c.tried, c.harmless, c.repaired, c.explained, c.unrepairable, c.shortened, c.tried-c.sound)
			}
		})
	}
}

// filesOfStore are the files in the directory of a store.
func filesOfStore(t *testing.T, db string) (names []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(db))(t)
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			names = append(names, entry.Name())
		}
	}
	return names
}

// damageOutcomes counts what came of stores with a damaged file.
type damageOutcomes struct {
	tried        int
	sound        int // nothing was wrong with how the program took them
	harmless     int // the store held all, and check found nothing
	repaired     int // check found the damage, and the repair lost nothing
	explained    int // check found the damage, and the repair told of its losses
	unrepairable int // the repair asked for a backup
	shortened    int // the log of a crashed store ended early: the last commits that are no decisions are lost
}

func (c *damageOutcomes) add(other damageOutcomes) {
	c.tried += other.tried
	c.sound += other.sound
	c.harmless += other.harmless
	c.repaired += other.repaired
	c.explained += other.explained
	c.unrepairable += other.unrepairable
	c.shortened += other.shortened
}

// judge says what comes of a damaged store, and what is wrong with how the program takes it.
func judge(t *testing.T, sound, want string, d damage) (c damageOutcomes, wrong []string) {
	t.Helper()
	c.tried++
	dir, err := os.MkdirTemp("", "damaged")
	must.Do(t, err)
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
		if len(wrong) == 0 {
			c.sound++
		}
	}()
	db := filepath.Join(dir, "g")
	must.Do(t, memdir.Copy(sound, db))
	path := filepath.Join(db, d.file)
	if d.text == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, d.text, 0o600)
	}
	must.Do(t, err)
	got := contents(t, db)
	found := problems(t, db)
	if found == "" {
		if got != want && filepath.Ext(d.file) == ".mem" && lostDecisions(got, want) == "" {
			c.shortened++
			return c, nil
		}
		if got != want {
			return c, []string{"check finds no problem, and the store has other contents: " + firstDifference(got, want)}
		}
		c.harmless++
		return c, nil
	}
	repaired := run(t, "check", db, "--repair", "--yes", jobMemory)
	said := repaired.out + repaired.err
	after := contents(t, db)
	switch {
	case strings.HasPrefix(after, "cannot be"):
		if c.unrepairable++; !strings.Contains(said, "backup") {
			wrong = append(wrong, "it is not repaired, and no backup is asked for: "+said)
		}
		return c, wrong
	case after == want:
		c.repaired++
	case !strings.Contains(said, "lost for good: "):
		wrong = append(wrong, "after the repair the store has other contents, and no loss is told: "+
			firstDifference(after, want)+"\n"+said)
	default:
		c.explained++
	}
	if left := problems(t, db); left != "" {
		wrong = append(wrong, "check after the repair finds "+left+"\n"+said)
	}
	if lost := lostDecisions(after, want); lost != "" {
		wrong = append(wrong, "a decision is lost: "+lost+"\n"+said)
	}
	return c, wrong
}

// lostDecisions is the first decision in the contents of a store that is not in those of another.
func lostDecisions(got, want string) string {
	for line := range strings.Lines(want) {
		if strings.HasPrefix(line, "decision ") && !strings.Contains(got, line) {
			return line
		}
	}
	return ""
}
