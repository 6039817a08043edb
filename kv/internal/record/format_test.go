package record

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestKindsAreInTheFormat wants a line for each kind of record in docs/format.md.
func TestKindsAreInTheFormat(t *testing.T) {
	text := string(must.Get(os.ReadFile("../../../docs/format.md"))(t))
	for k, name := range kindNames {
		if !strings.Contains(text, fmt.Sprintf("\n%02x ", byte(k))) {
			t.Errorf("docs/format.md has no line for kind %02x, %s", byte(k), name)
		}
	}
}
