package shell

import (
	"math"
	"strings"
	"testing"
)

// What is kept as text has the order of texts, which queries remark on.
func TestImportRemarks(t *testing.T) {
	type numbered struct {
		ID    string  `parquet:"id"`
		Label float64 `parquet:"label"`
	}
	writeFiles(t, map[string]string{
		"edges.csv": "src,dst\n1,2\n", "letters.csv": "src,dst\na,b\n",
		"ids.csv":         "id,label\n1,A\n2,B\n10,A\nn/a,B\n",
		"years.csv":       "id,year,name,label\n1,1999,x,\n2,unknown,y,\n3,2001,3,\n",
		"hashes.csv":      "id,hash,label\n1,12345678901234567890,\n2,0.5,\n3,2,\n",
		"plain.csv":       "id,x,s,label\n1,1,a,\n2,,,\n3,3,c,\n",
		"text.csv":        "id,label\na,A\nb,B\n",
		"numbers.csv":     "id,label\n1,9\n2,10\n3,1\n",
		"codes.csv":       "id\n007\n7\n1\n2\n",
		"classes.parquet": parquetFile(t, numbered{"1", 1}, numbered{"2", math.NaN()}),
	})
	for _, c := range []struct{ nodes, want string }{
		{"ids.csv", ""},
		{"years.csv", ""},
		{"hashes.csv", ""},
		{"classes.parquet", ""}, // NaN among floats is no label
		{"plain.csv", ""},
		{"text.csv", ""},
		{"numbers.csv", ""},
		{"codes.csv", ""},
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
	for _, c := range []struct{ store, query, want string }{
		{"numbers.csv", "nodes where label >= 9", "classes are text, which has no order among numbers: got 9, which compares as text in quotes: '9'"},
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
		"u.csv": `u.csv:1: the columns 2 and 3 are both called "year", want a name for each: --columns NAME=3 gives one`,
		"f.csv": "f.csv: left out, without a name in the header: column 3",
	} {
		if got := run(t, "", "import", "i", "--nodes", file, "--edges", "te.csv"); !strings.Contains(got.err, want) {
			t.Errorf("%s: got %s, want %s", file, got.err, want)
		}
	}
}
