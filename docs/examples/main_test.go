package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestDataIsMade holds that the files of the example are those that the program makes.
func TestDataIsMade(t *testing.T) {
	for name, rows := range files() {
		var want bytes.Buffer
		must.Do(t, csv.NewWriter(&want).WriteAll(rows))
		path := filepath.Join("papers", name)
		got := must.Get(os.ReadFile(path))(t)
		if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is not what the program makes: run go run ./docs/examples", path)
		}
	}
}

// TestPageShowsGo holds that the README shows what the program in Go prints, which the test of the program knows.
func TestPageShowsGo(t *testing.T) {
	page := must.Get(os.ReadFile(filepath.Join("papers", "README.md")))(t)
	test := must.Get(os.ReadFile(filepath.Join("papers", "main_test.go")))(t)
	_, shown, _ := strings.Cut(string(page), "$ go run .\n")
	shown, _, ends := strings.Cut(shown, "```\n")
	wanted := "\t// Output:\n"
	for line := range strings.Lines(shown) {
		wanted += "\t// " + line
	}
	if !ends || !strings.Contains(string(test), wanted+"}") {
		t.Errorf("README.md shows %q, want the output in main_test.go", shown)
	}
}
