package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/vmihailenco/msgpack/v5"

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
		{files[:1], 0, nil}, {files[1:2], 5, nil}, {files[1:3], 10, nil}, {files[2:3], 0, ErrOrder}, {files[:2], 0,
			ErrOrder}, {nil, 0, ErrOrder},
		{[][]byte{files[1], files[2][:len(files[2])-1]}, 10, ErrDamaged},
	} {
		if _, records, err := verify(t.Context(), test.files...); records != test.records || !errors.Is(err, test.want) {
			t.Errorf("%d files: got %d records and %v, want %d and %v", len(test.files), records, err, test.records, test.want)
		}
	}
}

// FuzzRead reads files whose parts may be anything.
func FuzzRead(f *testing.F) {
	for _, seed := range streams(f)[:3] {
		parts := partsOf(f, seed)
		f.Add(parts[0], parts[1])
	}
	f.Fuzz(func(t *testing.T, head, entries []byte) {
		info, _, err := verify(t.Context(), seal(t, head, entries))
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

// seal makes a file of parts, whatever they are.
func seal(t testing.TB, parts ...[]byte) []byte {
	t.Helper()
	encoder := must.Get(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)))(t)
	file := []byte(magic)
	for _, part := range parts {
		packed := encoder.EncodeAll(part, nil)
		file = append(binary.BigEndian.AppendUint32(file, uint32(len(packed))), packed...)
	}
	sum := sha256.Sum256(file)
	return append(file, sum[:]...)
}

// partsOf are the parts of a stream.
func partsOf(t testing.TB, file []byte) (parts [][]byte) {
	t.Helper()
	decoder := must.Get(zstd.NewReader(nil))(t)
	defer decoder.Close()
	for rest := file[len(magic) : len(file)-sha256.Size]; len(rest) > 0; {
		end := 4 + binary.BigEndian.Uint32(rest)
		parts = append(parts, must.Get(decoder.DecodeAll(rest[4:end], nil))(t))
		rest = rest[end:]
	}
	return parts
}

// TestHostileStreamAllocatesLittle bounds what reading a hostile file allocates.
func TestHostileStreamAllocatesLittle(t *testing.T) {
	head := must.Get(msgpack.Marshal(Info{Full: true}))(t)
	for name, file := range map[string][]byte{
		"head":   seal(t, []byte{0xdf, 0xff, 0xff, 0xff, 0xff}),
		"entry":  seal(t, head, bytes.Repeat([]byte{0xff}, EntryOverhead)),
		"part":   seal(t, head, make([]byte, 100*maxPart)),
		"packed": append([]byte(magic), 0xff, 0xff, 0xff, 0xff),
	} {
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
		parts := partsOf(t, seeds[r.IntN(len(seeds))])
		for range 1 + r.IntN(3) {
			part := parts[r.IntN(len(parts))]
			part[r.IntN(len(part))] = byte(r.IntN(256))
		}
		_, _, err := verify(t.Context(), seal(t, parts...))
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
