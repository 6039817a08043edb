//go:build linux || darwin

package scratch

import (
	"errors"
	"io"
	"os"
)

// rewrite reserves blocks where the file system cannot do it by itself: it writes what there is, and zeros behind it.
func rewrite(f *os.File, size int64) error {
	block := make([]byte, 1<<20)
	for offset := int64(0); offset < size; {
		b := block[:min(size-offset, int64(len(block)))]
		n, err := f.ReadAt(b, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		clear(b[n:])
		if _, err := f.WriteAt(b, offset); err != nil {
			return err
		}
		offset += int64(len(b))
	}
	return nil
}
