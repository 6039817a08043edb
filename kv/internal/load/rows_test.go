package load

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestDamagedRows damages the file of rows behind the back of a load.
func TestDamagedRows(t *testing.T) {
	s := must.Get(newRowSpool(t.TempDir()))(t)
	defer func() { must.Do(t, s.close()) }()
	must.Do(t, errors.Join(s.append("a", 1, -1, nil), s.w.Flush()))
	long := binary.AppendUvarint(nil, 1<<62)
	must.Get(s.file.WriteAt(long, 0))(t)
	s.size = int64(len(long)) + 3
	for row, err := range s.all(t.Context()) {
		if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), s.file.Name()) {
			t.Errorf("an id of 4 EiB: got %v, %v, want io.ErrUnexpectedEOF with the name of the file", row, err)
		}
	}
}
