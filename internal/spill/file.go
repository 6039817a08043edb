package spill

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	minBuffer = 4 << 10
	maxBuffer = 1 << 20
)

// fanIn is how many runs, of records of so many bytes at most, are merged at once within limit bytes, and buffer how
// many bytes each then reads ahead. A fan-in of two is the least that makes headway, so that very small limits are
// exceeded by two small buffers.
func fanIn(limit int64, record int) (runs int, buffer int) {
	runs = int(min(max(limit/max(32<<10, 2*int64(record)), 2), 512))
	return runs, bufferSize(limit / int64(runs))
}

func bufferSize(bytes int64) int { return int(min(max(bytes, minBuffer), maxBuffer)) }

// A run is a stretch of a runFile that holds sorted records.
type run struct{ offset, length int64 }

// A runFile is a temporary file of runs, written one after another and read at random.
type runFile struct {
	file *os.File
	w    *bufio.Writer
	runs []run
	size int64 // where the next run begins
}

func createRunFile(dir string, buffer int) (*runFile, error) {
	f, err := os.CreateTemp(dir, "spill-*.tmp")
	if err != nil {
		return nil, fmt.Errorf("spill: no temporary file for sorting: %w", err)
	}
	return &runFile{file: f, w: bufio.NewWriterSize(f, buffer)}, nil
}

func (f *runFile) write(b []byte) error {
	if _, err := f.w.Write(b); err != nil {
		return writeError(f.file.Name(), err)
	}
	return nil
}

// endRun makes what was written since the last call a run of the given length in bytes.
func (f *runFile) endRun(length int64) error {
	if err := f.w.Flush(); err != nil {
		return writeError(f.file.Name(), err)
	}
	f.runs = append(f.runs, run{f.size, length})
	f.size += length
	return nil
}

func (f *runFile) reader(r run, buffer int) *bufio.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(f.file, r.offset, r.length), buffer)
}

// remove closes and deletes the file.
func (f *runFile) remove() error {
	if err := errors.Join(f.file.Close(), os.Remove(f.file.Name())); err != nil {
		return fmt.Errorf("spill: removing a temporary file: %w", err)
	}
	return nil
}

func writeError(name string, err error) error {
	return fmt.Errorf("spill: sorting needs more room on disk than %s got: %w", name, err)
}

func readError(name string, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("spill: reading sorted records back from %s: %w", name, err)
}
