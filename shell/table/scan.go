package table

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"
)

// A Chunk is a run of consecutive rows that one goroutine of Reader.Scan holds.
type Chunk struct {
	rows rows  // nil before the first
	part int64 // of Row.Line
}

// Rows yields the rows of the chunk from where the last call stopped. A row that is not as it should be yields its
// *Error. The bytes of the fields stay as they are until Scan has done with the chunk.
func (c *Chunk) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for {
			row, err := c.rows.next()
			row.Line |= c.part
			if errors.Is(err, io.EOF) || !yield(row, err) {
				return
			}
		}
	}
}

// Scan hands the rows to a number of goroutines, in chunks. Each calls read for one chunk after another,
// side by side with the others, and then inOrder, if not nil, for the same chunk: those calls come one at a time, in
// the order of the file. The first argument is the number of the goroutine, from 0 to workers−1. Of several errors Scan
// returns the one of the first chunk; those of the file come after the rows that are before them. Where ctx ends it
// returns its error within the time of a chunk.
func (r *Reader) Scan(ctx context.Context, workers int, read, inOrder func(worker int, c *Chunk) error) error {
	s := scan{in: r, read: read, inOrder: inOrder}
	s.turn.L = &s.turns
	chunks := make([]*Chunk, workers)
	for worker := range chunks { // before the first goroutine begins, as it may go on to the next file
		chunks[worker] = &Chunk{rows: r.now.Load().chunks(), part: int64(r.part) << partShift}
	}
	var running sync.WaitGroup
	for worker, c := range chunks {
		running.Go(func() { s.work(ctx, worker, c) })
	}
	running.Wait()
	return s.err
}

// A scan is the state that the goroutines of Scan share.
type scan struct {
	in            *Reader
	read, inOrder func(worker int, c *Chunk) error

	claims sync.Mutex // held while a chunk is filled
	chunks int64      // that a worker has begun
	ended  bool       // there are no more

	turns  sync.Mutex
	turn   sync.Cond
	done   int64 // chunks that inOrder has had
	failed int64 // the first chunk with an error
	err    error
}

// work reads chunks until there are no more.
func (s *scan) work(ctx context.Context, worker int, c *Chunk) {
	for {
		number, err := s.claim(ctx, c)
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = s.read(worker, c)
		}
		if s.inOrder != nil && s.await(number) && err == nil {
			err = s.inOrder(worker, c)
		}
		if !s.end(number, err) {
			return
		}
	}
}

// claim fills a chunk and returns its number. An error of doing so counts as one of this chunk.
func (s *scan) claim(ctx context.Context, c *Chunk) (number int64, err error) {
	s.claims.Lock()
	defer s.claims.Unlock()
	if s.ended {
		return 0, io.EOF
	}
	if err = ctx.Err(); err == nil {
		err = s.in.fill(c)
	}
	if err != nil {
		s.ended = true
	}
	number = s.chunks
	s.chunks++
	return number, err
}

// await waits until all chunks before the given one are done; false if one of them failed.
func (s *scan) await(number int64) bool {
	s.turns.Lock()
	defer s.turns.Unlock()
	for s.done < number && s.err == nil {
		s.turn.Wait()
	}
	return s.err == nil
}

// end notes how a chunk ended, and returns whether to go on.
func (s *scan) end(number int64, err error) bool {
	s.turns.Lock()
	defer s.turns.Unlock()
	if err != nil && (s.err == nil || number < s.failed) {
		s.failed, s.err = number, err
	}
	s.done++
	s.turn.Broadcast()
	return s.err == nil
}
