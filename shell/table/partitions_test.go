package table

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// Columns of directories stand behind those of a parquet file, and are texts.
func TestPartitionsOfParquet(t *testing.T) {
	content := must.Get(os.ReadFile("testdata/padded.parquet"))(t)
	dir := t.TempDir()
	for _, year := range []string{"year=2020", "year=2021"} {
		must.Do(t, os.Mkdir(filepath.Join(dir, year), 0o700))
		must.Do(t, os.WriteFile(filepath.Join(dir, year, "a.parquet"), content, 0o600))
	}
	parts := must.Get(FindParts(t.Context(), dir))(t)
	in := must.Get(Open(t.Context(), parts, testMemory))(t)
	defer in.Close()
	if want := []string{"id", "label", "text", "year"}; !slices.Equal(in.Header(), want) {
		t.Fatalf("got the columns %q, want %q", in.Header(), want)
	}
	for column, name := range in.Header() {
		if in.IsList(column) || in.IsFloat(column) {
			t.Errorf("column %s has lists or floats", name)
		}
	}
	years := map[string]int{}
	for row, err := range in.Rows() {
		must.Do(t, err)
		years[string(row.Fields[3])]++
	}
	if years["2020"] != 5 || years["2021"] != 5 {
		t.Errorf("got %v rows of each year, want 5", years)
	}
}

// Looking for the files of a directory ends with its context.
func TestFindPartsCancelled(t *testing.T) {
	dir := filepath.Dir(write(t, "a.csv", []byte("id\n1\n")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if parts, err := FindParts(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v, want an error that it was cancelled", parts.Paths(), err)
	}
}
