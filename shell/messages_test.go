package shell

import (
	"os"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// What commands say has no control characters, wherever they come from.
func TestMessagesAreEscaped(t *testing.T) {
	writeFiles(t, map[string]string{
		"nodes.csv": "id,label,text\na,A,\x1b[31m\nb,B,c\n", "edges.csv": "src,dst\nb,b\n", "bad\x1b.csv": "id\nx\n",
		"edge.csv": "src,dst\nb,\x1b[31m\n", "f\x1b.q": "nodes where", "splits.csv": "id,split\nb,\x1b[31m\n",
	})
	mustRun(t, "import", "g\x1b", "--nodes", "nodes.csv", "--edges", "edges.csv")
	must.Do(t, os.Symlink("g\x1b", "g"))
	for _, args := range [][]string{
		{"stats", "no\x1b[31m"}, {"\x1b[31m"}, {"stats", "--\x1b"}, {"stats", "g", "x\x1b"}, {"clean", "g", "--hops", "\x1b"},
		{"import", "h", "--nodes", "bad\x1b.csv", "--edges", "edges.csv"}, {"import", "h", "--nodes", "nodes.csv", "--edges", "edge.csv"},
		{"import", "h\x1b", "--nodes", "none\x1b.csv", "--edges", "edges.csv"}, {"import", "g", "--splits", "splits.csv"},
		{"import", "g\x1b", "--nodes", "nodes.csv", "--edges", "edges.csv", "--replace"},
		{"shell", "g", "-c", "nodes where \x1b[31m"}, {"shell", "g", "-c", "nodes where label = '\x1b[31m'"}, {"shell", "g", "-f", "f\x1b.q"},
		{"shell", "g", "-c", "accept where label = 'A\x1b[31m'"}, {"shell", "g", "-c", ".mode \x1b"}, {"export", "g", "labels", "--out", "x\x1b.y"},
		{"check", "g\x1b"}, {"compact", "g\x1b"},
	} {
		got := run(t, "n\n", args...)
		if strings.ContainsRune(got.err, '\x1b') || strings.ContainsRune(got.out, '\x1b') {
			t.Errorf("%q: got %q and %q, want escapes", args, got.out, got.err)
		}
	}
	// Data that is no message is exact.
	if got := mustRun(t, "shell", "g", "-c", "nodes return id, text", "--format", "csv"); !strings.Contains(got, "a,\x1b[31m\n") {
		t.Errorf("csv to a pipe: got %q, want it exact", got)
	}
}

// With --safe-csv no field of csv or tsv begins like a formula, headers included; numbers stay what they are, and
// without it every byte does.
func TestSafeCSV(t *testing.T) {
	const formula = `=HYPERLINK("http://x";"y")`
	writeFiles(t, map[string]string{
		"nodes.csv": "id,label,=x,n\n-5,@A,-1.5,-2\n6,\"" + strings.ReplaceAll(formula, `"`, `""`) + "\",3,+c\n",
		"edges.csv": "src,dst\n-5,6\n",
	})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	quoted := strings.ReplaceAll(formula, `"`, `""`)
	plain := "id,label,original_label\n-5,@A,@A\n6,\"" + quoted + "\",\"" + quoted + "\"\n"
	safe := "id,label,original_label\n-5,'@A,'@A\n6,\"'" + quoted + "\",\"'" + quoted + "\"\n"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"export", "g", "labels", "--out", "-"}, plain},
		{[]string{"export", "g", "labels", "--out", "-", "--safe-csv"}, safe},
		{[]string{"shell", "g", "--format", "csv", "-c", `nodes return id, "=x", n`}, "id,=x,n\n-5,-1.5,-2\n6,3,+c\n"},
		{[]string{"shell", "g", "--format", "csv", "--safe-csv", "-c", `nodes return id, "=x", n`}, "id,'=x,n\n-5,-1.5,-2\n6,3,'+c\n"},
		{[]string{"shell", "g", "--format", "tsv", "--safe-csv", "-c", `nodes return label, n`},
			"label\tn\n'@A\t-2\n\"'" + quoted + "\"\t'+c\n"},
		{[]string{"shell", "g", "--format", "jsonl", "--safe-csv", "-c", `node 6`}, ""},
	} {
		got := mustRun(t, c.args...)
		if c.want != "" && got != c.want {
			t.Errorf("%q: got\n%swant\n%s", c.args, got, c.want)
		}
		if c.want == "" && strings.Contains(got, "'=") {
			t.Errorf("%q: got %s, want no apostrophe", c.args, got)
		}
	}
	mustRun(t, "export", "g", "labels", "--out", "labels.tsv", "--safe-csv")
	for _, out := range []string{"labels.json", "labels.jsonl"} {
		if got := run(t, "", "export", "g", "labels", "--out", out, "--safe-csv"); got.code != exitUsage || !strings.Contains(got.err, "--safe-csv goes with .csv and .tsv") {
			t.Errorf("%s: got %d and %s, want wrong usage", out, got.code, got.err)
		}
	}
}
