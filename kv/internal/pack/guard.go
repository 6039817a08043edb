package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/mapped"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// GuardFile runs a function that reads a file; any error or panic of it, but one of the system, is damage.
func GuardFile(path string, read func() error) (err error) {
	defer mapped.Watch()()
	defer func() {
		if r := recover(); r != nil {
			err = record.CorruptFile(path, "it is cut short or overwritten, or the disk cannot read it")
		}
	}()
	err = read()
	if _, ofSystem := errors.AsType[*fs.PathError](err); err == nil || ofSystem {
		return err
	}
	return record.CorruptFile(path, "%s", strings.TrimSpace(err.Error()))
}

// GuardFaults runs what reads mapped files. A fault of one, in the calling goroutine, is an ErrCorrupt that names the
// file.
func GuardFaults(read func() error) error {
	err := mapped.Guard(read)
	if fault, ok := errors.AsType[*mapped.Fault](err); ok && !errors.Is(err, record.ErrCorrupt) {
		return fmt.Errorf("%w: %w", record.ErrCorrupt, fault)
	}
	return err
}
