package shell

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// hostileText would clear the screen, set the title, use a control character of one byte and one of two, and turn the
// line round; it ends in a byte that is no character.
const hostileText = "a\x1b[2J\x1b]0;t\a\r\u009b31m\u202eb東\u200d\xff"

func isObeyed(printed string) bool {
	return strings.ContainsAny(printed, "\x1b\a\r\u009b\u202e") || strings.ContainsRune(printed, '\x7f')
}

// On a terminal no format has control characters that it obeys; elsewhere csv and tsv have every byte as it is.
func TestTerminalsAreShownEscapes(t *testing.T) {
	columns := []query.ColumnInfo{{Name: "id\x1b[1m", Kind: kv.KindString}, {Name: "n", Kind: kv.KindInt}}
	rows := [][]kv.Value{{kv.StringValue(hostileText), kv.IntValue(1)}, {kv.StringValue("two\nlines\ttab\x7f"), kv.IntValue(2)}}
	result := func(bare bool) *query.Result {
		r := query.NewTable(columns, rows)
		r.Bare = bare
		return r
	}
	for f := range Format(len(formatNames)) {
		for _, bare := range []bool{false, true} {
			var shown, written bytes.Buffer
			if _, err := render(&shown, result(bare), f, &screen{terminal: true}); err != nil {
				t.Fatal(err)
			}
			if _, err := render(&written, result(bare), f, &screen{}); err != nil {
				t.Fatal(err)
			}
			if got := shown.String(); isObeyed(got) || !strings.Contains(got, "東") {
				t.Errorf("%s on a terminal: got %q, want escapes", f, got)
			}
			if f == FormatCSV || f == FormatTSV && !strings.ContainsAny(hostileText, "\r") {
				if got := written.String(); !strings.Contains(got, hostileText) || !strings.Contains(got, "\x7f") {
					t.Errorf("%s in a file: got %q, want it exact", f, got)
				}
			}
		}
	}
}

// An escapeWriter writes the same however what is written to it is cut.
func TestEscapeWriterInParts(t *testing.T) {
	text := hostileText + "\n\tü東🙂\xe6"
	want := escape(text, "\n\t")
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := &escapeWriter{out: &out}
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if written, err := w.Write([]byte(rest[:n])); written != n || err != nil {
				t.Fatalf("got %d, %v, want %d", written, err, n)
			}
			rest = rest[n:]
		}
		if err := w.end(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("in parts of %d: got %q, want %q", size, out.String(), want)
		}
	}
	if want := `a\x1b[2J\x1b]0;t\a\r\u009b31m\u202eb東` + "\u200d" + `\xff` + "\n\tü東🙂" + `\xe6`; escape(text, "\n\t") != want {
		t.Errorf("got %q, want %q", escape(text, "\n\t"), want)
	}
}

// What commands say has no control characters, wherever they come from.
func TestMessagesAreEscaped(t *testing.T) {
	writeFiles(t, map[string]string{
		"nodes.csv": "id,label,text\na,A,\x1b[31m\nb,B,c\n", "edges.csv": "src,dst\nb,b\n", "bad\x1b.csv": "id\nx\n",
		"edge.csv": "src,dst\nb,\x1b[31m\n", "f\x1b.q": "nodes where", "splits.csv": "id,split\nb,\x1b[31m\n",
	})
	mustRun(t, "import", "g\x1b", "--nodes", "nodes.csv", "--edges", "edges.csv")
	if err := os.Symlink("g\x1b", "g"); err != nil {
		t.Fatal(err)
	}
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

func TestSafeText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", "=1+1": "'=1+1", `=HYPERLINK("http://x","y")`: `'=HYPERLINK("http://x","y")`, "+A1": "'+A1", "-A1": "'-A1", "@SUM(A1)": "'@SUM(A1)",
		"\t=1": "'\t=1", "\r=1": "'\r=1", "-5": "-5", "+5": "+5", "-1.5e3": "-1.5e3", "-": "'-", "-5+cmd|' /C calc'!A0": "'-5+cmd|' /C calc'!A0",
		"a=1": "a=1", "'=1": "'=1", "-inf": "'-inf",
	} {
		if got := SafeText(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// With --safe-csv no field of csv or tsv begins like a formula, headers included; numbers stay what they are, and without
// it every byte does.
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
		{[]string{"shell", "g", "--format", "tsv", "--safe-csv", "-c", `nodes return label, n`}, "label\tn\n'@A\t-2\n'" + formula + "\t'+c\n"},
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
