package pack

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

func testKey(i int) []byte { return fmt.Appendf(record.Prefix(record.KindSpace, 1), "%04d", i) }

// built makes a table of entries, which ascend, by Badger's builder, and opens it later.
func built(t *testing.T, entries iter.Seq2[[]byte, y.ValueStruct]) *Table {
	t.Helper()
	b := table.NewTableBuilder(table.Options{TableSize: 1 << 20, BlockSize: BlockSize,
		BloomFalsePositive: BloomFalsePositive})
	defer b.Close()
	for key, value := range entries {
		b.Add(key, value, 0)
	}
	path := filepath.Join(t.TempDir(), "table")
	must.Do(t, os.WriteFile(path, b.Finish(), 0o600))
	disk := must.Get(storedir.OpenDisk(filepath.Dir(path)))(t)
	table := NewTable(disk, path, must.Get(Look(path))(t))
	t.Cleanup(func() { must.Do(t, errors.Join(table.Close(), disk.Close())) })
	return table
}

// numbered are records of some numbers, the body of each as long as a body.
func numbered(numbers []int, version uint64, body string) iter.Seq2[[]byte, y.ValueStruct] {
	return func(yield func([]byte, y.ValueStruct) bool) {
		for _, i := range numbers {
			if !yield(y.KeyWithTs(testKey(i), version), y.ValueStruct{Value: fmt.Append(nil, i, " ", version, body)}) {
				return
			}
		}
	}
}

func upTo(n int) (numbers []int) {
	for i := range n {
		numbers = append(numbers, i)
	}
	return numbers
}

// TestWalkEndsBeforeOtherRecords walks a few records down to the first. Those before them, which are many and were
// deleted, are not read.
func TestWalkEndsBeforeOtherRecords(t *testing.T) {
	const dropped = 4000
	old := built(t, numbered(upTo(dropped), 1, strings.Repeat("a body that fills blocks ", 8)))
	prefix := record.Prefix(record.KindSpace, 2)
	newer := built(t, func(yield func([]byte, y.ValueStruct) bool) {
		for i := range dropped {
			if !yield(y.KeyWithTs(testKey(i), 2), y.ValueStruct{Value: record.Deletion(testKey(i))}) {
				return
			}
		}
		for i := range byte(3) {
			if !yield(y.KeyWithTs(append(slices.Clone(prefix), i), 2), y.ValueStruct{Value: []byte{i}}) {
				return
			}
		}
	})
	walk := Tables{{newer}, {old}}.Walk(prefix, true)
	records := 0
	var err error
	for err = walk.Seek(append(slices.Clone(prefix), 0xff)); walk.Valid(); err = errors.Join(err, walk.Next()) {
		records++
	}
	if err != nil || records != 3 {
		t.Errorf("%d records, %v, want 3", records, err)
	}
	for _, c := range walk.sources {
		if !c.Valid() {
			t.Error("a table was read to its first record")
		}
	}
}

// TestWillRead says which records of a run will be read: then the system was asked for all blocks in which they lie.
func TestWillRead(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 0))
	body := strings.Repeat("a body ", 40)
	var wanted, rest []int // of those that are there: of others, the block after is read too
	for i := range 300 {
		if i%9 < 2 {
			wanted = append(wanted, i)
		} else if r.IntN(2) == 0 {
			rest = append(rest, i)
		}
	}
	all := slices.Sorted(slices.Values(slices.Concat(wanted, rest)))
	tables := Tables{{built(t, numbered(rest, 2, body))},
		{built(t, numbered(all[:150], 1, body)), built(t, numbered(all[150:], 1, body))}}
	asked := func() (blocks int) {
		for _, table := range tables[1] {
			for _, word := range table.asked {
				blocks += bits.OnesCount64(word)
			}
		}
		return blocks
	}
	cursors := tables.Cursors()
	cursors[1].WillRead(func(yield func([]byte) bool) {
		for _, i := range wanted {
			if !yield(testKey(i)) {
				return
			}
		}
	})
	before := asked()
	if before == 0 {
		t.Error("no block was asked for")
	}
	for _, i := range wanted {
		value, version, err := cursors.Get(testKey(i))
		if want := fmt.Sprint(i, " ", 1, body); err != nil || version != 1 || string(value) != want {
			t.Errorf("record %d: got %q of version %d, %v, want %q", i, value, version, err, want)
		}
	}
	if after := asked(); after != before {
		t.Errorf("%d blocks were asked for before the records were read, and %d after", before, after)
	}
}
