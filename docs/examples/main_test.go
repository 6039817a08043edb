package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDataIsMade holds that the files of the examples are those that the program makes.
func TestDataIsMade(t *testing.T) {
	for _, g := range graphs {
		for name, rows := range g.files() {
			var want bytes.Buffer
			if err := csv.NewWriter(&want).WriteAll(rows); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(g.folder, name)
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%s is not what the program makes: run go run ./docs/examples", path)
			}
		}
	}
}

// TestPagesShowGo holds that each README shows what the program in Go prints, which the test of the program knows.
func TestPagesShowGo(t *testing.T) {
	for _, g := range graphs {
		page, err := os.ReadFile(filepath.Join(g.folder, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		test, err := os.ReadFile(filepath.Join(g.folder, "main_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		_, shown, _ := strings.Cut(string(page), "$ go run .\n")
		shown, _, ends := strings.Cut(shown, "```\n")
		wanted := "\t// Output:\n"
		for line := range strings.Lines(shown) {
			wanted += "\t// " + line
		}
		if !ends || !strings.Contains(string(test), wanted+"}") {
			t.Errorf("%s/README.md shows %q, want the output in main_test.go", g.folder, shown)
		}
	}
}
