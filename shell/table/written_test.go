package table

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestWrittenTablesComeBack reads what encoding/csv writes for package print as csv and tsv, value by value, with
// chunks of any size and any number of workers.
func TestWrittenTablesComeBack(t *testing.T) {
	dir := t.TempDir()
	value := rapid.StringOf(rapid.SampledFrom([]rune("abé\t\n\r\"\\,; #\u00a0")))
	rapid.Check(t, func(t *rapid.T) {
		var values [][]string
		for i := range rapid.IntRange(1, 8).Draw(t, "rows") {
			values = append(values, []string{strconv.Itoa(i) + value.Draw(t, "id"), value.Draw(t, "label"),
				value.Draw(t, "text")})
		}
		var out bytes.Buffer
		w, name := csv.NewWriter(&out), "a.csv"
		if rapid.Bool().Draw(t, "tabs") {
			w.Comma, name = '\t', "a.tsv"
			for _, row := range values { // in which a row is a line
				for i := range row {
					row[i] = strings.ReplaceAll(row[i], "\n", "")
				}
			}
		}
		must.Do(t, w.WriteAll(append([][]string{{"id", "label", "text"}}, values...)))
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, out.Bytes(), 0o600))
		chunk := rapid.IntRange(1, 64).Draw(t, "chunk")
		in := must.Get(Parts{name: path, paths: []string{path}}.open(t.Context(), 0, testMemory, chunk))(t)
		var got [][]string
		var told []string
		for row, err := range in.Rows() {
			got, told = append(got, texts(row.Fields)), append(told, rowText(row, err))
		}
		must.Do(t, in.Close())
		if !slices.EqualFunc(got, values, slices.Equal) {
			t.Fatalf("%q: got %q, want %q", out.Bytes(), got, values)
		}
		for workers := 1; workers <= 3; workers++ {
			if got := scanned(t, path, chunk, workers, true); !slices.Equal(got, told) {
				t.Fatalf("%q with %d workers: got %q, want %q", out.Bytes(), workers, got, told)
			}
		}
	})
}
