package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
	"github.com/graphcleaner/graphcleaner/shell/internal/review"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// demoCommand does the whole job on a made-up graph.
type demoCommand struct {
	Dir  string `default:"demo.graph" placeholder:"DIR" help:"Directory of the store. The files lie beside it, in DIR.files."`
	Seed uint64 `default:"${seed}" help:"Seed of the graph and of the cleaning."`
	resources
}

func (*demoCommand) Help() string {
	return `Makes up a graph of a few thousand papers that cite each other. Some papers have a wrong field. The demo imports and cleans the graph. It prints the ` +
		`first suspects, and how many of the planted mislabels were found. Then an audit tells how many labels are wrong. The store stays for you to try. An earlier demo in the same place is replaced.

    graphcleaner demo
    graphcleaner demo --dir /tmp/papers.graph --seed 7`
}

// demoMark is the file in DIR.files that holds the id of the store the demo made, so that no other is ever removed.
const demoMark = ".graphcleaner-demo"

func (c *demoCommand) Run(ctx context.Context, s *streams) error {
	if err := c.apply(s); err != nil {
		return err
	}
	c.Dir = filepath.Clean(c.Dir)
	files := c.Dir + ".files"
	if err := atomic.CheckOutsideStores(c.Dir); err != nil {
		return err
	}
	if err := c.clear(files); err != nil {
		return err
	}
	graph := newDemoGraph(demoPapers, c.Seed)
	if err := c.begin(files); err != nil {
		return err
	}
	if err := graph.write(files); err != nil {
		return err
	}
	load := importCommand{DB: c.Dir, resources: c.resources, graphFiles: graphFiles{inputFiles: inputFiles{
		Nodes:    filepath.Join(files, "nodes.csv"),
		Edges:    filepath.Join(files, "edges.csv"),
		Features: filepath.Join(files, "features.csv"),
	}}}
	s.say("A made-up graph of %d papers in %d fields, %d of them filed under a wrong one, is in %s.",
		len(graph.field), len(graph.fields), len(graph.mislabels()), files)
	s.echo("import", c.Dir, "--nodes", load.Nodes, "--edges", load.Edges, "--features", load.Features)
	if err := load.make(ctx, s, func(store *kv.Store) error { return mark(files, store) }); err != nil {
		return err
	}
	s.echo("clean", c.Dir)
	clean := cleanCommand{DB: c.Dir, Seed: c.Seed, Preset: string(cleaner.PresetDefault), resources: c.resources}
	err := withStore(c.Dir, kv.Options{MemoryBudget: c.store()}, func(store *kv.Store) error {
		run, err := cleaner.Clean(ctx, store, clean.options(s))
		if err != nil {
			return err
		}
		s.progress.clear()
		if err := printRun(s, c.Dir, run, nil); err != nil {
			return err
		}
		if err := c.show(ctx, store, graph.mislabels(), s); err != nil {
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

// clear removes what an earlier demo left, and refuses to remove anything else.
func (c *demoCommand) clear(files string) error {
	occupied, err := isOccupied(c.Dir)
	if err != nil || !occupied {
		return err
	}
	id, err := os.ReadFile(filepath.Join(files, demoMark))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is there and is not of an earlier demo: want another --dir", c.Dir)
	}
	if err != nil {
		return err
	}
	err = withStoreToRead(c.Dir, c.store(), func(store *kv.Store) error {
		if store.ID() != strings.TrimSpace(string(id)) {
			return fmt.Errorf("%s is there and is not the store of the earlier demo: want another --dir", c.Dir)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return os.RemoveAll(c.Dir)
}

// begin makes the directory of the files, unless there is one of somebody else's files.
func (c *demoCommand) begin(files string) error {
	if err := os.MkdirAll(filepath.Dir(files), 0o755); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(files, demoMark)); err == nil {
		return nil
	}
	err := os.Mkdir(files, 0o755)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there and is not of an earlier demo: want another --dir", files)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(files, demoMark), nil, 0o644)
}

// mark says that a store is of a demo.
func mark(files string, store *kv.Store) error {
	return os.WriteFile(filepath.Join(files, demoMark), []byte(store.ID()+"\n"), 0o644)
}

// mislabels are the papers that are filed under a wrong field.
func (g *demoGraph) mislabels() map[string]bool {
	mislabels := make(map[string]bool)
	for v := range g.field {
		if g.field[v] != g.label[v] {
			mislabels[g.id(v)] = true
		}
	}
	return mislabels
}

// show prints the first suspects, and judges all of them by what was planted.
func (c *demoCommand) show(ctx context.Context, store *kv.Store, mislabels map[string]bool, s *streams) error {
	const first = "suspects limit 10"
	s.echo("shell", c.Dir, "-c", first)
	tx := store.Begin()
	defer tx.Close()
	result, err := query.Query(ctx, tx, query.Options{}, first)
	if err != nil {
		return err
	}
	if _, err := print.Render(s.out, result, print.FormatTable); err != nil {
		return err
	}
	flags, hits := 0, 0
	for id, err := range query.Rows[string](query.Query(ctx, tx, query.Options{}, "suspects return id")) {
		if err != nil {
			return err
		}
		flags++
		if mislabels[id] {
			hits++
		}
	}
	_, err = fmt.Fprintf(s.out, "\n%d suspects, %d of them among the %d planted mislabels: precision %.3f, recall %.3f\n",
		flags, hits, len(mislabels), shareOf(hits, flags), shareOf(hits, len(mislabels)))
	return err
}

// audit draws labels, answers by the fields that are right, has the scores follow, and says what to try next.
func (c *demoCommand) audit(ctx context.Context, store *kv.Store, graph *demoGraph, s *streams) error {
	const draws = 200
	s.echo("audit", c.Dir, "--size", strconv.Itoa(draws))
	s.say("The demo knows the right fields, and answers for you.")
	step := func(step review.Step) (review.Result, error) {
		return step.Do(ctx, store, query.Options{Workers: c.Threads, MemoryBudget: c.work()})
	}
	find := review.Step{Find: &review.Find{Audit: &review.Sample{Size: draws, Seed: c.Seed}}}
	asked, err := step(find)
	if err != nil {
		return err
	}
	right := make(map[string]string, len(graph.field))
	for v, field := range graph.field {
		right[graph.id(v)] = graph.fields[field]
	}
	var answers []decide.Request
	for i, v := range asked.Nodes {
		answers = append(answers, decide.Request{Node: v, Kind: decide.Relabel, To: right[asked.IDs[i]]})
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
