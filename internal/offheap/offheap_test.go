package offheap

import (
	"runtime"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func TestArray(t *testing.T) {
	for _, length := range []int{0, 1, 1 << 20} {
		a := must.Get(New[uint64](length))(t)
		if len(a.Data) != length {
			t.Fatalf("got %d numbers, want %d", len(a.Data), length)
		}
		for i := range a.Data {
			if a.Data[i] != 0 {
				t.Fatalf("number %d: got %d, want 0", i, a.Data[i])
			}
			a.Data[i] = ^uint64(i)
		}
		for range 2 {
			if err := a.Free(); err != nil || a.Data != nil {
				t.Fatalf("Free: got %v, %d numbers left", err, len(a.Data))
			}
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	if _, err := New[uint32](1 << 60); err == nil {
		t.Error("more than the address space: got no error")
	}
}
