package shell

import (
	"strings"
	"testing"
)

// The headers of matrices name classes as they are: what is exported is imported again.
func TestClassesWithSpacesInHeaders(t *testing.T) {
	writeFiles(t, map[string]string{
		"n.csv": "id,label\na,Z\nb, Z\nc,Y \nd,\"  \"\n", "e.csv": "src,dst\na,b\nb,c\nc,d\n",
		"p.csv": "id,\"  \",\" Z\",Y ,Z\na,0,0.25,0,0.75\nb,0,1,0,0\nc,0,0,1,0\nd,1,0,0,0\n",
		"t.csv": "id,label\na,X\nb,Y\n", "q.csv": "id, X,Y \na,1,0\nb,0,1\n", // spaces that no class has
		"u.csv": "id,year, year\na,1,2\n", "f.csv": "id,year,\na,1,2\n", "te.csv": "src,dst\na,b\n",
	})
	mustRun(t, "import", "g", "--nodes", "n.csv", "--edges", "e.csv")
	mustRun(t, "import", "g", "--predictions", "p.csv")
	mustRun(t, "export", "g", "predictions", "--out", "q1.csv")
	mustRun(t, "import", "g", "--predictions", "q1.csv")
	if got, want := mustRun(t, "export", "g", "predictions", "--out", "-"), string(mustRead(t, "p.csv")); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	mustRun(t, "import", "h", "--nodes", "t.csv", "--edges", "te.csv")
	mustRun(t, "import", "h", "--predictions", "q.csv")
	for file, want := range map[string]string{
		"u.csv": `u.csv:1: the columns 2 and 3 are both called "year", want a name for each: --columns NAME=3 gives one`,
		"f.csv": "f.csv: left out, without a name in the header: column 3",
	} {
		if got := run(t, "", "import", "i", "--nodes", file, "--edges", "te.csv"); !strings.Contains(got.err, want) {
			t.Errorf("%s: got %s, want %s", file, got.err, want)
		}
	}
}
