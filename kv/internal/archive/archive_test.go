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
	"slices"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
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
		w, err := NewWriter("0123456789abcdef", 1, uint64(10*i+1), last)
		must.Do(f, err)
		size := int64(0)
		for _, h := range all {
			size += int64(len(h.key) + len(h.value))
		}
		var file bytes.Buffer
		err = w.Begin(&file, int64(len(all)), size)
		for _, h := range all {
			err = errors.Join(err, w.Add(h.key, h.value, h.version))
		}
		_, ending := w.End()
		must.Do(f, errors.Join(err, ending, w.Close()))
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
	return append(files, []byte(magic), nil)
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
	info, err = c.Read(ctx, func(int64, int64) {}, func(_, _ []byte, _ uint64) error { records++; return nil })
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
		{[][]byte{files[1], files[2][:len(files[2])-1]}, 10, ErrDamaged},
	} {
		if _, records, err := verify(t.Context(), test.files...); records != test.records || !errors.Is(err, test.want) {
			t.Errorf("%d files: got %d records and %v, want %d and %v", len(test.files), records, err, test.records, test.want)
		}
	}
}

// FuzzRead reads files that may be anything.
func FuzzRead(f *testing.F) {
	for _, seed := range streams(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		info, _, err := verify(t.Context(), resealed(file))
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

// TestHostileStreamAllocatesLittle bounds what reading a hostile file allocates.
func TestHostileStreamAllocatesLittle(t *testing.T) {
	head := []byte(magic)
	for _, frame := range [][]byte{
		{frameHead, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		{frameRecords, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1},
		{frameRecords, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff},
	} {
		file := append(slices.Clone(head), frame...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, _, err := verify(t.Context(), file); !errors.Is(err, ErrDamaged) {
			t.Errorf("frame % x: got %v, want ErrDamaged", frame, err)
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 2*maxFrame {
			t.Errorf("frame % x: reading it allocates %d bytes, want at most %d", frame, got, 2*maxFrame)
		}
	}
}

// resealed gives the frames of a file the checksums that they should have, so that what lies behind them is reached.
func resealed(file []byte) []byte {
	file = slices.Clone(file)
	if len(file) < len(magic) {
		return file
	}
	digest := sha256.New()
	digest.Write(file[:len(magic)])
	for rest := file[len(magic):]; len(rest) >= frameHeader+4; {
		stored := int64(binary.BigEndian.Uint32(rest[1:]))
		if stored > int64(len(rest))-frameHeader-4 {
			break
		}
		frame := rest[:frameHeader+stored+4]
		rest = rest[len(frame):]
		var end streamEnd
		body := frame[frameHeader : frameHeader+stored]
		if frame[0] == frameEnd && msgpack.Unmarshal(body, &end) == nil {
			digest.Write(end.Base)
			end.Digest = digest.Sum(nil)
			if sealed, err := msgpack.Marshal(end); err == nil && len(sealed) == len(body) {
				copy(body, sealed)
			}
		}
		binary.BigEndian.PutUint32(frame[frameHeader+stored:], crc32c.Of(frame[:frameHeader+stored]))
		digest.Write(frame)
	}
	return file
}

// TestMutatedStreams changes bytes of small backups, whose checksums are then made right again: what is read of them is an
// error, or hangs together.
func TestMutatedStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	seeds := streams(t)[:3]
	refused := 0
	const rounds = 1000
	for range rounds {
		file := slices.Clone(seeds[r.IntN(len(seeds))])
		for range 1 + r.IntN(3) {
			file[r.IntN(len(file))] = byte(r.IntN(256))
		}
		_, _, err := verify(t.Context(), resealed(file))
		if err == nil {
			continue // the change was in a checksum
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
