package table

import "io"

// A readAhead reads from another reader in a goroutine of its own, a few blocks ahead.
type readAhead struct {
	blocks chan block    // read, in order; closed behind the last
	free   chan []byte   // memory of blocks that have been taken
	stop   chan struct{} // closed by Close
	ended  chan struct{} // closed when the goroutine has ended
	taken  block
	at     int // of taken
}

// A block is what was read, and the error that comes behind it.
type block struct {
	data []byte
	err  error
}

const (
	aheadBlocks = 4
	aheadBytes  = 128 << 10
)

func newReadAhead(in io.Reader) *readAhead {
	r := &readAhead{
		blocks: make(chan block, aheadBlocks),
		free:   make(chan []byte, aheadBlocks),
		stop:   make(chan struct{}),
		ended:  make(chan struct{}),
	}
	for range aheadBlocks {
		r.free <- make([]byte, aheadBytes)
	}
	go r.fill(in)
	return r
}

func (r *readAhead) fill(in io.Reader) {
	defer close(r.ended)
	for {
		var memory []byte
		select {
		case memory = <-r.free:
		case <-r.stop:
			return
		}
		n, err := 0, error(nil)
		for n < len(memory) && err == nil {
			var more int
			more, err = in.Read(memory[n:])
			n += more
		}
		r.blocks <- block{memory[:n], err} // there is room for all blocks
		if err != nil {
			return
		}
	}
}

// Read is io.Reader's.
func (r *readAhead) Read(p []byte) (int, error) {
	for r.at == len(r.taken.data) {
		if r.taken.err != nil {
			return 0, r.taken.err
		}
		if r.taken.data != nil {
			r.free <- r.taken.data[:cap(r.taken.data)]
		}
		r.taken, r.at = <-r.blocks, 0
	}
	n := copy(p, r.taken.data[r.at:])
	r.at += n
	return n, nil
}

// Close ends the goroutine.
func (r *readAhead) Close() error {
	close(r.stop)
	<-r.ended
	return nil
}
