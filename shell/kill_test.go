package shell

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/longtest"
	"github.com/graphcleaner/graphcleaner/kv"
)

const (
	killedForm = "GRAPHCLEANER_TEST_KILLED" // in the process that is killed: which of killedImports it makes
	killsAsked = "GRAPHCLEANER_TEST_KILLS"  // how many rounds there are of each form
	fewKills   = 1                          // without it
)

// killedImports are the imports that are killed, of nodes.csv and edges.csv in the working directory.
var killedImports = map[string]importCommand{
	"text ids":          {},
	"directed weighted": {graphFiles: graphFiles{inputFiles: inputFiles{Directed: true}}},
	"bad rows":          {BadRows: 1 << 30, Report: "bad.csv"},
}

// writeKilledImport writes the files of an import.
func writeKilledImport(t *testing.T, form string) {
	t.Helper()
	prefix, header := "node ", "src,dst\n"
	if form == "directed weighted" {
		prefix, header = "", "src,dst,weight\n"
	}
	r := rand.New(rand.NewPCG(4, 0))
	var nodes, edges strings.Builder
	nodes.WriteString("id,label,year\n")
	edges.WriteString(header)
	n := longtest.Of(1500, 3000)
	for i := range n {
		fmt.Fprintf(&nodes, "%s%d,%c,%d\n", prefix, n-i, 'A'+r.IntN(3), r.IntN(40))
		if form == "bad rows" && r.IntN(50) == 0 {
			fmt.Fprintf(&nodes, "%s%d,A,1\nx\n", prefix, n-r.IntN(i+1))
		}
	}
	for range 12 * n {
		fmt.Fprintf(&edges, "%s%d,%s%d", prefix, 1+r.IntN(n), prefix, 1+r.IntN(n))
		switch {
		case form == "directed weighted":
			fmt.Fprintf(&edges, ",%g", 0.5+float64(r.IntN(100)))
		case form == "bad rows" && r.IntN(100) == 0:
			fmt.Fprintf(&edges, "\n%s%d,%s%d\na,b,\"c\"d", prefix, n+r.IntN(n), prefix, r.IntN(2*n))
		}
		edges.WriteByte('\n')
	}
	if form == "bad rows" {
		edges.WriteString("node 1,\"node 2\nnode 3,node 4\n")
	}
	writeFiles(t, map[string]string{"nodes.csv": nodes.String(), "edges.csv": edges.String()})
}

// TestKilledImports kills imports at random moments, some once they have a checkpoint: the next one goes on, and what it
// makes is what one makes that is let be.
func TestKilledImports(t *testing.T) {
	if form := os.Getenv(killedForm); form != "" {
		c := killedImports[form]
		c.DB, c.Nodes, c.Edges, c.Stats, c.resources = "g", []string{"nodes.csv"}, []string{"edges.csv"}, "stats.json", resources{Memory: 1, Threads: 2}
		s := &streams{ctx: t.Context(), out: os.Stdout, messages: messages{err: os.Stderr}, progress: &progress{},
			stages: stageLog{file: &c.stageFile}}
		if err := cmp.Or(c.make(t.Context(), s, nil), s.stages.write(s)); err != nil {
			t.Fatal(err)
		}
		return
	}
	rounds := fewKills
	if asked := os.Getenv(killsAsked); asked != "" {
		var err error
		if rounds, err = strconv.Atoi(asked); err != nil {
			t.Fatalf("%s: %v", killsAsked, err)
		}
	}
	for form := range killedImports {
		t.Run(form, func(t *testing.T) {
			writeKilledImport(t, form)
			began := time.Now()
			runKilled(t, form, 0, false)
			took := time.Since(began)
			want := storeText(t, "g")
			r := rand.New(rand.NewPCG(uint64(rounds), 1))
			for round := range rounds {
				for _, left := range []string{"g", "bad.csv", "stats.json"} {
					if err := os.RemoveAll(left); err != nil {
						t.Fatal(err)
					}
				}
				after := time.Duration(r.Int64N(int64(took))) + time.Millisecond
				checkpoint := round%3 != 2
				if checkpoint {
					after /= 8
				}
				kept := runKilled(t, form, after, checkpoint)
				if made, err := isOccupied("g"); err != nil {
					t.Fatal(err)
				} else if !made {
					runKilled(t, form, 0, false)
					if again := slices.Contains(stageNames(t), "read edges"); again == kept {
						t.Errorf("round %d: there was a checkpoint: %v, and the edges were read again: %v", round, kept, again)
					}
				}
				if got := storeText(t, "g"); got != want {
					t.Errorf("round %d, killed after %v, checkpoint %v: got another store than without: %s",
						round, after, kept, firstDifference(got, want))
				}
				if err := os.RemoveAll("g.loading"); err != nil { // of one killed when the store was in its place
					t.Fatal(err)
				}
			}
		})
	}
}

// runKilled makes an import in a process of its own, which it kills after some time, of 0 not at all, from its beginning
// or from when it has a checkpoint. It returns whether it left one.
func runKilled(t *testing.T, form string, after time.Duration, checkpoint bool) (kept bool) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestKilledImports$")
	child.Env = append(os.Environ(), killedForm+"="+form)
	var out bytes.Buffer
	child.Stdout, child.Stderr = &out, &out
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	name := filepath.Join("g.loading", "checkpoint")
	if after == 0 {
		if err := <-ended; err != nil {
			t.Fatalf("import: %v\n%s", err, out.String())
		}
		return false
	}
	for begun := !checkpoint; !begun && len(ended) == 0; time.Sleep(time.Millisecond) {
		_, err := os.Stat(name)
		begun = err == nil
	}
	select {
	case <-time.After(after):
		if err := child.Process.Kill(); err != nil && len(ended) == 0 {
			t.Fatal(err)
		}
		if err := <-ended; err == nil {
			t.Logf("the import ended before it was killed")
		}
	case err := <-ended:
		if err != nil {
			t.Fatalf("import: %v\n%s", err, out.String())
		}
	}
	_, err := os.Stat(name)
	return err == nil
}

// stageNames are those of the stages of the last import.
func stageNames(t *testing.T) (names []string) {
	t.Helper()
	content, err := os.ReadFile("stats.json")
	if err != nil {
		t.Fatal(err)
	}
	var stats struct{ Stages []struct{ Name string } }
	if err := json.Unmarshal(content, &stats); err != nil {
		t.Fatal(err)
	}
	for _, stage := range stats.Stages {
		names = append(names, stage.Name)
	}
	return names
}

// storeText is all that an import put into a store, and its report of bad rows.
func storeText(t *testing.T, db string) string {
	t.Helper()
	var b strings.Builder
	report, err := os.ReadFile("bad.csv")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	b.Write(report)
	b.WriteString(mustRun(t, "shell", db, "-c", "nodes return id, label, year, degree", "--format", "csv"))
	err = withStore(db, kv.Options{MemoryBudget: 1, ReadOnly: true}, func(store *kv.Store) error {
		return store.View(func(tx *kv.Tx) error {
			blocks, err := tx.AdjacencyBlocks()
			if err != nil {
				return err
			}
			var lists kv.Adjacency
			for _, along := range []kv.Direction{kv.Out, kv.In} {
				for _, block := range blocks {
					if err := tx.Along(along).ReadAdjacency(block, &lists); err != nil {
						return err
					}
					fmt.Fprintln(&b, along, block, lists.Offsets, lists.Neighbors, lists.Weights)
				}
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := mustRun(t, "check", db); !strings.HasPrefix(got, db+": no problems") {
		t.Errorf("check: got %s", got)
	}
	return b.String()
}
