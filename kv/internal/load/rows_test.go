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
	must.Do(t, errors.Join(s.append("abcdefgh", 1, -1, nil), s.flush()))
	check := func(what string, want error) {
		for row, err := range s.all(t.Context()) {
			if !errors.Is(err, want) || !strings.Contains(err.Error(), s.file.Name()) {
				t.Errorf("%s: got %v, %v, want %v with the name of the file", what, row, err, want)
			}
		}
	}
	must.Get(s.file.WriteAt(binary.AppendUvarint(nil, 1<<62), 0))(t)
	check("an id of 4 EiB", errRest)
	must.Do(t, s.file.Truncate(3))
	check("a file that was cut", io.EOF)
}
