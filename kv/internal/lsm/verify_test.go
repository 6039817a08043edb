package lsm

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// TestLogCount says for how long a count of logs holds.
func TestLogCount(t *testing.T) {
	const memTable = 8 << 20
	for _, c := range []struct {
		count   logCount
		written int64
		want    bool
	}{
		{logCount{}, 0, false},
		{logCount{count: 1}, 0, true},
		{logCount{count: 1, output: 5}, 5 + memTable/recount - 1, true},
		{logCount{count: 1, output: 5}, 5 + memTable/recount, false},
		{logCount{count: 1, output: 5}, 0, false}, // the store was opened anew
		{logCount{count: mostLogs - 1}, 0, false},
	} {
		if got := c.count.enough(c.written, memTable); got != c.want {
			t.Errorf("%+v after %d bytes: got %v, want %v", c.count, c.written, got, c.want)
		}
	}
}

// TestListKnowsTablesAsTheyStay holds that the list of a closed database knows its tables: they have the mode of the directory by then.
func TestListKnowsTablesAsTheyStay(t *testing.T) {
	dir := sessions(t, 2)
	must.Do(t, os.Chmod(dir, 0o700))
	closeTest(t, openTest(t, dir))
	must.Do(t, storedir.AlignModes(dir))
	listed := readVerified(dir).listed
	for _, path := range tablesIn(t, dir) {
		id, _ := table.ParseFileID(filepath.Base(path))
		mark, err := storedir.MarkOf(path)
		if err != nil || listed[id].Mark != mark {
			t.Errorf("%s: got %+v, %v, listed as %+v", path, mark, err, listed[id].Mark)
		}
	}
}

// TestListIsReadAsWritten reads the text of a list back, and wants each that is cut off refused unless it ends behind a table.
func TestListIsReadAsWritten(t *testing.T) {
	want := map[uint64]listedTable{
		1:   {pack.Listed{Mark: storedir.Mark{Size: 5, Modified: -6, Changed: 7, Number: math.MaxUint64}, First: []byte{}}, true},
		300: {pack.Listed{Mark: storedir.Mark{Size: math.MaxInt64}, Index: 1 << 40, First: []byte("key"), Newest: 9}, false},
	}
	first := appendListed(nil, 1, want[1])
	text := appendListed(first, 300, want[300])
	if got, ok := parseListed(text); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, ok, want)
	}
	for n := range text {
		if _, ok := parseListed(text[:n]); ok != (n == 0 || n == len(first)) {
			t.Errorf("cut off after %d of %d bytes: got %v", n, len(text), ok)
		}
	}
}
