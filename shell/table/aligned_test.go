package table

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Files side by side give each row the fields of its own row in each, in any number of goroutines.
func TestAligned(t *testing.T) {
	const count = 60_000 // several chunks
	dir := t.TempDir()
	var labels, points strings.Builder
	for i := range count {
		fmt.Fprintf(&labels, "class %d\n", i%7)
		fmt.Fprintf(&points, "%d,-%d\n", i, i)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	label, point := write("labels.csv", labels.String()), write("points.csv", points.String())
	parts := AlignedParts("all", []string{label, point}, func(context.Context, int64) (*Aligned, error) {
		return &Aligned{Rows: count, Counted: "count.csv", Columns: []AlignedColumn{
			{Name: "id", Text: func(dst []byte, row int64, _ []byte) []byte { return strconv.AppendInt(dst, row, 10) }},
			{Name: "x", Path: point}, {Name: "y", Path: point},
			{Name: "label", Path: label, Text: func(dst []byte, _ int64, field []byte) []byte { return append(dst, field[len("class "):]...) }},
		}}, nil
	})
	in, err := OpenParts(t.Context(), parts, testMemory)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	next := int64(0)
	check := func(row Row) error {
		i := row.Line - 1
		if want := fmt.Sprintf("%d,%d,-%d,%d", i, i, i, i%7); join(row, ",") != want {
			return fmt.Errorf("row %d: got %s, want %s", i, join(row, ","), want)
		}
		return nil
	}
	rows := make([][]Row, 3)
	err = in.Scan(t.Context(), len(rows), func(worker int, c *Chunk) error {
		rows[worker] = rows[worker][:0]
		for row, err := range c.Rows() {
			if err == nil {
				err = check(row)
			}
			if err != nil {
				return err
			}
			rows[worker] = append(rows[worker], Row{Line: row.Line})
		}
		return nil
	}, func(worker int, _ *Chunk) error {
		for _, row := range rows[worker] {
			if next++; row.Line != next {
				return fmt.Errorf("got line %d, want %d", row.Line, next)
			}
		}
		return nil
	})
	if err != nil || next != count || in.Offset() != in.Size() {
		t.Errorf("got %d rows, %d of %d bytes and the error %v, want %d rows and all bytes", next, in.Offset(), in.Size(), err, count)
	}
}

func join(row Row, separator string) string {
	var texts []string
	for _, field := range row.Fields {
		texts = append(texts, string(field))
	}
	return strings.Join(texts, separator)
}
