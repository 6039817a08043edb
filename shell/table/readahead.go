package table

import (
	"bufio"
	"cmp"
	"io"
)

// A readAhead reads from another reader in a goroutine of its own, a block ahead.
type readAhead struct {
	*io.PipeReader
	end chan struct{} // closed when the goroutine has ended
}

const aheadBytes = 256 << 10

func newReadAhead(in io.Reader) *readAhead {
	out, pipe := io.Pipe()
	r := &readAhead{out, make(chan struct{})}
	go func() {
		defer close(r.end)
		block := bufio.NewWriterSize(pipe, aheadBytes)
		_, err := block.ReadFrom(in)
		_ = pipe.CloseWithError(cmp.Or(block.Flush(), err)) // it returns no error
	}()
	return r
}

// Close ends the goroutine.
func (r *readAhead) Close() error {
	err := r.PipeReader.Close()
	<-r.end
	return err
}
