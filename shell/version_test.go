package shell

import (
	"os"
	"path/filepath"
	"testing"
)

// TestBuildOf wants builds without a released version told from each other by their bytes.
func TestBuildOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "graphcleaner")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{
		"graphcleaner (devel)":        "graphcleaner (devel), SHA-256 ba7816bf8f01",
		"graphcleaner v1.0.0+dirty":   "graphcleaner v1.0.0+dirty, SHA-256 ba7816bf8f01",
		"graphcleaner v1.0.0":         "graphcleaner v1.0.0",
		"graphcleaner v0.0.0-2026-ab": "graphcleaner v0.0.0-2026-ab",
	} {
		if got, err := buildOf(version, path); got != want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", version, got, err, want)
		}
	}
	if _, err := buildOf("graphcleaner (devel)", path+"-none"); !os.IsNotExist(err) {
		t.Errorf("got %v, want that the file does not exist", err)
	}
}
