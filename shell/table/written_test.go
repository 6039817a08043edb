package table

import (
	"bytes"
	"encoding/csv"
	"fmt"
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
			// Lines of a text with as many tabs as a row are rows.
			without := rapid.SampledFrom([]string{"\t", "\n"}).Draw(t, "without")
			for _, row := range values {
				for i := range row {
					row[i] = strings.ReplaceAll(row[i], without, "")
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

// Quotes that are text take no rows: those that begin or end a title of a table with tabs, such as the mark of inches.
// Quotes around a text with an end of line, or with a tab, still hold it together.
func TestQuotesOfTitles(t *testing.T) {
	titles := []string{"\"Art\tA", "19\"\tB", "a\t\"\"Art", "C\tof 3\"", "\"two\nlines\"\tD", "E\t\"two\nlines\"", "\"a\tb\"\tF",
		"\t\"", "\"\tG", "\"two\n\nlines\"\t\"Art"}
	var rows, want strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&rows, "%d\t%s\n", i, titles[i*i%97%len(titles)])
		fmt.Fprintln(&want, i)
	}
	for _, c := range []struct {
		begin, end string
		chunk      int
	}{
		{"id\ttitle\tkind\n", "", 7}, {"", "", 300}, {"id\ttitle\tkind\r\n", "", chunkBytes},
		{"\"id\"\t\"title\"\n\"a\"\tb\tc\n\"d\"\te\tf\n", "", 100}, // as R writes names of rows
		{"id\ttitle\tkind\n", "x\ty\t\"open\n" + strings.Repeat("x\ty\tz\n", MaxRecord/6+1), chunkBytes},
		{"id\ttitle\tkind\n", "x\ty\t\"open\n\n" + strings.Repeat("x\ty\tz\n", MaxRecord/6+1), chunkBytes},
	} {
		path := write(t, "a.tsv", []byte(c.begin+rows.String()+c.end))
		in := must.Get(Parts{name: path, paths: []string{path}}.WithForm(Form{NoHeader: c.begin == ""}, nil).open(t.Context(), 0,
			testMemory, c.chunk))(t)
		var got strings.Builder
		others := 0
		for row, err := range in.Rows() {
			must.Do(t, err)
			if id := row.Fields[0]; isNumber(string(id)) {
				fmt.Fprintf(&got, "%s\n", id)
			} else {
				others++
			}
		}
		if ends := strings.Count(strings.ReplaceAll(c.end, "\n\n", "\n"), "\n"); got.String() != want.String() || others < ends {
			t.Errorf("%q, %d bytes in chunks of %d: got %d rows with numbers, want %d, and %d others, want %d", c.begin,
				len(c.end), c.chunk, strings.Count(got.String(), "\n"), strings.Count(want.String(), "\n"), others, ends)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}
