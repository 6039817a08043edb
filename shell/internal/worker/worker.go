package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// A step is one operation at work.
type step interface {
	// beginGroup begins the group that a frame names.
	beginGroup(f *Frame) error
	// take takes a frame in. If it has numbers, their width and length are right.
	take(f *Frame) error
	// endGroup ends the group of the frames since the last group frame, or since the job.
	endGroup() error
	// end ends the work.
	end() error
}

// A base is the part that all operations have.
type base struct {
	ctx context.Context
	*Job
	out    *Writer
	memory []byte // of the payload that is made
}

func (b *base) beginGroup(*Frame) error { return nil }
func (b *base) endGroup() error         { return nil }
func (b *base) end() error              { return nil }

// unexpected is the error of a kind of frame that the operation does not take.
func (b *base) unexpected(f *Frame) error {
	return fmt.Errorf("%w: %s, which %s does not take", errFrame, f.Place(), b.Op)
}

// write writes a frame of the operation, whose payload is in b.memory.
func (b *base) write(f Frame) error {
	f.Payload = b.memory
	return b.out.Write(&f)
}

// report writes a report.
func (b *base) report(counts any) (err error) {
	if b.memory, err = json.Marshal(counts); err != nil {
		return err
	}
	return b.write(Frame{Kind: KindReport})
}

// steps are the operations: see the package.
var steps = map[string]func(b base) (step, error){
	"arcs": newArcs, "multiply": newMultiply, "add": newAdd, "triangles": newTriangles, "census": newCensus,
	"fit": newFit, "score": newScore,
}

// runtimeBytes is the memory of a worker beside Job.Memory: the program, and the frames that come and go.
const runtimeBytes = 128 << 20

// streamBytes is how much is read or written at once.
const streamBytes = 1 << 20

// Run does the job that in begins with, and writes the results to out. version is that of this program. An error
// names the operation and the frame.
func Run(ctx context.Context, version string, in io.Reader, out io.Writer) error {
	buffered := bufio.NewWriterSize(out, streamBytes)
	from, to := NewReader(bufio.NewReaderSize(in, streamBytes)), NewWriter(buffered)
	first, err := from.Next()
	if err != nil {
		return fmt.Errorf("job: %w", whole(err))
	}
	job, err := readJob(first)
	if err != nil {
		return err
	}
	if job.Version != "" && job.Version != version {
		return fmt.Errorf("%s: the job is of %s, this program is %s: use one version of graphcleaner everywhere", job.Op,
			wording.Short(job.Version), version)
	}
	// Garbage is collected before the process holds more than the job allows.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(job.Memory + runtimeBytes))
	s, err := steps[job.Op](base{ctx: ctx, Job: job, out: to})
	if err == nil {
		err = work(ctx, job, from, s)
	}
	if err == nil {
		err = to.End()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", job.Op, err)
	}
	return buffered.Flush()
}

// whole is an error for a stream that ends where a frame is due.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: the input ends without an end frame", errFrame)
	}
	return err
}

// work reads frames up to the end frame.
func work(ctx context.Context, job *Job, from *Reader, s step) error {
	for count := uint32(0); ; count++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, err := from.Next()
		if err != nil {
			return whole(err)
		}
		switch f.Kind {
		case KindGroup:
			if err = s.endGroup(); err == nil {
				err = s.beginGroup(f)
			}
		case KindEnd:
			if f.Count != count {
				return fmt.Errorf("%w: the end frame has %d frames, %d have come", errFrame, f.Count, count)
			}
			if err := s.endGroup(); err != nil {
				return err
			}
			return s.end()
		default:
			if err = job.checkNumbers(f); err == nil {
				err = s.take(f)
			}
		}
		if err != nil {
			return err
		}
	}
}
