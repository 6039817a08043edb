package shell

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckRepairOfAnOldStore repairs a store of an earlier format with a damaged table, which cannot be migrated.
func TestCheckRepairOfAnOldStore(t *testing.T) {
	kept, err := zip.OpenReader("../kv/testdata/version2.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	t.Chdir(t.TempDir())
	for _, file := range kept.File {
		if filepath.Dir(file.Name) != "plain" {
			continue
		}
		f, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll("plain", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file.Name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := run(t, "", "check", "plain", "--repair", "--yes"); got.code != exitFailed || !strings.Contains(got.err, "graphcleaner migrate") {
		t.Errorf("of a whole store: got exit %d: %s%s, want words that say to migrate it", got.code, got.out, got.err)
	}
	tables, err := filepath.Glob("plain/*.sst")
	if err != nil || len(tables) == 0 {
		t.Fatal("there is no table", err)
	}
	table := tables[len(tables)-1]
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	text[40] ^= 1
	if err := os.WriteFile(table, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "migrate", "plain"); got.code != exitFailed {
		t.Errorf("migrating it: got exit %d: %s%s", got.code, got.out, got.err)
	}
	if got := mustRun(t, "check", "plain", "--repair", "--yes"); !strings.Contains(got, "migrated to 3") || !strings.Contains(got, "no problems after") {
		t.Errorf("got %s, want that it is migrated", got)
	}
}
