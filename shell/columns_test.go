package shell

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/shell/internal/columnar"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// fieldsOf reads a table: its header, and its fields as text.
func fieldsOf(t *testing.T, path string) (rows [][]string) {
	t.Helper()
	parts := must.Get(table.FindParts(t.Context(), path))(t)
	r := must.Get(table.Open(t.Context(), parts, testMemory))(t)
	defer r.Close()
	rows = append(rows, r.Header())
	for row, err := range r.Rows() {
		must.Do(t, err)
		var fields []string
		for _, field := range row.Fields {
			fields = append(fields, strings.Clone(string(field)))
		}
		rows = append(rows, fields)
	}
	return rows
}

// TestExportsInColumns: an export to .parquet has what that to .csv has.
func TestExportsInColumns(t *testing.T) {
	cleanedStore(t)
	mustRun(t, "shell", "g", "-c", "accept where score > 0.9", "--yes")
	for _, what := range []string{"scores", "suspects", "labels", "decisions", "verdicts", "predictions", "transition"} {
		mustRun(t, "export", "g", what, "--out", "t.csv")
		mustRun(t, "export", "g", what, "--out", "t.parquet")
		want, got := fieldsOf(t, "t.csv"), fieldsOf(t, "t.parquet")
		if len(got) != len(want) {
			t.Fatalf("%s: got %d rows, want %d", what, len(got)-1, len(want)-1)
		}
		for i := range want {
			for j := range want[i] {
				if !sameField(got[i][j], want[i][j]) {
					t.Errorf("%s, row %d, column %s: got %q, want %q", what, i, want[0][j], got[i][j], want[i][j])
				}
			}
		}
	}
}

// sameField says whether two texts stand for the same value: single floats have fewer digits in csv.
func sameField(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	if err != nil || err2 != nil {
		return a == b
	}
	return x == y || math.Float32bits(float32(x)) == math.Float32bits(float32(y))
}

func TestLargeFootersAreRefused(t *testing.T) {
	if nodes, classes := int64(1_500_000), int64(172); columnar.ParquetChunks(nodes, classes) > mostChunks {
		t.Errorf("predictions of %d nodes and %d classes are refused", nodes, classes)
	}
	if nodes, classes := int64(1_000_000), int64(10_000); columnar.ParquetChunks(nodes, classes) <= mostChunks {
		t.Errorf("predictions of %d nodes and %d classes are not refused", nodes, classes)
	}
}
