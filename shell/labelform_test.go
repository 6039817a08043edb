package shell

import (
	"math"
	"strings"
	"testing"
)

// twinNodes has classes that look alike: with white space around and within, in two Unicode forms, with a character of no
// width, and of white space alone.
const twinNodes = "id,label,year\n" +
	"a,A,1\nb,A ,2\nc,caf\u00e9,3\nd,cafe\u0301,4\ne,cafe\u0301,5\nf,B C,6\ng,B \u00a0C,7\nh,A\u200b,8\ni, ,9\nj,D,10\n"

const twinEdges = "src,dst\na,b\nb,c\n"

// Classes that look alike stay what they are, are named with how many nodes have each, and are joined where asked.
func TestLookAlikeClasses(t *testing.T) {
	writeFiles(t, map[string]string{
		"nodes.csv": twinNodes, "edges.csv": twinEdges, "plain.csv": "id,label\na,A\nb,B C\nc,\n",
		"p.csv": "id,A,B  C\na,1,0\nb,0,1\nc,0,1\n",
	})
	const label = "shell g --format tsv -c"
	classes := func() string {
		return strings.Join(strings.Split(strings.TrimSpace(mustRun(t, append(strings.Fields(label), "count nodes where label is not null group by label")...)), "\n")[1:], "|")
	}
	got := run(t, "", "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	for _, want := range []string{
		`  " ": 1 node`, `  "A": 1 node, "A ": 1 node, "A\u200b": 1 node`, `  "B C": 1 node, "B \u00a0C": 1 node`,
		`  "cafe\u0301": 2 nodes, "caf\u00e9": 1 node`, "import --trim joins those that differ by white space",
	} {
		if got.code != exitDone || !strings.Contains(got.err, want+"\n") && !strings.Contains(got.err, want+",") {
			t.Errorf("import: got %d and %s\nwant %s", got.code, got.err, want)
		}
	}
	if strings.Contains(got.err, `"D"`) {
		t.Errorf("import: got %s, want nothing of D", got.err)
	}
	if counts := classes(); strings.Count(counts, "|") != 8 {
		t.Errorf("without a flag: got %s, want nine classes", counts)
	}
	for _, c := range []struct{ flags, want string }{
		{"--trim", "A\t2|B C\t2|cafe\u0301\t2|A\u200b\t1|D\t1|caf\u00e9\t1"},
		{"--nfc", "caf\u00e9\t3|\" \"\t1|A\t1|A \t1|A\u200b\t1|B C\t1|B \u00a0C\t1|D\t1"},
		{"--trim --nfc", "caf\u00e9\t3|A\t2|B C\t2|A\u200b\t1|D\t1"},
	} {
		mustRun(t, append(strings.Fields("import g --nodes nodes.csv --edges edges.csv --replace --yes"), strings.Fields(c.flags)...)...)
		if got := classes(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.flags, got, c.want)
		}
	}
	if got := run(t, "", strings.Fields("import g --nodes plain.csv --edges edges.csv --replace --yes")...); strings.Contains(got.err, "alone") {
		t.Errorf("classes that differ: got %s, want no remark", got.err)
	}
	// The header of predictions names classes too, and so does --classes.
	if got := run(t, "", "import", "g", "--predictions", "p.csv"); got.code != exitFailed {
		t.Errorf("a header with white space: got %d, want a failure", got.code)
	}
	mustRun(t, "import", "g", "--predictions", "p.csv", "--trim")
	mustRun(t, "import", "h", "--nodes", "plain.csv", "--edges", "edges.csv", "--predictions", "p.csv", "--trim", "--classes", "B  C")
	for _, args := range []string{"import g --trim", "import g --features f.npy --nfc"} {
		if got := run(t, "", strings.Fields(args)...); got.code != exitUsage {
			t.Errorf("%s: got %d and %s, want wrong usage", args, got.code, got.err)
		}
	}
}

// What is kept as something else than most of the file says so is remarked on: ids and properties that one value turns
// into text, and numbers that are none.
func TestImportRemarks(t *testing.T) {
	type measured struct {
		ID    string  `parquet:"id"`
		Label string  `parquet:"label"`
		X     float64 `parquet:"x"`
	}
	type numbered struct {
		ID    string  `parquet:"id"`
		Label float64 `parquet:"label"`
	}
	writeFiles(t, map[string]string{
		"edges.csv": "src,dst\n1,2\n", "letters.csv": "src,dst\na,b\n",
		"ids.csv":         "id,label\n1,A\n2,B\n10,A\nn/a,B\n",
		"years.csv":       "id,year,name,label\n1,1999,x,\n2,unknown,y,\n3,2001,3,\n",
		"hashes.csv":      "id,hash,label\n1,12345678901234567890,\n2,0.5,\n3,2,\n",
		"nan.csv":         "id,x,label\n1,nan,\n2,0.5,\n3,NaN,\n",
		"plain.csv":       "id,x,s,label\n1,1,a,\n2,,,\n3,3,c,\n",
		"text.csv":        "id,label\na,A\nb,B\n",
		"numbers.csv":     "id,label\n1,9\n2,10\n3,1\n",
		"codes.csv":       "id\n007\n7\n1\n2\n",
		"nan.parquet":     parquetFile(t, measured{"1", "A", 1}, measured{"2", "B", math.NaN()}),
		"classes.parquet": parquetFile(t, numbered{"1", 1}, numbered{"2", math.NaN()}),
	})
	for _, c := range []struct{ nodes, want string }{
		{"ids.csv", `Ids are text, since "n/a" is no integer: id is ordered as text, in which 10 comes before 9, and cannot be compared with numbers by order.`},
		{"years.csv", `years.csv: property "year" is text, though 2 of its 3 values are numbers: line 3 has "unknown", which is none, or has more digits than a number keeps`},
		{"hashes.csv", `hashes.csv: property "hash" is text, though 2 of its 3 values are numbers: line 2 has "12345678901234567890", which is none, or has more digits than a number keeps`},
		{"nan.csv", `nan.csv: property "x": 2 values are NaN and kept as null`},
		{"nan.parquet", `nan.parquet: property "x": 1 value is NaN and kept as null`},
		{"classes.parquet", ""}, // NaN among floats is no label
		{"plain.csv", ""},
		{"text.csv", ""},
		{"numbers.csv", ""},
		{"codes.csv", `Ids are text, since "007" is no integer: id is ordered as text, in which 10 comes before 9, and cannot be compared with numbers by order.`},
	} {
		edges := "edges.csv"
		if c.nodes == "text.csv" {
			edges = "letters.csv"
		}
		got := run(t, "", "import", "g-"+c.nodes, "--nodes", c.nodes, "--edges", edges)
		if got.code != exitDone || strings.TrimSuffix(got.err, "\n") != c.want {
			t.Errorf("%s: got %d and %s\nwant %s", c.nodes, got.code, got.err, c.want)
		}
	}
	if got := run(t, "", "shell", "g-ids.csv", "-c", "count nodes where id >= 2"); got.code != exitFailed || !strings.Contains(got.err, "1:25: the ids of this store are text") {
		t.Errorf("order of text ids: got %d, %s and %s", got.code, got.out, got.err)
	}
	const ordered = " is ordered as text, in which 10 comes before 9"
	for _, c := range []struct{ store, query, want string }{
		{"ids.csv", "nodes order by id", "id" + ordered},
		{"ids.csv", "nodes order by label, id desc", "id" + ordered},
		{"ids.csv", "nodes order by label", ""},
		{"text.csv", "nodes order by id", ""},
		{"plain.csv", "nodes order by id", ""},
		{"numbers.csv", "nodes order by label", "label" + ordered},
		{"numbers.csv", "nodes where label >= 9", "classes are text, which has no order among numbers: got 9, which compares as text in quotes: '9'"},
		{"numbers.csv", "nodes where label between '1' and 12", "got 12, which compares as text in quotes: '12'"},
		{"numbers.csv", "nodes where label = 9 and label in (9, 10) and label > '1'", ""},
		{"codes.csv", "count nodes where id = 007", ""},
		{"codes.csv", "count nodes where id in (007, 7)", ""},
	} {
		got := run(t, "", "shell", "g-"+c.store, "-c", c.query)
		if c.want == "" && got.err != "" || !strings.Contains(got.err, c.want) {
			t.Errorf("%s: %s: got %s, want %q", c.store, c.query, got.err, c.want)
		}
	}
	for query, want := range map[string]string{"id = 007": "1", "id in (007, 7)": "2", "id = 7": "1", "id != 007": "3"} {
		if got := mustRun(t, "shell", "g-codes.csv", "-c", "nodes where "+query+" return degree", "--format", "csv"); strings.Count(got, "\n") != 1+int(want[0]-'0') {
			t.Errorf("nodes where %s: got %s, want %s", query, got, want)
		}
	}
	if got := mustRun(t, "shell", "g-hashes.csv", "-c", "nodes where hash = '12345678901234567890' return hash", "--format", "csv"); got != "hash\n12345678901234567890\n" {
		t.Errorf("a hash: got %s, want all its digits", got)
	}
}

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
		"u.csv": `u.csv:1: column "year": stands for the columns "year" and " year", want a name for each`,
		"f.csv": "f.csv: column 3 is left out: it has no name in the header",
	} {
		if got := run(t, "", "import", "i", "--nodes", file, "--edges", "te.csv"); !strings.Contains(got.err, want) {
			t.Errorf("%s: got %s, want %s", file, got.err, want)
		}
	}
}
