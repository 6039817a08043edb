package matrix

import (
	"errors"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/float16"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestConform expects rows that an encoding cannot keep to be refused, and the cells of others to be rounded.
func TestConform(t *testing.T) {
	e := Entry{Columns: make([]string, 5), Half: true, Kept: 1}
	if err := e.Conform([]float32{1, 2, 3, 3, 3}); !errors.Is(err, record.ErrInvalidValue) {
		t.Errorf("two cells beside the others: got %v, want ErrInvalidValue", err)
	}
	row := []float32{0.1, 0.1, 0.3, 0.1, 0.1}
	if err := e.Conform(row); err != nil || row[0] != 0.1 || row[2] != float16.Round(0.3) {
		t.Errorf("got %v, %v, want the third cell alone rounded", row, err)
	}
}
