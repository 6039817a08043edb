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

// Texts of times have the order of the times: those of a column have as many digits.
func TestParquetTimesHaveTheirOrder(t *testing.T) {
	type node struct {
		ID    string    `parquet:"id"`
		Label string    `parquet:"label"`
		T     time.Time `parquet:"t,timestamp(millisecond)"`
	}
	at := time.Date(2020, 1, 1, 1, 2, 3, 0, time.UTC)
	after := func(d time.Duration) node { return node{d.String(), "X", at.Add(d)} }
	writeFiles(t, map[string]string{
		"nodes.parquet": parquetFile(t, after(500*time.Millisecond), after(0), after(250*time.Millisecond), after(time.Second)),
		"edges.csv":     "src,dst\n",
	})
	mustRun(t, "import", "g", "--nodes", "nodes.parquet", "--edges", "edges.csv")
	for statement, want := range map[string]string{
		"nodes order by t return id":                                     "id\n0s\n250ms\n500ms\n1s\n",
		"nodes where t >= '2020-01-01T01:02:03' order by t return id":    "id\n0s\n250ms\n500ms\n1s\n",
		"nodes where t < '2020-01-01T01:02:03.5' order by t return t":    "t\n2020-01-01T01:02:03.000Z\n2020-01-01T01:02:03.250Z\n",
		"nodes where t > '2020-01-01T01:02:03.250Z' order by t return t": "t\n2020-01-01T01:02:03.500Z\n2020-01-01T01:02:04.000Z\n",
	} {
		if got := mustRun(t, "shell", "g", "-c", statement, "--format", "csv"); got != want {
			t.Errorf("%s: got %s, want %s", statement, got, want)
		}
	}
}

// What a column of parquet cannot be is refused: times of years beyond four digits, and lists for labels.
func TestParquetRefused(t *testing.T) {
	type node struct {
		ID    string    `parquet:"id"`
		Label string    `parquet:"label"`
		T     time.Time `parquet:"t,timestamp(millisecond)"`
	}
	writeFiles(t, map[string]string{
		"late.parquet": parquetFile(t, node{"now", "X", time.Unix(0, 0)}, node{"late", "X", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}),
		"days.parquet": parquetFile(t, struct {
			ID    string  `parquet:"id"`
			Label string  `parquet:"label"`
			Day   []int32 `parquet:"days,list" parquet-element:",date"`
		}{"early", "X", []int32{0, -800_000}}),
		"lists.parquet": parquetFile(t, struct {
			ID    string   `parquet:"id"`
			Label []string `parquet:"label,list"`
		}{"a", []string{"X", "Y"}}),
		"edges.csv": "src,dst\n",
	})
	for file, want := range map[string]string{
		"lists.parquet": `lists.parquet: column "label": has lists, want one value in each row for label`,
		"late.parquet":  `late.parquet:2: column "t": got the time 10000-01-01T00:00:00Z, want one of the years 0 to 9999`,
		"days.parquet":  `days.parquet:1: column "days": got the time -0221-09-04T00:00:00Z, want one of the years 0 to 9999`,
	} {
		got := run(t, "", "import", "h", "--nodes", file, "--edges", "edges.csv")
		if got.code != exitFailed || !strings.Contains(got.err, want) {
			t.Errorf("%s: got exit code %d and %s, want %d and %s", file, got.code, got.err, exitFailed, want)
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
		"1,X,ICML,2020-02-29T12:00:00.000000Z,1970-01-02,\"[\"\"a\"\",\"\"b\"\"]\"\n2,Y,,2021-03-01T12:00:00.000000Z,1971-01-02,[]\n"
	if got := mustRun(t, "shell", "g", "-c", "nodes return id, label, venue, when, day, tags", "--format", "csv"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := mustRun(t, "shell", "g", "-c", "nodes where when >= '2021' and day > '1970-06' return id", "--format", "csv"); got != "id\n2\n" {
		t.Errorf("later than 2021: got %s, want node 2", got)
	}
}
