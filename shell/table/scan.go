package table

import (
	"cmp"
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
	s := scan{in: r, read: read, inOrder: inOrder, last: make(chan error, 1)}
	s.last <- nil
	chunks := make([]*Chunk, workers)
	for worker := range chunks { // before the first goroutine begins, as it may go on to the next file
		chunks[worker] = &Chunk{rows: r.now.Load().chunks(), part: int64(r.part) << partShift}
	}
	var running sync.WaitGroup
	for worker, c := range chunks {
		running.Go(func() { s.work(ctx, worker, c) })
	}
	running.Wait()
	return <-s.last
}

// A scan is the state that the goroutines of Scan share.
type scan struct {
	in            *Reader
	read, inOrder func(worker int, c *Chunk) error

	claims sync.Mutex // held while a chunk is filled
	ended  bool       // there are no more, or none is wanted
	last   chan error // of the chunk filled last: the first error up to it, once it and those before it are done
}

// work reads chunks until there are no more.
func (s *scan) work(ctx context.Context, worker int, c *Chunk) {
	for {
		before, done, err := s.claim(ctx, c)
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = s.read(worker, c)
		}
		if s.inOrder == nil {
			go func() { done <- cmp.Or(<-before, err) }()
		} else {
			first := <-before
			if first == nil && err == nil {
				err = s.inOrder(worker, c)
			}
			done <- cmp.Or(first, err)
		}
		if err != nil {
			s.claims.Lock()
			s.ended = true
			s.claims.Unlock()
		}
	}
}

// claim fills a chunk. It returns what takes the first error of the chunks before it, and of those up to it. An error
// of filling it counts as one of this chunk.
func (s *scan) claim(ctx context.Context, c *Chunk) (before, done chan error, err error) {
	s.claims.Lock()
	defer s.claims.Unlock()
	if s.ended {
		return nil, nil, io.EOF
	}
	if err = ctx.Err(); err == nil {
		err = s.in.fill(c)
	}
	if s.ended = err != nil; errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	before, s.last = s.last, make(chan error, 1)
	return before, s.last, err
}
