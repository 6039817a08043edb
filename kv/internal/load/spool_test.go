package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// Records that several goroutines add at once are all in their parts, those of a goroutine in order.
func TestSpool(t *testing.T) {
	const writers, parts, records = 3, 4, 3000
	s := must.Get(newSpool(t.TempDir(), parts, 0))(t)
	defer func() { must.Do(t, s.close()) }()
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for j := range records {
				errs[i] = errors.Join(errs[i], s.add(j%parts, fmt.Append(nil, i, " ", j)))
			}
		})
	}
	wg.Wait()
	must.Do(t, errors.Join(errs...))
	for part := range parts {
		next := slices.Repeat([]int{part}, writers)
		must.Do(t, s.each(t.Context(), part, func(r codec.Reader) error {
			var i, j int
			must.Get(fmt.Sscan(string(r.Rest), &i, &j))(t)
			if j != next[i] {
				t.Fatalf("part %d: got record %d of writer %d, want %d", part, j, i, next[i])
			}
			next[i] += parts
			return nil
		}))
		if want := slices.Repeat([]int{part + records}, writers); !slices.Equal(next, want) {
			t.Errorf("part %d: the records end before %v, want %v", part, next, want)
		}
	}
}

// TestDamagedSpool damages the file behind the back of a load.
func TestDamagedSpool(t *testing.T) {
	s := must.Get(newSpool(t.TempDir(), 1, 0))(t)
	defer func() { must.Do(t, s.close()) }()
	must.Do(t, s.add(0, []byte("abcdefgh")))
	ignore := func(codec.Reader) error { return nil }
	check := func(what string, want error) {
		if err := s.each(t.Context(), 0, ignore); !errors.Is(err, want) || want != nil && !strings.Contains(err.Error(),
			s.file.Name()) {
			t.Errorf("%s: got %v, want %v with the name of the file", what, err, want)
		}
	}
	check("a whole file", nil)
	must.Get(s.file.WriteAt(binary.AppendUvarint(nil, 1<<62), 0))(t)
	check("a record of 4 EiB", errRecord)
	must.Do(t, s.file.Truncate(3))
	check("a file that was cut", io.EOF)
}
