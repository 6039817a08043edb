package kv

import "testing"

// BenchmarkSmallCommits commits one value at a time.
func BenchmarkSmallCommits(b *testing.B) {
	s := benchStore(b, 1000, 1)
	i := 0
	for b.Loop() {
		i++
		err := s.Update(func(tx *Tx) error { return tx.SetValue(NodeID(i%1000), "score", FloatValue(float64(float32(i)))) })
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}
