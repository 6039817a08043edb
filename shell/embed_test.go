package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// machineProgram is a program of the machine. Without it the test is skipped.
func machineProgram(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("there is no %s on this machine", name)
	}
	return path
}

// The program of docs/embedding.md is a module of its own. It builds, and finds the wrong label that arrives. README.md
// shows its transaction.
func TestEmbedExample(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	machineProgram(t, "go")
	t.Parallel()
	source := filepath.Join("..", "docs", "embed")
	program := must.Get(os.ReadFile(filepath.Join(source, "main.go")))(t)
	if lines := strings.Count(string(program), "\n"); lines >= 80 {
		t.Errorf("%s/main.go has %d lines, want less than 80", source, lines)
	}
	readme := must.Get(os.ReadFile(filepath.Join("..", "README.md")))(t)
	_, shown, _ := strings.Cut(string(readme), "```go\n")
	shown, _, _ = strings.Cut(shown, "```\n")
	if !strings.HasPrefix(shown, "func arrive(") || !strings.Contains(string(program), shown) {
		t.Errorf("README.md shows %q, want func arrive of %s/main.go as it is", shown, source)
	}
	run := exec.Command("go", "run", ".", filepath.Join(t.TempDir(), "papers.graph"))
	run.Dir = source
	var progress strings.Builder
	run.Stderr = &progress
	out, err := run.Output()
	if err != nil {
		t.Fatalf("go run . in %s: %v\n%s", source, err, &progress)
	}
	if got, want := string(out),
		"late graphics 0.7614713907241821 databases\nlate graphics should be databases\n"; got != want {
		t.Errorf("the program printed %q, want %q", got, want)
	}
	if !strings.Contains(progress.String(), "label model 400/400") {
		t.Errorf("the program reported %q, want the progress of its label model", &progress)
	}
}
