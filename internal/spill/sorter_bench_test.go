package spill

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

func BenchmarkSorter(b *testing.B) {
	const n = 1 << 20
	r := rand.New(rand.NewPCG(1, 0))
	order := r.Perm(n)
	for _, keys := range []struct {
		name string
		key  func(dst []byte, i int) []byte
	}{
		{"hashes", func(dst []byte, i int) []byte {
			return binary.BigEndian.AppendUint64(dst, uint64(order[i])*0x9e3779b97f4a7c15)
		}},
		{"numbers", func(dst []byte, i int) []byte { return binary.BigEndian.AppendUint64(dst, uint64(order[i])) }},
		{"texts", func(dst []byte, i int) []byte { return fmt.Appendf(dst, "paper-%d", order[i]) }},
		{"ends", func(dst []byte, i int) []byte { return fmt.Appendf(dst, "paper-%d", order[i]*(order[i]%7)/7) }},
	} {
		all := make([][]byte, n)
		for i := range all {
			all[i] = keys.key(nil, i)
		}
		for _, limit := range []int64{16 << 20, 1 << 30} {
			b.Run(fmt.Sprintf("%s/limit=%d", keys.name, limit), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s := New(b.TempDir(), limit)
					for _, key := range all {
						if err := s.Add(key, key[:4]); err != nil {
							b.Fatal(err)
						}
					}
					for _, err := range s.Records(b.Context()) {
						if err != nil {
							b.Fatal(err)
						}
					}
					if err := s.Close(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "records/s")
			})
		}
	}
}
