package table

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
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
		}
		if err := w.WriteAll(append([][]string{{"id", "label", "text"}}, values...)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		chunk := rapid.IntRange(1, 64).Draw(t, "chunk")
		in, err := Parts{name: path, paths: []string{path}}.open(t.Context(), 0, testMemory, chunk)
		if err != nil {
			t.Fatal(err)
		}
		var got [][]string
		var told []string
		for row, err := range in.Rows() {
			got, told = append(got, texts(row.Fields)), append(told, rowText(row, err))
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
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
