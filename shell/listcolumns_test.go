package shell

import (
	"strings"
	"testing"
	"time"
)

// Predictions and features may be one column of lists in a parquet file. The result is that of a column for each number.
func TestListColumns(t *testing.T) {
	type row struct {
		ID  string    `parquet:"id"`
		Row []float32 `parquet:"row,list"`
	}
	type wide struct {
		ID   string    `parquet:"id"`
		Row  []float32 `parquet:"row,list"`
		More int64     `parquet:"more"`
	}
	type text struct {
		ID  string   `parquet:"id"`
		Row []string `parquet:"row,list"`
	}
	rows := []row{{"b", []float32{0, 1}}, {"a", []float32{0.75, 0.25}}, {"c", []float32{0.5, 0.5}}}
	writeFiles(t, map[string]string{
		"nodes.csv": threeNodes, "edges.csv": twoEdges,
		"rows.parquet": parquetFile(t, rows...), "named.csv": "id,X,Y\nb,0,1\na,0.75,0.25\nc,0.5,0.5\n",
		"swapped.csv":    "id,Y,X\nb,0,1\na,0.75,0.25\nc,0.5,0.5\n",
		"ragged.parquet": parquetFile(t, rows[0], row{"a", []float32{1}}, rows[2]),
		"none.parquet":   parquetFile(t, rows[0], row{"a", nil}, rows[2]),
		"wide.parquet":   parquetFile(t, wide{"a", []float32{0, 1}, 1}),
		"text.parquet":   parquetFile(t, text{"a", []string{"x", "y"}}),
		"three.parquet":  parquetFile(t, row{"a", []float32{0, 1, 0}}),
		"twice.parquet":  parquetFile(t, rows[0], rows[0]),
		"flat.parquet": parquetFile(t, struct {
			X int64 `parquet:"X"`
		}{1}),
	})
	export := func(what string, args ...string) string {
		t.Helper()
		mustRun(t, append([]string{"import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv", "--replace", "--yes"}, args...)...)
		mustRun(t, "export", "g", what, "--out", "out.csv")
		return string(mustRead(t, "out.csv"))
	}
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	if got, want := export("predictions", "--predictions", "rows.parquet"), export("predictions", "--predictions", "named.csv"); got != want {
		t.Errorf("predictions: got %s, want %s", got, want)
	}
	if got, want := export("predictions", "--predictions", "rows.parquet", "--prediction-classes", "Y,X"), export("predictions", "--predictions", "swapped.csv"); got != want {
		t.Errorf("predictions with classes: got %s, want %s", got, want)
	}
	mustRun(t, "import", "g", "--features", "rows.parquet")
	if got := mustRun(t, "estimate", "--nodes", "nodes.csv", "--edges", "edges.csv", "--predictions", "rows.parquet", "--format", "json"); !strings.Contains(got, `"classes": 2`) {
		t.Errorf("estimate: got %s, want two classes", got)
	}
	for _, c := range []struct{ args, want string }{
		{"--predictions ragged.parquet", `ragged.parquet:2: column "row": got a list of 1 number, want 2, as in the first row`},
		{"--predictions none.parquet", `none.parquet:2: column "row": got "[]", want a list of numbers`},
		{"--predictions wide.parquet", `wide.parquet: column "row": has lists, and there are other columns beside id, want lists alone or numbers alone`},
		{"--features text.parquet", `text.parquet:1: column "row": got "\"x\"" in a list, want a finite number`},
		{"--predictions three.parquet", "three.parquet: has 3 columns, want 2, one for each class in the order X, Y"},
		{"--predictions twice.parquet", `twice.parquet:2: column "id": got "b" again, want every id once`},
		{"--features ragged.parquet", `ragged.parquet:2: column "row": got a list of 1 number, want 2`},
		{"--predictions flat.parquet", `flat.parquet: has no column "id"; its columns are X`},
	} {
		got := run(t, "", append([]string{"import", "g"}, strings.Fields(c.args)...)...)
		if got.code != exitFailed || !strings.Contains(got.err, c.want) {
			t.Errorf("%s: got exit code %d and %s, want %d and %s", c.args, got.code, got.err, exitFailed, c.want)
		}
	}
}

// Times, dates and dictionaries become properties: times and dates as text by ISO 8601, which is ordered as they are.
func TestParquetProperties(t *testing.T) {
	type node struct {
		ID    int64     `parquet:"id,delta"`
		Label string    `parquet:"label,dict"`
		Venue *string   `parquet:"venue,optional,dict"`
		When  time.Time `parquet:"when,timestamp(microsecond)"`
		Day   int32     `parquet:"day,date"`
		Tags  []string  `parquet:"tags,list"`
	}
	venue := "ICML"
	at := time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)
	writeFiles(t, map[string]string{
		"nodes.parquet": parquetFile(t, node{1, "X", &venue, at, 1, []string{"a", "b"}}, node{2, "Y", nil, at.AddDate(1, 0, 0), 366, nil}),
		"edges.csv":     "src,dst\n1,2\n",
	})
	mustRun(t, "import", "g", "--nodes", "nodes.parquet", "--edges", "edges.csv")
	const want = "id,label,venue,when,day,tags\n" +
		"1,X,ICML,2020-02-29T12:00:00Z,1970-01-02,\"[\"\"a\"\",\"\"b\"\"]\"\n2,Y,,2021-03-01T12:00:00Z,1971-01-02,[]\n"
	if got := mustRun(t, "shell", "g", "-c", "nodes return id, label, venue, when, day, tags", "--format", "csv"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := mustRun(t, "shell", "g", "-c", "nodes where when >= '2021' and day > '1970-06' return id", "--format", "csv"); got != "id\n2\n" {
		t.Errorf("later than 2021: got %s, want node 2", got)
	}
}
