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
	opt := decide.Options{Who: "a person", Why: "seen", Time: time.Unix(1e9, 0)}
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
					return errors.Join(err, tx.RemoveNode(kv.NodeID(41+3*number+i)),
						tx.SetValue(node+1, "year", kv.ValueOf(int64(100*number+i))),
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
		return string(must.Get(os.ReadFile(filepath.Join(from, "MANIFEST")))(t))
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
		if err == nil && !bytes.Equal(earlier, text) &&
			!slices.ContainsFunc(old, func(b []byte) bool { return bytes.Equal(b, earlier) }) {
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
			count := map[string]*[outcomes]int{}
			t.Run("files", func(t *testing.T) { // ends with the last of them
				tries := 0
				for _, file := range filesOfStore(t, state.db) {
					t.Run(file, func(t *testing.T) {
						t.Parallel()
						l.eachDamage(t, state.db, file, positions, func(d damage) {
							mu.Lock()
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
							defer mu.Unlock()
							if count[d.way] == nil {
								count[d.way] = new([outcomes]int)
							}
							count[d.way][outcome]++
							count[d.way][wrongly] += min(len(wrong), 1)
						})
					})
				}
			})
			for _, way := range slices.Sorted(maps.Keys(count)) {
				c := count[way]
				tried := c[harmless] + c[repaired] + c[explained] + c[unrepairable] + c[shortened]
				t.Logf("damage table: %s, %s: %d %d %d %d %d %d %d", way, state.name,
					tried, c[harmless], c[repaired], c[explained], c[unrepairable], c[shortened], c[wrongly])
			}
		})
	}
}

// filesOfStore are the files in the directory of a store.
func filesOfStore(t *testing.T, db string) (names []string) {
	t.Helper()
	for _, entry := range must.Get(os.ReadDir(db))(t) {
		if entry.Type().IsRegular() {
			names = append(names, entry.Name())
		}
	}
	return names
}

// What can come of a store with a damaged file.
const (
	harmless     = iota // the store held all, and check found nothing
	repaired            // check found the damage, and the repair lost nothing
	explained           // check found the damage, and the repair told of its losses
	unrepairable        // the repair asked for a backup
	shortened           // the log of a crashed store ended early: the last commits that are no decisions are lost
	wrongly             // something was wrong with how the program took it
	outcomes
)

// judge says what comes of a damaged store, and what is wrong with how the program takes it.
func judge(t *testing.T, sound, want string, d damage) (outcome int, wrong []string) {
	t.Helper()
	dir := must.Get(os.MkdirTemp("", "damaged"))(t)
	defer func() { must.Do(t, os.RemoveAll(dir)) }()
	db := filepath.Join(dir, "g")
	must.Do(t, memdir.Copy(sound, db))
	path := filepath.Join(db, d.file)
	if d.text == nil {
		must.Do(t, os.Remove(path))
	} else {
		must.Do(t, os.WriteFile(path, d.text, 0o600))
	}
	got := contents(t, db)
	if problems(t, db) == "" {
		switch {
		case got == want:
			return harmless, nil
		case filepath.Ext(d.file) == ".mem" && lostDecisions(got, want) == "":
			return shortened, nil
		}
		return harmless, []string{"check finds no problem, and the store has other contents: " + firstDifference(got, want)}
	}
	repair := run(t, "check", db, "--repair", "--yes", jobMemory)
	said := repair.out + repair.err
	after := contents(t, db)
	outcome = explained
	switch {
	case strings.HasPrefix(after, "cannot be"):
		if !strings.Contains(said, "backup") {
			wrong = append(wrong, "it is not repaired, and no backup is asked for: "+said)
		}
		return unrepairable, wrong
	case after == want:
		outcome = repaired
	case !strings.Contains(said, "lost for good: "):
		wrong = append(wrong, "after the repair the store has other contents, and no loss is told: "+
			firstDifference(after, want)+"\n"+said)
	}
	if left := problems(t, db); left != "" {
		wrong = append(wrong, "check after the repair finds "+left+"\n"+said)
	}
	if lost := lostDecisions(after, want); lost != "" {
		wrong = append(wrong, "a decision is lost: "+lost+"\n"+said)
	}
	return outcome, wrong
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
