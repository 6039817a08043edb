package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// streams are small streams: of no record, of some, and one since that.
func streams(f testing.TB) (files [][]byte) {
	f.Helper()
	type held struct {
		key, value []byte
		version    uint64
	}
	var all []held
	var last io.Reader
	for i := range 3 {
		w, err := NewWriter(Info{Store: "0123456789abcdef", Format: 1, Snapshot: uint64(10*i + 1)}, last)
		must.Do(f, err)
		size := int64(0)
		for _, h := range all {
			size += int64(len(h.key) + len(h.value))
		}
		var file bytes.Buffer
		err = w.Begin(&file, int64(len(all)), size)
		for _, h := range all {
			err = errors.Join(err, w.Add(context.Background(), h.key, h.value, h.version))
		}
		_, ending := w.End(context.Background())
		w.Close()
		must.Do(f, errors.Join(err, ending))
		files = append(files, file.Bytes())
		last = bytes.NewReader(file.Bytes())
		if i == 0 {
			last = nil
		}
		for j := range 5 {
			key := record.NumberKey(record.KindColumn, 1, uint32(5*i+j))
			all = append(all, held{key, record.Encode(key, fmt.Appendf(nil, "value %d", j)), uint64(10*i + 2)})
		}
	}
	return files
}

// chainOf are streams as a program hands them in.
func chainOf(files ...[]byte) (readers []io.Reader) {
	for _, file := range files {
		readers = append(readers, bytes.NewReader(file))
	}
	return readers
}

// verify reads streams, and counts their records.
func verify(ctx context.Context, files ...[]byte) (info Info, records int, err error) {
	c, err := Open(chainOf(files...))
	if err != nil {
		return info, 0, err
	}
	defer c.Close()
	info, err = c.Read(ctx, nil, func(_, _ []byte, _ uint64) error { records++; return nil })
	return info, records, err
}

// TestStreams reads whole streams alone and in order, and others not.
func TestStreams(t *testing.T) {
	files := streams(t)
	for _, test := range []struct {
		files   [][]byte
		records int
		want    error
	}{
		{files[:1], 0, nil}, {files[1:2], 5, nil}, {files[1:3], 10, nil}, {files[2:3], 0, ErrOrder}, {files[:2], 0, ErrOrder}, {nil, 0, ErrOrder},
		{[][]byte{files[1], files[2][:len(files[2])-1]}, 0, ErrDamaged},
	} {
		if _, records, err := verify(t.Context(), test.files...); records != test.records || !errors.Is(err, test.want) {
			t.Errorf("%d files: got %d records and %v, want %d and %v", len(test.files), records, err, test.records, test.want)
		}
	}
}

// FuzzRead reads files whose compressed part may be anything.
func FuzzRead(f *testing.F) {
	for _, seed := range streams(f)[:3] {
		f.Add(contentOf(f, seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		info, _, err := verify(t.Context(), seal(t, content))
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Errorf("got %v, want a *Error", err)
			}
			return
		}
		if info.Records < 0 || info.Changed > info.Records {
			t.Errorf("a backup that can be read says %+v", info)
		}
	})
}

// seal makes a file of what a stream has compressed, whatever that is.
func seal(t testing.TB, content []byte) []byte {
	t.Helper()
	options := []zstd.EOption{zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1)}
	file := must.Get(zstd.NewWriter(nil, options...))(t).EncodeAll(content, []byte(magic))
	sum := sha256.Sum256(file)
	return append(file, sum[:]...)
}

// contentOf is what a stream has compressed.
func contentOf(t testing.TB, file []byte) []byte {
	t.Helper()
	decoder := must.Get(zstd.NewReader(nil))(t)
	defer decoder.Close()
	return must.Get(decoder.DecodeAll(file[len(magic):len(file)-sha256.Size], nil))(t)
}

// TestHostileStreamAllocatesLittle bounds what reading a hostile file allocates.
func TestHostileStreamAllocatesLittle(t *testing.T) {
	head := contentOf(t, streams(t)[0])
	head = head[:len(head)-2] // without the end
	for name, content := range map[string][]byte{
		"head":   binary.AppendUvarint(nil, math.MaxUint64),
		"key":    binary.AppendUvarint(slices.Clone(head), math.MaxUint64),
		"record": binary.AppendUvarint(append(slices.Clone(head), 1, 'k', 1), maxRecord),
	} {
		file := seal(t, content)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, _, err := verify(t.Context(), file); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v, want ErrDamaged", name, err)
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 3*maxRecord {
			t.Errorf("%s: reading it allocates %d bytes, want at most %d", name, got, 3*maxRecord)
		}
	}
}

// TestMutatedStreams changes bytes of what small backups have compressed: what is read of them is an error, or hangs
// together.
func TestMutatedStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	seeds := streams(t)[:3]
	refused := 0
	const rounds = 1000
	for range rounds {
		content := contentOf(t, seeds[r.IntN(len(seeds))])
		for range 1 + r.IntN(3) {
			content[r.IntN(len(content))] = byte(r.IntN(256))
		}
		_, _, err := verify(t.Context(), seal(t, content))
		if err == nil {
			continue // the change was in the ID of the store, say
		}
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Fatalf("got %v, want a *Error", err)
		}
		refused++
	}
	if refused < rounds/4 {
		t.Errorf("%d of %d were refused: the test shows little", refused, rounds)
	}
}
