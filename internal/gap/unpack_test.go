package gap

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestUnpackIsPlain compares the decoding of this processor with that of plain Go, on what an encoder writes and on
// bytes that none wrote.
func TestUnpackIsPlain(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		var data []byte
		for range r.IntN(120) {
			switch r.IntN(8) {
			case 0:
				data = append(data, byte(r.Uint32()))
			case 1:
				data = append(data, byte(r.Uint32())|0x80)
			default:
				data = binary.AppendUvarint(data, uint64(r.Uint32()>>r.IntN(32)))
			}
		}
		count := r.IntN(100)
		got, want := make([]uint32, count), make([]uint32, count)
		numbers, n := unpack(got, data)
		wantNumbers, wantN := unpackPlain(want, data)
		if numbers != wantNumbers || n != wantN || !slices.Equal(got[:numbers], want[:numbers]) {
			t.Fatalf("seed %d: %d numbers of % x: got %v in %d bytes, want %v in %d bytes",
				seed, count, data, got[:numbers], n, want[:wantNumbers], wantN)
		}
	}
}

func TestUnpackPlain(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 0))
		var data []byte
		var want []uint32
		for range r.IntN(50) {
			gap := r.Uint32N(math.MaxUint32) >> r.IntN(32)
			data, want = binary.AppendUvarint(data, uint64(gap)), append(want, gap+1)
		}
		got := make([]uint32, len(want))
		if numbers, n := unpackPlain(got, data); numbers != len(want) || n != len(data) || !slices.Equal(got, want) {
			t.Fatalf("seed %d: got %v in %d of %d bytes, want %v", seed, got[:numbers], n, len(data), want)
		}
		if numbers, _ := unpackPlain(make([]uint32, len(want)+1), data); numbers != len(want) {
			t.Fatalf("seed %d: one too many: got %d numbers, want %d", seed, numbers, len(want))
		}
	}
	for _, damaged := range [][]byte{
		binary.AppendUvarint(nil, math.MaxUint32), // no gap between two numbers of 32 bits
		{0x80, 0x80, 0x80, 0x80, 0x80, 0x01},
		{0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0, 0, 0},
		{0x80},
	} {
		if numbers, n := unpackPlain(make([]uint32, 1), damaged); numbers != 0 || n != 0 {
			t.Errorf("% x: got %d numbers in %d bytes, want none", damaged, numbers, n)
		}
	}
}
