package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
)

// bandwidthCommand measures how fast the machine's memory can be read, so that a kernel's speed can be stated as a
// part of what is possible.
type bandwidthCommand struct {
	Size    byteSize `default:"1GiB" help:"Bytes of the array of each kind, split over the processors; far above the cache."`
	Repeats int      `default:"5" help:"The best of so many is reported."`
	Threads int      `help:"Processors to use. Without it: all."`
}

func (*bandwidthCommand) Help() string {
	return `read: bytes a second read in order, 32 at a time (bytes.IndexByte). copy: bytes a second read and written ` +
		`(copy; what the write fetches is not counted). triad: a = b + 3c over float64 in plain Go, 24 bytes an ` +
		`element. random_lines: lines of 64 bytes a second that are read at random places, as the rows of 16 float32 ` +
		`that propagation gathers. Arrays lie in huge pages where the system has them.`
}

// A bandwidthReport has bytes a second, and lines a second.
type bandwidthReport struct {
	Threads                       int     `json:"threads"`
	ArrayBytes                    int64   `json:"array_bytes"`
	ReadBytesPerSecond            float64 `json:"read_bytes_per_second"`
	CopyBytesPerSecond            float64 `json:"copy_bytes_per_second"`
	TriadBytesPerSecond           float64 `json:"triad_bytes_per_second"`
	RandomLinesPerSecond          float64 `json:"random_lines_per_second"`
	RandomLineBytesPerSecond      float64 `json:"random_line_bytes_per_second"`
	RandomLinesPerSecondOneThread float64 `json:"random_lines_per_second_one_thread"`
}

const lineBytes = 64

func (c *bandwidthCommand) Run(ctx context.Context, out io.Writer) error {
	report, err := c.measure(ctx)
	if err != nil {
		return err
	}
	return printJSON(out, report)
}

func (c *bandwidthCommand) measure(ctx context.Context) (report *bandwidthReport, err error) {
	threads := c.Threads
	if threads <= 0 {
		threads = runtime.NumCPU()
	}
	// Every thread has a part of a whole number of lines.
	part := int(c.Size) / threads / lineBytes * lineBytes
	part = max(part, lineBytes)
	arrays := make([][]byte, 3)
	for i := range arrays {
		array, failed := offheap.New[byte](part * threads)
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, array.Free()) }()
		arrays[i] = array.Data
		for j := range array.Data { // every page is there before anything is timed, and no byte is the one looked for
			array.Data[j] = byte(j)&0x3f + 1
		}
	}
	of := func(array, thread int) []byte { return arrays[array][thread*part : (thread+1)*part] }
	var sink atomic.Uint64
	lines := part / lineBytes
	random := func(threads int) func(thread int) {
		return func(thread int) {
			sink.Add(gatherLines(arrays[0][:part*threads], uint64(thread)+1, lines))
		}
	}
	report = &bandwidthReport{Threads: threads, ArrayBytes: int64(part * threads)}
	size := float64(part)
	for _, kind := range []struct {
		to      *float64
		units   float64 // a thread
		threads int
		work    func(thread int)
	}{
		{&report.ReadBytesPerSecond, size, threads, func(t int) { sink.Add(uint64(bytes.IndexByte(of(0, t), 0))) }},
		{&report.CopyBytesPerSecond, 2 * size, threads, func(t int) { copy(of(1, t), of(0, t)) }},
		{&report.TriadBytesPerSecond, 3 * size, threads, func(t int) {
			triad(floats(of(2, t)), floats(of(0, t)), floats(of(1, t)))
		}},
		{&report.RandomLinesPerSecond, float64(lines), threads, random(threads)},
		{&report.RandomLinesPerSecondOneThread, float64(lines), 1, random(threads)},
	} {
		for range max(1, c.Repeats) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			seconds := together(kind.threads, kind.work)
			*kind.to = max(*kind.to, kind.units*float64(kind.threads)/seconds)
		}
	}
	report.RandomLineBytesPerSecond = lineBytes * report.RandomLinesPerSecond
	runtime.KeepAlive(&sink)
	return report, nil
}

// together runs work on so many threads and says in how many seconds all had done it.
func together(threads int, work func(thread int)) float64 {
	began := time.Now()
	var wait sync.WaitGroup
	for thread := range threads {
		wait.Go(func() { work(thread) })
	}
	wait.Wait()
	return time.Since(began).Seconds()
}

// floats views an array, which is aligned, as float64.
func floats(array []byte) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(array))), len(array)/8)
}

// triad is the kernel of that name in STREAM.
func triad(a, b, c []float64) {
	b, c = b[:len(a)], c[:len(a)]
	for i := range a {
		a[i] = b[i] + 3*c[i]
	}
}

// gatherLines reads whole lines at random places. No address depends on what was read, so that many are under way.
func gatherLines(array []byte, seed uint64, count int) uint64 {
	words := unsafe.Slice((*[lineBytes / 8]uint64)(unsafe.Pointer(unsafe.SliceData(array))), len(array)/lineBytes)
	sum, state := uint64(0), seed
	for range count {
		state = state*0xd1342543de82ef95 + 1
		at, _ := bits.Mul64(state, uint64(len(words)))
		line := &words[at]
		sum += line[0] + line[1] + line[2] + line[3] + line[4] + line[5] + line[6] + line[7]
	}
	return sum
}
