//go:build linux || darwin

package parallel

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/graphcleaner/graphcleaner/internal/mapped"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestFaultOfATask has tasks read a mapped file that was cut short.
func TestFaultOfATask(t *testing.T) {
	f := must.Get(os.Create(filepath.Join(t.TempDir(), "a file")))(t)
	defer f.Close()
	must.Do(t, f.Truncate(1<<16))
	data, err := unix.Mmap(int(f.Fd()), 0, 1<<16, unix.PROT_READ, unix.MAP_SHARED)
	must.Do(t, err)
	defer unix.Munmap(data) //nolint:errcheck // the process ends soon
	must.Do(t, f.Truncate(0))
	var sum atomic.Int64
	err = Do(t.Context(), 2, 4, func(_ context.Context, _, i int) error {
		sum.Add(int64(data[i<<13]))
		return nil
	})
	if _, ok := errors.AsType[*mapped.Fault](err); !ok {
		t.Errorf("got %v, want a *mapped.Fault", err)
	}
}
