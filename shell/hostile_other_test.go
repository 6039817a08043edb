//go:build !linux && !darwin

package shell

import (
	"os"
	"testing"
)

// writeHostile writes a file; where there are no pipes with names it skips the test.
func writeHostile(t *testing.T, path, content string) error {
	if content == endless {
		t.Skip("there are no pipes with names")
	}
	return os.WriteFile(path, []byte(content), 0o600)
}
