package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program that the README embeds the store with is a module of its own; it builds and finds its one wrong label.
func TestEmbedExample(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	t.Parallel()
	source := filepath.Join("..", "docs", "embed")
	program, err := os.ReadFile(filepath.Join(source, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(program), "\n"); lines >= 50 {
		t.Errorf("%s/main.go has %d lines, want less than 50", source, lines)
	}
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+string(program)+"```\n") {
		t.Errorf("README.md does not show %s/main.go as it is", source)
	}
	run := exec.Command("go", "run", ".", filepath.Join(t.TempDir(), "papers.graph"))
	run.Dir = source
	var progress strings.Builder
	run.Stderr = &progress
	out, err := run.Output()
	if err != nil {
		t.Fatalf("go run . in %s: %v\n%s", source, err, &progress)
	}
	if got, want := string(out), "late graphics should be databases\n"; got != want {
		t.Errorf("the program printed %q, want %q", got, want)
	}
	if !strings.Contains(progress.String(), "label model 34/34") {
		t.Errorf("the program reported %q, want the progress of its label model", &progress)
	}
}
