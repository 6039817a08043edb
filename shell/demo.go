package shell

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
	"github.com/graphcleaner/graphcleaner/shell/internal/demograph"
	"github.com/graphcleaner/graphcleaner/shell/internal/review"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// demoCommand does the whole job on a made-up graph.
type demoCommand struct {
	Dir  string `default:"demo.graph" placeholder:"DIR" help:"Directory of the store. The files lie beside it, in DIR.files."`
	Seed uint64 `default:"${seed}" help:"Seed of the graph and of the cleaning."`
	resources
}

func (*demoCommand) Help() string {
	return `Makes up a graph of a few thousand papers that cite each other. Some papers have a wrong field. The demo ` +
		`imports and cleans the graph. It prints the first suspects, and how many of the planted mislabels were found. ` +
		`Then an audit tells how many labels are wrong. The store stays for you to try.

    graphcleaner demo
    graphcleaner demo --dir /tmp/papers.graph --seed 7`
}

func (c *demoCommand) Run(ctx context.Context, s *streams) error {
	c.Dir = strings.TrimRight(c.Dir, string(filepath.Separator))
	files := c.Dir + ".files"
	if err := atomic.CheckOutsideStores(c.Dir); err != nil {
		return err
	}
	for _, path := range []string{c.Dir, files} {
		occupied, err := isOccupied(path)
		if err != nil {
			return err
		}
		if occupied {
			return fmt.Errorf("%s is there already: remove it, or name another place with --dir", path)
		}
	}
	if err := os.MkdirAll(files, 0o755); err != nil {
		return err
	}
	graph := demograph.New(demoPapers, c.Seed)
	if err := graph.Write(files); err != nil {
		return err
	}
	load := importCommand{DB: c.Dir, resources: c.resources, graphFiles: graphFiles{inputFiles: inputFiles{
		Nodes:    stream.Below(files, "nodes.csv"),
		Edges:    stream.Below(files, "edges.csv"),
		Features: stream.Below(files, "features.csv"),
	}}}
	s.say("A made-up graph of %d papers in %d fields, %d of them filed under a wrong one, is in %s.",
		len(graph.Field), len(demograph.Fields), len(graph.Mislabels()), files)
	s.echo("import", c.Dir, "--nodes", load.Nodes, "--edges", load.Edges, "--features", load.Features)
	if err := load.make(ctx, s); err != nil {
		return err
	}
	s.echo("clean", c.Dir)
	clean := cleanCommand{DB: c.Dir, Seed: c.Seed, Preset: cleaner.PresetDefault, resources: c.resources}
	err := c.use(s, c.Dir, toWrite, func(store *kv.Store) error {
		run, err := cleaner.Clean(ctx, store, clean.options(s))
		if err != nil {
			return err
		}
		if err := printRun(s, c.Dir, run, nil); err != nil {
			return err
		}
		if err := c.show(ctx, store, graph.Mislabels(), s); err != nil {
			return err
		}
		return c.audit(ctx, store, graph, s)
	})
	return leaving(c.inFlags(err), "%s is imported, not cleaned", c.Dir)
}

// echo prints the command that does the same, so that the demo can be followed by hand.
func (s *streams) echo(words ...string) {
	for i, word := range words {
		words[i] = wording.ShellWord(word)
	}
	s.say("\n$ %s %s", s.program, strings.Join(words, " "))
}

// show prints the first suspects, and judges all of them by the planted labels.
func (c *demoCommand) show(ctx context.Context, store *kv.Store, mislabels map[string]bool, s *streams) error {
	const first = "suspects limit 10"
	s.echo("shell", c.Dir, "-c", first)
	tx := store.Begin()
	defer tx.Close()
	result, err := query.Query(ctx, tx, query.Options{}, first)
	if err != nil {
		return err
	}
	if _, err := print.Render(s.out, result, print.FormatTable, print.ScreenOf(s.out)); err != nil {
		return err
	}
	flags, hits := 0, 0
	suspects, err := query.Query(ctx, tx, query.Options{}, "suspects return id")
	if err != nil {
		return err
	}
	for row, err := range suspects.Rows() {
		if err != nil {
			return err
		}
		flags++
		if mislabels[row[0].String()] {
			hits++
		}
	}
	_, err = fmt.Fprintf(s.out, "\n%d suspects, %d of them among the %d planted mislabels: precision %.3f, recall %.3f\n",
		flags, hits, len(mislabels), shareOf(hits, flags), shareOf(hits, len(mislabels)))
	return err
}

// audit draws labels, answers by the fields that are right, has the scores follow, and says what to try next.
func (c *demoCommand) audit(ctx context.Context, store *kv.Store, graph *demograph.Graph, s *streams) error {
	const draws = 200
	s.echo("audit", c.Dir, "--size", strconv.Itoa(draws))
	s.say("The demo knows the right fields, and answers for you.")
	step := func(step review.Step) (review.Result, error) {
		return step.Do(ctx, store, query.Options{Workers: c.Threads, MemoryBudget: c.work(), Who: "demo"})
	}
	find := review.Step{Find: &review.Find{Audit: &review.Sample{Size: draws, Seed: c.Seed}}}
	asked, err := step(find)
	if err != nil {
		return err
	}
	right := make(map[string]string, len(graph.Field))
	for v, field := range graph.Field {
		right[graph.ID(v)] = demograph.Fields[field]
	}
	var answers []decide.Request
	for i, d := range asked.Audit.Open("demo") {
		answers = append(answers, decide.Request{Node: d.Node, Kind: decide.Relabel, To: right[asked.IDs[i]]})
	}
	if _, err := decide.Write(ctx, store, answers, decide.Options{Who: "demo"}); err != nil {
		return err
	}
	told, err := step(find)
	if err != nil {
		return err
	}
	followed, err := step(review.Step{Finish: true})
	if err != nil {
		return err
	}
	db := wording.ShellWord(c.Dir)
	_, err = fmt.Fprintf(s.out, `%[3]s
%[4]s

Try next:
  %[1]s review %[2]s --web
  %[1]s shell %[2]s
  %[1]s export %[2]s labels --out labels.csv
`, s.program, db, wording.HowMany(told.Audit), strings.Join(followed.Notices, "\n"))
	return err
}

func shareOf(part, whole int) float64 { return float64(part) / float64(max(whole, 1)) }

// demoPapers is the number of papers of the demo; tests have fewer.
var demoPapers = 3000
