package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

const (
	threeNodes = "id,label\na,X\nb,Y\nc,\n"
	twoEdges   = "src,dst\na,b\nb,c\n"
)

// Every kind of bad input fails with a message that says where, and leaves neither a store nor traces of one.
func TestImportErrors(t *testing.T) {
	type edge struct {
		Src int64  `parquet:"src"`
		Dst string `parquet:"dst"`
	}
	for _, c := range []struct {
		name  string
		files map[string]string // beside nodes.csv and edges.csv, or in their place
		args  string
		want  string
	}{
		// nodes
		{"nodes file not there", nil, "--nodes none.csv", "open none.csv: no such file or directory"},
		{"nodes header", map[string]string{"nodes.csv": "node,label\na,X\n"}, "",
			`nodes.csv:1: has no column "id"; its columns are node, label. If one of them is meant, add --columns id=NAME`},
		{"nodes split", map[string]string{"nodes.csv": "id,label,split\na,X,train\nb,Y,holdout\n"}, "",
			`nodes.csv:3: column "split": got "holdout", want train, val, test or none`},
		{"nodes and splits", map[string]string{"nodes.csv": "id,split\na,train\n", "s.csv": "id,split\na,val\n"},
			"--splits s.csv", "nodes.csv has a column split, and --splits gives another"},
		// edges
		{"edges header", map[string]string{"edges.csv": "x,y\na,b\nb,c\n"}, "",
			`edges.csv:1: has no column "src"; its columns are x, y. If one of them is meant, add --edge-columns src=NAME; if this line is a row, add --no-header`},
		{"edges parquet unknown node", map[string]string{"edges.parquet": parquetFile(t, edge{7, "a"})},
			"--edges edges.parquet", `edges.parquet:1: got an edge of node "7", want ids that nodes.csv has`},
		{"edges npy unknown node",
			map[string]string{"nodes.csv": "id\n1\n2\n", "e.npy": npyFile("<i4", "(3, 2)", []int32{1, 2, 2, 3, 5, 1})},
			"--edges e.npy", `e.npy: row 1 got an edge of node "3", want ids that nodes.csv has`},
		// splits
		{"splits truncated", map[string]string{"s.csv": "id,split\na,train\nb,tra"}, "--splits s.csv",
			`s.csv:3: column "split": got "tra", want train, val, test or none`},
		// features
		{"features missing node", map[string]string{"f.csv": "id,f\na,1\nc,1\n"}, "--features f.csv",
			`f.csv: has no row for node "b" (1 of 3 nodes have none), want one for each`},
		{"features npy rows", map[string]string{"f.npy": array(2, 1, 1, 2)}, "--features f.npy",
			"f.npy: has 2 rows, want 3, one for each node"},
		// predictions
		{"predictions unknown class", map[string]string{"p.csv": "id,X,Y,Z\na,1,0,0\nb,0,1,0\nc,0,0,1\n"},
			"--predictions p.csv", `p.csv:1: class "Z" of the predictions`},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges}
			maps.Copy(files, c.files)
			writeFiles(t, files)
			before := listDir(t)
			got := run(t, "", importArgs(c.args)...)
			if got.code != exitFailed && got.code != exitUsage || !strings.Contains(got.err, c.want) {
				t.Errorf("got exit code %d and %s\nwant a failure with %s", got.code, got.err, c.want)
			}
			if after := listDir(t); !slices.Equal(after, before) {
				t.Errorf("left behind: %v, want %v", after, before)
			}
		})
	}
}

func TestImportForms(t *testing.T) {
	type node struct {
		ID    int64   `parquet:"id"`
		Label string  `parquet:"label"`
		Score float64 `parquet:"weight"`
	}
	type edge struct {
		Src int64 `parquet:"src"`
		Dst int64 `parquet:"dst"`
	}
	for _, c := range []struct {
		name, nodes, edges string
		files              map[string]string
		want               string // of import, in part
		query, rows        string
	}{
		{
			name: "byte order mark, CRLF, quotes, other scripts", nodes: "n.csv", edges: "e.csv",
			files: map[string]string{
				"n.csv": "\ufeffID,Label,born,open,rate,note\r\nÅsa,数学,1990,true,0.5,\"a, b\"\r\n\"o\"\"k\",,,false,,007\r\n",
				"e.csv": "Src,DST,since\r\nÅsa,\"o\"\"k\",5\r\n",
			},
			want:  "g: 2 nodes, 1 edge (0 self loops dropped, 0 parallel edges collapsed), 1 labelled, 1 class,",
			query: "nodes return id, label, born, open, rate, note",
			rows:  "id,label,born,open,rate,note\nÅsa,数学,1990,true,0.5,\"a, b\"\n\"o\"\"k\",,,false,,007\n",
		},
		{
			name: "parquet", nodes: "n.parquet", edges: "e.parquet",
			files: map[string]string{
				"n.parquet": parquetFile(t, node{10, "X", 0.5}, node{2, "", 1}),
				"e.parquet": parquetFile(t, edge{10, 2}, edge{2, 10}, edge{2, 2}),
			},
			want:  "g: 2 nodes, 1 edge (1 self loop dropped, 1 parallel edge collapsed), 1 labelled, 1 class,",
			query: "nodes return id, label, weight, degree", rows: "id,label,weight,degree\n10,X,0.5,1\n2,,1,1\n",
		},
		{
			name: "numbers that are none", nodes: "n.parquet", edges: "e.csv",
			files: map[string]string{
				"n.parquet": parquetFile(t, node{1, "X", 0.5}, node{2, "", math.NaN()}, node{3, "", 1e300},
					node{4, "", math.Inf(1)}),
				"e.csv": "SRC,Dst\n1,2\n",
			},
			want:  "g: 4 nodes, 1 edge (0 self loops dropped, 0 parallel edges collapsed), 1 labelled, 1 class,",
			query: "nodes where weight > 1 or weight is null return id, weight", rows: "id,weight\n2,\n3,1e+300\n4,+Inf\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			writeFiles(t, c.files)
			if got := mustRun(t, "import", "g", "--nodes", c.nodes, "--edges", c.edges); !strings.HasPrefix(got, c.want) {
				t.Errorf("import: got %s, want %s", got, c.want)
			}
			if got := mustRun(t, "shell", "g", "-c", c.query, "--format", "csv"); got != c.rows {
				t.Errorf("%s: got\n%s\nwant\n%s", c.query, got, c.rows)
			}
			if got := mustRun(t, "check", "g"); !strings.HasPrefix(got, "g: no problems") {
				t.Errorf("check: got %s", got)
			}
		})
	}
}

// Predictions, features and splits are added to a store that is there, all or none.
func TestImportIntoStore(t *testing.T) {
	writeFiles(t, map[string]string{
		"nodes.csv": threeNodes, "edges.csv": twoEdges,
		"p.csv":    "id,Y,X\nc,0.25,0.75\na,0,1\nb,0.5,0.5\n",
		"p.npy":    array(3, 2, 1, 0, 0.5, 0.5, 0.75, 0.25),
		"l.npy":    array(3, 2, 0, 0, 1000, 0, -5000, 5000),
		"bad.npy":  array(3, 2, 1, 0, 0.5, 0.5, 0.75, 0.75),
		"f.npz":    sparse(t, 3, 4, []int64{0, 1, 1, 3}, []int64{2, 0, 3}),
		"s.csv":    "id,split\nb,train\na,val\n",
		"sbad.csv": "id,split\nb,train\na,blah\n",
	})
	if got := run(t, "", "import", "g", "--predictions", "p.npy"); got.code != exitFailed ||
		!strings.Contains(got.err, "g: no such store") {
		t.Errorf("no store: got %d and %s", got.code, got.err)
	}
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	for _, c := range []struct{ args, want string }{
		{"--predictions p.csv", "id,X,Y\na,1,0\nb,0.5,0.5\nc,0.75,0.25\n"},
		{"--predictions p.npy --features f.npz --splits s.csv", "id,X,Y\na,1,0\nb,0.5,0.5\nc,0.75,0.25\n"},
		{"--predictions l.npy --logits", "id,X,Y\na,0.5,0.5\nb,1,0\nc,0,1\n"},
	} {
		mustRun(t, append([]string{"import", "g"}, strings.Fields(c.args)...)...)
		if got := mustRun(t, "export", "g", "predictions", "--out", "-"); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
	for _, args := range []string{"--predictions bad.npy --splits s.csv", "--predictions p.csv --splits sbad.csv"} {
		if got := run(t, "", append([]string{"import", "g"}, strings.Fields(args)...)...); got.code != exitFailed {
			t.Errorf("%s: got exit code %d, want %d", args, got.code, exitFailed)
		}
		if got, want := mustRun(t, "export", "g", "predictions", "--out",
			"-"), "id,X,Y\na,0.5,0.5\nb,1,0\nc,0,1\n"; got != want {
			t.Errorf("%s failed: the predictions are now\n%s\nwant\n%s", args, got, want)
		}
	}
	if got, want := mustRun(t, "shell", "g", "-c", "nodes return id, split", "--format",
		"csv"), "id,split\na,val\nb,train\nc,\n"; got != want {
		t.Errorf("splits: got\n%s\nwant\n%s", got, want)
	}
	mustRun(t, "export", "g", "predictions", "--out", "out.npy")
	content, err := os.ReadFile("out.npy")
	if want := array(3, 2, 0.5, 0.5, 1, 0, 0, 1); err != nil || string(content[len(content)-24:]) != want[len(want)-24:] {
		t.Errorf("out.npy: got %x, %v", content, err)
	}
}

// An endingContext is cancelled once it has been asked a number of times whether it is.
type endingContext struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func (c *endingContext) Err() error {
	if c.left.Add(-1) < 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// An import that is interrupted, wherever that is, leaves no store, and the next one makes it as if nothing had been.
func TestInterruptedImports(t *testing.T) {
	var nodes, edges strings.Builder
	nodes.WriteString("id,label\n")
	edges.WriteString("src,dst\n")
	const n = 1500
	r := rand.New(rand.NewPCG(1, 0))
	for i := range n {
		fmt.Fprintf(&nodes, "%d,%c\n", n-i, 'A'+r.IntN(3))
	}
	for range 10 * n {
		fmt.Fprintf(&edges, "%d,%d\n", 1+r.IntN(n), 1+r.IntN(n))
	}
	writeFiles(t, map[string]string{"nodes.csv": nodes.String(), "edges.csv": edges.String()})
	writeParts(t, "nodes", nodes.String(), 3)
	writeParts(t, "edges", edges.String(), 4)
	load := func(db, ending string, times int64) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		limited := &endingContext{Context: ctx, cancel: cancel}
		limited.left.Store(times)
		c := importCommand{
			DB: db, graphFiles: graphFiles{inputFiles: inputFiles{Nodes: "nodes" + ending, Edges: "edges" + ending}},
			resources: resources{Memory: 1, Threads: 2},
		}
		var out bytes.Buffer
		return c.make(limited, &streams{ctx: limited, out: &out, messages: messages{err: &out}, progress: &progress{}})
	}
	degrees := func(db string) string {
		return mustRun(t, "shell", db, "-c", "nodes return id, label, degree", "--format", "csv")
	}
	must.Do(t, load("whole", ".csv", math.MaxInt64))
	want, interrupted := degrees("whole"), 0
	for times := int64(0); times < 60; times += int64(longtest.Of(20, 3)) {
		ending := []string{".csv", ""}[interrupted%2] // one file, a directory
		err := load("g", ending, times)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted at %d: got %v", times, err)
		}
		if err != nil {
			interrupted++
			if _, err := os.Stat("g"); err == nil {
				t.Fatalf("interrupted at %d: a store is there", times)
			}
			err = load("g", ending, math.MaxInt64)
		}
		if err != nil {
			t.Fatalf("after an interruption at %d: %v", times, err)
		}
		if got := degrees("g"); got != want {
			t.Errorf("after an interruption at %d: got another store than without", times)
		}
		must.Do(t, os.RemoveAll("g"))
		if got, want := listDir(t), []string{"edges", "edges.csv", "nodes", "nodes.csv", "whole"}; !slices.Equal(got, want) {
			t.Errorf("after an interruption at %d: left behind: %v, want %v", times, got, want)
		}
	}
	if interrupted < 3 {
		t.Errorf("%d imports were interrupted, want some at different stages", interrupted)
	}
}

// writeParts writes a text with a header into a directory, as so many files.
func writeParts(t *testing.T, dir, text string, parts int) {
	t.Helper()
	lines := strings.SplitAfter(text, "\n")
	must.Do(t, os.Mkdir(dir, 0o700))
	rows := lines[1 : len(lines)-1]
	for part := range parts {
		content := lines[0] + strings.Join(rows[len(rows)*part/parts:len(rows)*(part+1)/parts], "")
		must.Do(t, os.WriteFile(fmt.Sprintf("%s/part-%d.csv", dir, part), []byte(content), 0o600))
	}
}
