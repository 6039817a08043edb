package shell

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

const (
	someBadNodes = "id,label,split\na,X,train\nb,Y\n,Y,test\nc,,holdout\na,Y,val\nd\x01,Y,\ne,\xff,\nf,X,test\n"
	someBadEdges = "src,dst\na,f\nz,a\n,f\nf\nf,y\nz,y\nf,a\n"
	badReport    = `file,line,value,reason
nodes.csv,3,"b,Y","got 2 fields, want 3 (id,label,split)"
nodes.csv,4,,"column ""id"": got """", want an id"
nodes.csv,5,holdout,"column ""split"": got ""holdout"", want train, val, test or none"
nodes.csv,6,a,"column ""id"": got ""a"" again, as in line 2, want every id once"
nodes.csv,7,d` + "\x01" + `,"invalid node id: ""d\x01"" has a control character at byte 1"
nodes.csv,8,"e,` + "\ufffd" + `,","got bytes that are not UTF-8, want UTF-8 text. If it is Latin-1 or Windows-1252: iconv -f WINDOWS-1252 -t UTF-8 < nodes.csv > nodes.new.csv"
edges.csv,3,z,"got an edge of node ""z"", want ids that nodes.csv has"
edges.csv,4,,"column ""src"": got """", want the id of a node"
edges.csv,5,f,"got 1 fields, want 2 (src,dst)"
edges.csv,6,y,"got an edge of node ""y"", want ids that nodes.csv has"
edges.csv,7,z,"got an edge of node ""z"", want ids that nodes.csv has"
`
)

// firstLines returns the first few lines of a text.
func firstLines(text string, lines int) string {
	return strings.Join(strings.SplitAfter(text, "\n")[:lines], "")
}

func TestImportBadRows(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   string
		code   int
		want   string // of what is said, in part
		report string // "" for none
	}{
		{"default", "", exitFailed, "nodes.csv:3: got 2 fields, want 3 (id,label,split)\n", ""},
		{"report alone", "--report bad.csv", exitFailed, "nodes.csv:3: got 2 fields, want 3 (id,label,split)\n", firstLines(badReport, 2)},
		{"enough", "--bad-rows 11", exitDone,
			"; 11 bad rows are left out, the first: nodes.csv:3: got 2 fields, want 3 (id,label,split)\n", ""},
		{"enough with report", "--bad-rows 11 --report bad.csv", exitDone, "; 11 bad rows are left out, see bad.csv\n", badReport},
		{"one too many", "--bad-rows 10 --report bad.csv", exitFailed,
			"nodes.csv:3: got 2 fields, want 3 (id,label,split): the first of 11 bad rows, want at most 10 (--bad-rows)\n", badReport},
		// What is bad beside other rows counts when all is read, so the sixth row that is bad by itself ends this one.
		{"too many to read on", "--bad-rows 5 --report bad.csv", exitFailed,
			"nodes.csv:3: got 2 fields, want 3 (id,label,split): the first of 6 bad rows, want at most 5 (--bad-rows)\n",
			firstLines(badReport, 4) + onlyLines(badReport, "nodes.csv,7", "nodes.csv,8", "edges.csv,4")},
		{"predictions in file order", "--bad-rows 11 --predictions p.npy", exitFailed,
			"p.npy: has 3 rows, want 2, one for each node that was kept (6 bad rows are left out) in the order of the nodes file\n", ""},
		{"negative", "--bad-rows=-1", exitUsage, "--bad-rows -1: want 0 or more", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			writeFiles(t, map[string]string{
				"nodes.csv": someBadNodes, "edges.csv": someBadEdges, "p.npy": array(3, 1, 1, 1, 1),
			})
			got := run(t, "", importArgs(c.args)...)
			if got.code != c.code || !strings.Contains(got.out+got.err, c.want) {
				t.Errorf("got exit code %d and %s%s\nwant %d and %s", got.code, got.out, got.err, c.code, c.want)
			}
			report, err := os.ReadFile("bad.csv")
			if string(report) != c.report || (err != nil) != (c.report == "") {
				t.Errorf("report: got %v\n%s\nwant\n%s", err, report, c.report)
			}
			want := []string{"edges.csv", "nodes.csv", "p.npy"}
			if c.report != "" {
				want = append(want, "bad.csv")
			}
			if c.code == exitDone {
				want = append(want, "g")
				rows := mustRun(t, "shell", "g", "-c", "nodes return id, label, split, degree", "--format", "csv")
				if kept := "id,label,split,degree\na,X,train,1\nf,X,test,1\n"; rows != kept {
					t.Errorf("nodes: got\n%s\nwant\n%s", rows, kept)
				}
			}
			slices.Sort(want)
			if left := listDir(t); !slices.Equal(left, want) {
				t.Errorf("left behind: %v, want %v", left, want)
			}
		})
	}
	t.Run("without files", func(t *testing.T) {
		writeFiles(t, map[string]string{"p.npy": array(1, 1, 1)})
		got := run(t, "", "import", "g", "--predictions", "p.npy", "--bad-rows", "2")
		if want := "--bad-rows and --report need --nodes and --edges"; got.code != exitUsage || !strings.Contains(got.err, want) {
			t.Errorf("got exit code %d and %s, want %s", got.code, got.err, want)
		}
	})
}

// A quote that is left open is one bad row, and what follows it is read.
func TestImportOpenQuote(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": "id,label\na,X\n\"b,Y\nc,Y\n", "edges.csv": "src,dst\na,\"c\nc,a\n"})
	command := []string{"import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv", "--report", "bad.csv"}
	const reason = `"a quoted field is still open at the end of the file, want a closing quote"` + "\n"
	want := "file,line,value,reason\nnodes.csv,3,\"\"\"b,Y\"," + reason
	if got := run(t, "", command...); got.code != exitFailed || !strings.Contains(got.err, "nodes.csv:3: a quoted field is still open") {
		t.Errorf("got exit code %d and %s", got.code, got.err)
	}
	if report, err := os.ReadFile("bad.csv"); err != nil || string(report) != want {
		t.Errorf("report of the first: got %v\n%s\nwant\n%s", err, report, want)
	}
	mustRun(t, append(command, "--bad-rows", "2")...)
	want += "edges.csv,2,\"a,\"\"c\"," + reason
	if report, err := os.ReadFile("bad.csv"); err != nil || string(report) != want {
		t.Errorf("report: got %v\n%s\nwant\n%s", err, report, want)
	}
	rows := mustRun(t, "shell", "g", "-c", "nodes return id, label, degree", "--format", "csv")
	if kept := "id,label,degree\na,X,1\nc,Y,1\n"; rows != kept {
		t.Errorf("nodes: got\n%s\nwant\n%s", rows, kept)
	}
}

// onlyLines returns the lines of a text that begin so.
func onlyLines(text string, prefixes ...string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(line, prefix+",") }) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// What is left out, the report and the store are the same with any number of threads and any memory.
func TestBadRowsAreTheSame(t *testing.T) {
	for _, prefix := range []string{"", "x"} {
		r := rand.New(rand.NewPCG(5, 0))
		n := longtest.Of(1500, 6000)
		var nodes, edges strings.Builder
		nodes.WriteString("id,label,year\n")
		edges.WriteString("src,dst\n")
		for i := range n {
			switch r.IntN(100) {
			case 0:
				fmt.Fprintf(&nodes, "%s%d\n", prefix, i)
			case 1:
				fmt.Fprintf(&nodes, "%s%d,%c,7\n", prefix, r.IntN(i+1), 'A'+r.IntN(20))
			case 2:
				nodes.WriteString(",A,1\n")
			default:
				fmt.Fprintf(&nodes, "%s%d,%c,%d\n", prefix, i, 'A'+r.IntN(3), r.IntN(30))
			}
		}
		for range 6 * n {
			switch r.IntN(100) {
			case 0:
				edges.WriteString("\"a\"b,c\n")
			case 1:
				fmt.Fprintf(&edges, "%s%d,%s%d\n", prefix, r.IntN(n), prefix, n+r.IntN(n))
			default:
				fmt.Fprintf(&edges, "%s%d,%s%d\n", prefix, r.IntN(n), prefix, r.IntN(n))
			}
		}
		writeFiles(t, map[string]string{"nodes.csv": nodes.String(), "edges.csv": edges.String()})
		took := regexp.MustCompile(`^g\d+|[\d.]+ s;`)
		for _, limit := range []int64{200, 800, 100000} {
			var want string
			for i, budget := range []resources{
				{Memory: 1 << 30, Threads: 1}, {Memory: 1 << 20, Threads: 4}, {Memory: 1, Threads: 2},
			} {
				db := "g" + strconv.Itoa(i)
				c := importCommand{
					DB: db, graphFiles: graphFiles{inputFiles: inputFiles{Nodes: []string{"nodes.csv"}, Edges: []string{"edges.csv"}}},
					BadRows: limit, Report: "bad.csv", resources: budget,
				}
				var out bytes.Buffer
				err := c.make(t.Context(), &streams{ctx: t.Context(), out: &out, messages: messages{err: &out},
					progress: &progress{}}, nil)
				if (err == nil) != (limit == 100000) {
					t.Fatalf("limit %d, %+v: got %v", limit, budget, err)
				}
				report, reading := os.ReadFile("bad.csv")
				if reading != nil {
					t.Fatal(reading)
				}
				text := took.ReplaceAllString(out.String(), "") + fmt.Sprint(err, "\n") + string(report)
				if err == nil {
					text += mustRun(t, "shell", db, "-c", "nodes return id, label, year, degree", "--format", "csv")
				}
				must.Do(t, os.RemoveAll(db))
				if i == 0 {
					want = text
				}
				if text != want {
					t.Errorf("ids like %s1, limit %d, %+v: got another outcome than with one thread: %s",
						prefix, limit, budget, firstDifference(text, want))
				}
				rows, err := csv.NewReader(strings.NewReader(string(report))).ReadAll()
				if err != nil || len(rows) <= 201 {
					t.Errorf("limit %d, %+v: the report has %d lines, %v", limit, budget, len(rows), err)
				}
				if left, err := filepath.Glob("*spill*"); err != nil || left != nil {
					t.Errorf("left behind: %v, %v", left, err)
				}
			}
		}
	}
}

// firstDifference shows the first lines in which two texts differ.
func firstDifference(got, want string) string {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			return fmt.Sprintf("line %d: got %q, want %q", i+1, gotLines[i], wantLines[i])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(gotLines), len(wantLines))
}
