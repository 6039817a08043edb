package kv

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLossesOfBlocks changes two bytes of a block: a repair tells of no loss where all of its records can be read, and of an
// unknown number where none can.
func TestLossesOfBlocks(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	addNodes(t, s, 300)
	closeStore(t, s)
	name := fileNames(t, s.Dir(), "*.sst")[0]
	for _, test := range []struct {
		what string
		at   func(body, block int) int // in the block, of that many bytes, so many of which are its body
		want string
	}{
		{"the checksum", func(_, block int) int { return block - 8 }, "nothing"},
		{"the number of records", func(body, _ int) int { return body - 4 }, "an unknown number of records of tables"},
	} {
		dir := copyStore(t, s.Dir())
		damagedStores.Store(dir, true)
		path := filepath.Join(dir, name)
		reader, err := openTableReader(path)
		if err != nil {
			t.Fatal(err)
		}
		from, to, err := reader.place(reader.blocks() - 1)
		if err != nil {
			t.Fatal(err)
		}
		body, _, _ := cutTableChecksum(reader.data[from:to])
		at := from + test.at(len(body), to-from)
		if err := reader.close(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text[at] ^= 1
		text[at+1] ^= 1
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		lost, err := Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil, func(Mend) {})
		if err != nil || lost.String() != test.want {
			t.Errorf("%s: lost %q (%v), want %q", test.what, lost, err, test.want)
		}
	}
}

// TestRepairOfATornJournal appends zeros to the journal of a closed store: a repair cuts them off, loses nothing, and there is
// nothing left to repair.
func TestRepairOfATornJournal(t *testing.T) {
	t.Parallel()
	dir := everyKind(t, 5)
	damagedStores.Store(dir, true)
	want, err := contentsOf(t, copyStore(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	name := fileNames(t, dir, journalName+"-*.log")[0]
	if err := inFile(name, func(text []byte) []byte { return append(text, make([]byte, 100)...) })(dir); err != nil {
		t.Fatal(err)
	}
	if done := fmt.Sprint(repaired(t, dir)); !strings.Contains(done, name) || !strings.Contains(done, "no commit is lost") {
		t.Errorf("repairing did %s, want the journal cut", done)
	}
	damagedStores.Delete(dir)
	sameContents(t, "repaired", dir, want)
	if mends := repaired(t, dir); len(mends) > 0 {
		t.Errorf("repairing again did %v", mends)
	}
}
