package shell

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
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
	return `Makes up a graph of a few thousand papers that cite each other. Some papers have a wrong field. The demo imports and cleans the graph. It prints the ` +
		`first suspects, and how many of the planted mislabels were found. Then an audit tells how many labels are wrong. The store stays for you to try.

    graphcleaner demo
    graphcleaner demo --dir /tmp/papers.graph --seed 7`
}

func (c *demoCommand) Run(ctx context.Context, s *streams) error {
	if err := c.apply(s); err != nil {
		return err
	}
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
	graph := newDemoGraph(demoPapers, c.Seed)
	if err := graph.write(files); err != nil {
		return err
	}
	load := importCommand{DB: c.Dir, resources: c.resources, graphFiles: graphFiles{inputFiles: inputFiles{
		Nodes:    stream.Below(files, "nodes.csv"),
		Edges:    stream.Below(files, "edges.csv"),
		Features: stream.Below(files, "features.csv"),
	}}}
	s.say("A made-up graph of %d papers in %d fields, %d of them filed under a wrong one, is in %s.",
		len(graph.field), len(graph.fields), len(graph.mislabels()), files)
	s.echo("import", c.Dir, "--nodes", load.Nodes, "--edges", load.Edges, "--features", load.Features)
	if err := load.make(ctx, s); err != nil {
		return err
	}
	s.echo("clean", c.Dir)
	clean := cleanCommand{DB: c.Dir, Seed: c.Seed, Preset: cleaner.PresetDefault, resources: c.resources}
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
func (c *demoCommand) audit(ctx context.Context, store *kv.Store, graph *demoGraph, s *streams) error {
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
	right := make(map[string]string, len(graph.field))
	for v, field := range graph.field {
		right[graph.id(v)] = graph.fields[field]
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

// A demoGraph is a citation-like graph made up for the demo: papers of one field mostly cite papers of their field and
// use its words, a few are cited by many, some by none, and some are filed under the wrong field.
type demoGraph struct {
	fields []string
	field  []int // the true one of each paper [n]
	label  []int // the one in the nodes file [n]
	year   []int // [n]
	edges  [][2]int
	words  [][]int // the words of each paper, ascending [n]
}

// demoPapers is the number of papers of the demo; tests have fewer.
var demoPapers = 3000

// The sizes of a demoGraph.
const (
	demoCitations  = 3  // a paper
	demoIsolated   = 75 // of as many papers one is without citations
	demoVocabulary = 300
	demoFieldWords = 40   // words that a field uses more than others
	demoPaperWords = 14   // draws of words of a paper
	demoHomophily  = 0.84 // chance that a citation stays in its field
	demoTopical    = 0.45 // chance that a word is one of the field's
	demoMislabels  = 0.09 // share of papers filed under a wrong field
)

var demoFields = []string{"Computer Vision", "Databases", "Information Retrieval", "Machine Learning", "Networking", "Security", "Theory"}

// newDemoGraph draws a graph of n papers; the same seed gives the same one.
func newDemoGraph(n int, seed uint64) *demoGraph {
	r := rand.New(rand.NewPCG(seed, 0))
	g := &demoGraph{fields: demoFields}
	c := len(demoFields)
	members := make([][]int, c) // papers by field
	weight := make([]float64, n)
	for v := range n {
		f := min(r.IntN(c), r.IntN(c+2)) // fields differ in size
		g.field = append(g.field, f)
		g.year = append(g.year, 1995+r.IntN(30))
		members[f] = append(members[f], v)
		weight[v] = elementary.Exp(-0.6 * elementary.Log(1-float64(r.Float64()))) // a heavy tail makes hubs
		if v%demoIsolated == 0 {
			weight[v] = 0
		}
	}
	everyone := make([]int, n)
	for v := range everyone {
		everyone[v] = v
	}
	anyone := newDraw(everyone, weight)
	inField := make([]*draw, c)
	for f := range members {
		inField[f] = newDraw(members[f], weight)
	}
	seen := make(map[[2]int]bool)
	for len(g.edges) < demoCitations*n {
		u := anyone.next(r)
		v := anyone.next(r)
		if r.Float64() < demoHomophily {
			v = inField[g.field[u]].next(r)
		}
		edge := [2]int{min(u, v), max(u, v)}
		if u != v && !seen[edge] {
			seen[edge] = true
			g.edges = append(g.edges, edge)
		}
	}
	for v := range n {
		var words []int
		for range demoPaperWords {
			word := r.IntN(demoVocabulary)
			if r.Float64() < demoTopical {
				word = (g.field[v]*demoFieldWords + r.IntN(demoFieldWords)) % demoVocabulary
			}
			words = append(words, word)
		}
		slices.Sort(words)
		g.words = append(g.words, slices.Compact(words))
	}
	g.label = slices.Clone(g.field)
	for _, v := range r.Perm(n)[:int(demoMislabels*float64(n))] {
		g.label[v] = misfile(r, g.field[v], c)
	}
	return g
}

// misfile draws a wrong field: most often the one that is taken for the true one, sometimes any other.
func misfile(r *rand.Rand, field, fields int) int {
	if r.Float64() < 0.6 {
		return (field + 1) % fields
	}
	return (field + 1 + r.IntN(fields-1)) % fields
}

// A draw picks items by weight.
type draw struct {
	items []int
	sums  []float64
}

func newDraw(items []int, weight []float64) *draw {
	d := &draw{items: items}
	sum := 0.0
	for _, item := range items {
		sum += weight[item]
		d.sums = append(d.sums, sum)
	}
	return d
}

func (d *draw) next(r *rand.Rand) int {
	x := r.Float64() * d.sums[len(d.sums)-1]
	i, found := slices.BinarySearch(d.sums, x)
	if found {
		i++ // an item of weight 0 has the sum of the one before
	}
	return d.items[i]
}

// id is the external id of a paper.
func (*demoGraph) id(v int) string { return "p" + strconv.Itoa(v) }

// write writes nodes.csv, edges.csv, features.csv and, for judging the result, truth.csv.
func (g *demoGraph) write(dir string) error {
	for name, content := range map[string]func(io.Writer){
		"nodes.csv": func(w io.Writer) {
			fmt.Fprintln(w, "id,label,year")
			for v, f := range g.label {
				fmt.Fprintf(w, "%s,%s,%d\n", g.id(v), g.fields[f], g.year[v])
			}
		},
		"truth.csv": func(w io.Writer) {
			fmt.Fprintln(w, "id,label")
			for v, f := range g.field {
				fmt.Fprintf(w, "%s,%s\n", g.id(v), g.fields[f])
			}
		},
		"edges.csv": func(w io.Writer) {
			fmt.Fprintln(w, "src,dst")
			for _, e := range g.edges {
				fmt.Fprintf(w, "%s,%s\n", g.id(e[0]), g.id(e[1]))
			}
		},
		"features.csv": g.writeFeatures,
	} {
		err := atomic.WriteFile(context.Background(), stream.Below(dir, name), newFileMode, func(out *bufio.Writer) error {
			content(out) // the buffer keeps the first error for its Flush
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *demoGraph) writeFeatures(w io.Writer) {
	header := []string{"id"}
	for word := range demoVocabulary {
		header = append(header, "word"+strconv.Itoa(word))
	}
	fmt.Fprintln(w, strings.Join(header, ","))
	for v, words := range g.words {
		row := slices.Repeat([]string{"0"}, demoVocabulary+1)
		row[0] = g.id(v)
		for _, word := range words {
			row[1+word] = "1"
		}
		fmt.Fprintln(w, strings.Join(row, ","))
	}
}
