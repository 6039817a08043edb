package pack

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/mapped"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// GuardFile runs what reads a file; any error or panic of it, but one of the system, is damage.
func GuardFile(path string, read func() error) (err error) {
	defer mapped.Watch()()
	defer func() {
		if r := recover(); r != nil {
			err = record.CorruptFile(path, "it is cut short or overwritten, or the disk cannot read it")
		}
	}()
	err = read()
	if err == nil || isSystemError(err) {
		return err
	}
	return record.CorruptFile(path, "%s", strings.TrimSpace(err.Error()))
}

func isSystemError(err error) bool {
	var pathError *fs.PathError
	return errors.As(err, &pathError)
}
