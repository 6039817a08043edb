package shell

import (
	"strings"
	"testing"
	"time"
)

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

// What a column of parquet cannot be is refused: times of years beyond four digits, and lists.
func TestParquetRefused(t *testing.T) {
	type node struct {
		ID    string    `parquet:"id"`
		Label string    `parquet:"label"`
		T     time.Time `parquet:"t,timestamp(millisecond)"`
	}
	writeFiles(t, map[string]string{
		"late.parquet": parquetFile(t, node{"now", "X", time.Unix(0, 0)}, node{"late", "X", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}),
		"lists.parquet": parquetFile(t, struct {
			ID    string   `parquet:"id"`
			Label []string `parquet:"label,list"`
		}{"a", []string{"X", "Y"}}),
		"edges.csv": "src,dst\n",
	})
	for file, want := range map[string]string{
		"lists.parquet": `lists.parquet: column "label": got a nested or unusual type`,
		"late.parquet":  `late.parquet:2: column "t": got the time 10000-01-01T00:00:00Z, want one of the years 0 to 9999`,
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
	}
	venue := "ICML"
	at := time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)
	writeFiles(t, map[string]string{
		"nodes.parquet": parquetFile(t, node{1, "X", &venue, at, 1}, node{2, "Y", nil, at.AddDate(1, 0, 0), 366}),
		"edges.csv":     "src,dst\n1,2\n",
	})
	mustRun(t, "import", "g", "--nodes", "nodes.parquet", "--edges", "edges.csv")
	const want = "id,label,venue,when,day\n" +
		"1,X,ICML,2020-02-29T12:00:00.000000Z,1970-01-02\n2,Y,,2021-03-01T12:00:00.000000Z,1971-01-02\n"
	if got := mustRun(t, "shell", "g", "-c", "nodes return id, label, venue, when, day", "--format", "csv"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := mustRun(t, "shell", "g", "-c", "nodes where when >= '2021' and day > '1970-06' return id", "--format", "csv"); got != "id\n2\n" {
		t.Errorf("later than 2021: got %s, want node 2", got)
	}
}
