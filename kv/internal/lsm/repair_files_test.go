package lsm

import (
	"os"
	"testing"
)

// TestLossesOfBlocks changes two bytes of a block: a repair tells of no loss where all of its records can be read, and of an
// unknown number where none can.
func TestLossesOfBlocks(t *testing.T) {
	for _, test := range []struct {
		what string
		at   func(body, block int) int // in the block, of that many bytes, so many of which are its body
		want Lost
	}{
		{"the checksum", func(_, block int) int { return block - 8 }, Lost{Kind: "record of tables", AtMost: true}},
		{"the number of records", func(body, _ int) int { return body - 4 }, Lost{Kind: "record of tables", Count: UnknownCount}},
	} {
		dir := sessions(t, 1)
		path := tablesIn(t, dir)[0]
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
		var done []Mended
		progress := func(string, int64, int64) {}
		report := func(m Mended) error { done = append(done, m); return nil }
		if err := RepairFiles(t.Context(), dir, Options{MemoryBudget: testBudget}, progress, report); err != nil {
			t.Fatal(err)
		}
		if len(done) != 1 || done[0].Lost != test.want {
			t.Errorf("%s: did %+v, want a loss of %+v", test.what, done, test.want)
		}
	}
}
