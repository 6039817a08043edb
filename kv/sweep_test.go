package kv

import (
	"encoding/binary"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// Badger keeps the logs of memtables that an iterator looks at. Writing goes on all the same, and so does what is
// deleted after it.
func TestReadersDoNotStopWriting(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	fill := func() {
		t.Helper()
		b := must.Get(s.Bulk())(t)
		defer b.Abort()
		w := must.Get(b.Space("large"))(t)
		r := rand.New(rand.NewPCG(1, 2))
		value := make([]byte, 32<<10)
		for i := range uint32(1000) { // 32 MB, several memtables
			for at := 0; at < len(value); at += 8 {
				binary.LittleEndian.PutUint64(value[at:], r.Uint64())
			}
			must.Do(t, w.Put(binary.BigEndian.AppendUint32(nil, i), value))
		}
		must.Do(t, b.Commit(nil))
	}
	fill()
	tx := s.Begin()
	defer tx.Close()
	next, stop := iter.Pull2(tx.Space("large").Ascend(nil))
	defer stop()
	read := 0
	step := func() bool {
		_, err, more := next()
		must.Do(t, err)
		if more {
			read++
		}
		return more
	}
	step()
	fill()
	for step() {
	}
	if read != 1000 {
		t.Errorf("read %d entries while others were written, want 1000", read)
	}
}
