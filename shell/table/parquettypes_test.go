package table

import (
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestUnusualColumns reads a file that pyarrow wrote, with columns of all types that are no plain numbers, texts or
// dates.
func TestUnusualColumns(t *testing.T) {
	const path = "testdata/unusual.parquet"
	if _, err := openFile(t.Context(), path, testMemory); err == nil || !strings.Contains(err.Error(), `": got a nested or unusual type`) {
		t.Errorf("got the error %v, want a column refused", err)
	}
	parts := must.Get(FindParts(t.Context(), path))(t)
	in := must.Get(Open(t.Context(), parts.WithoutNested(), testMemory))(t)
	defer in.Close()
	if left, want := slices.Sorted(slices.Values(in.LeftOut())), []string{"deep", "huge", "key", "ms", "ns", "price", "prices", "tags", "us", "where"}; !slices.Equal(left, want) {
		t.Errorf("got %q left out, want %q", left, want)
	}
	got := []string{strings.Join(in.Header(), "|")}
	for row, err := range rowsOf(in) {
		must.Do(t, err)
		got = append(got, join(row, "|"))
	}
	want := []string{
		"id|none|label", "1||P", "2||Q", "3||P",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got the rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func join(row Row, separator string) string {
	var texts []string
	for _, field := range row.Fields {
		texts = append(texts, string(field))
	}
	return strings.Join(texts, separator)
}
