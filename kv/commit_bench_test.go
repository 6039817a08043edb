package kv

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// BenchmarkCommit commits one label at a time, by so many writers at once, on the disk of this folder. In turns with
// that it writes 512 bytes to a file of its own, and syncs them: ratio is how many commits there are for each of
// these bare syncs in the same time.
func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 8} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			here := must.Get(os.Getwd())(b)
			b.Setenv("TMPDIR", here) // that of tests may be in memory, where a sync costs nothing
			const nodes = 1 << 16
			s := benchStore(b, nodes, 1)
			var next atomic.Int64
			commit := func() error {
				i := next.Add(1)
				return s.Update(func(tx *Tx) error { return tx.SetLabel(NodeID(i*7919%nodes), fmt.Sprint(i%40)) })
			}
			if err := commit(); err != nil { // the first enters in the catalogue that the column has changes
				b.Fatal(err)
			}
			sync := bareSync(b, make([]byte, 512))
			const turn = 8
			var ofStore, ofBare []time.Duration
			b.ResetTimer()
			for commits := 0; commits < b.N; commits += turn * writers {
				ofStore = append(ofStore, atOnce(b, writers, turn, commit))
				b.StopTimer()
				ofBare = append(ofBare, atOnce(b, 1, turn, sync))
				b.StartTimer()
			}
			commits, syncs := float64(turn*writers)/median(ofStore).Seconds(), turn/median(ofBare).Seconds()
			b.ReportMetric(commits, "commits/s")
			b.ReportMetric(commits/syncs, "ratio")
		})
	}
}

// bareSync returns what writes a frame to the end of a file, and syncs it.
func bareSync(b *testing.B, frame []byte) func() error {
	b.Helper()
	f := must.Get(os.Create(filepath.Join(b.TempDir(), "bare")))(b)
	b.Cleanup(func() { f.Close() })
	return func() error {
		if _, err := f.Write(frame); err != nil {
			return err
		}
		return durable.SyncData(f)
	}
}

// median is that of durations, which it sorts: others who use the disk delay some turns by very much.
func median(turns []time.Duration) time.Duration {
	slices.Sort(turns)
	return turns[len(turns)/2]
}

// atOnce has so many goroutines call fn, each so often, and returns how long that takes.
func atOnce(b *testing.B, goroutines, times int, fn func() error) time.Duration {
	b.Helper()
	began := time.Now()
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range times {
				if err := fn(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(began)
}
