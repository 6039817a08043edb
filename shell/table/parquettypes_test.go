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
	in := must.Get(Open(t.Context(), path, Options{Memory: testMemory}))(t)
	defer in.Close()
	if left, want := slices.Sorted(slices.Values(in.LeftOut())), []string{"deep", "huge", "key", "ms", "ns", "price",
		"prices", "tags", "us", "where"}; !slices.Equal(left, want) {
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

// TestBinaryColumns reads a file that pyarrow wrote, with bytes that it does not call text.
func TestBinaryColumns(t *testing.T) {
	const path = "testdata/binary.parquet"
	in := must.Get(Open(t.Context(), path, Options{Texts: []string{"plain"}, Memory: testMemory}))(t)
	defer in.Close()
	got := []string{strings.Join(in.Header(), "|")}
	for row, err := range rowsOf(in) {
		must.Do(t, err)
		got = append(got, join(row, "|"))
	}
	want := []string{
		"id|label|plain", "1|P|abc", "2|Q|d", "3|P|",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got the rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if left, want := slices.Sorted(slices.Values(in.LeftOut())), []string{"blob", "hash",
		"time"}; !slices.Equal(left, want) {
		t.Errorf("got %q left out, want %q", left, want)
	}
	in = must.Get(Open(t.Context(), path, Options{Texts: []string{"blob"}, Memory: testMemory}))(t)
	defer in.Close()
	var err error
	for _, err = range rowsOf(in) {
	}
	if want := `testdata/binary.parquet:1: column "blob": got a NUL byte, want text`; err == nil || err.Error() != want {
		t.Errorf("got the error %v, want %s", err, want)
	}
}

func join(row Row, separator string) string {
	var texts []string
	for _, field := range row.Fields {
		texts = append(texts, string(field))
	}
	return strings.Join(texts, separator)
}
