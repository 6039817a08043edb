package shell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// estimateCommand says what import and clean would take.
type estimateCommand struct {
	DB          string   `arg:"" optional:"" name:"DB" help:"Directory of the store. Without it: --nodes and --edges."`
	Nodes       []string `sep:"none" file:"read" placeholder:"FILE|N" help:"Nodes: a file, or their number."`
	Edges       []string `sep:"none" file:"read" placeholder:"FILE|M" help:"Edges: a file, or their number."`
	Directed    bool     `help:"Edges have a direction, as for import."`
	Features    string   `file:"read" placeholder:"FILE|D" help:"Features that the base classifier learns from: a file, or the number of their columns."`
	Predictions string   `file:"read" placeholder:"FILE|C" help:"Predictions: a file, or the number of their columns. Without them a base classifier is trained."`
	graphColumns
	labelForm
	Classes int    `placeholder:"C" help:"Number of classes. Default: those of the predictions, or of the labels in the file."`
	Hops    int    `default:"3" placeholder:"K" help:"Hops over which agreement is measured, 1 to 5. Default: 3."`
	Preset  string `enum:"default,paper" default:"default" help:"paper or default, as for clean."`
	importedUse
	Format string `enum:"table,json" default:"table" help:"table or json."`
	predictionEncoding
	orientation
	resources
}

func (*estimateCommand) Help() string {
	return `Estimates the memory and disk that clean takes for a store, or import and clean for files or for a number of nodes and edges. It also prints ` +
		`the price of the diagonals, the division of the memory, and whether --memory is enough. It imports and cleans nothing.

For a store, all degrees are read. Files are read as a whole, and imported nowhere. For numbers, degrees are assumed to follow a power law.

    graphcleaner estimate my.graph --memory 2GiB
    graphcleaner estimate --nodes nodes.csv --edges edges.csv --predictions softmax.npy --memory 512MiB
    graphcleaner estimate --nodes 67108864 --edges 1000000000 --predictions 16 --memory 4GiB`
}

// check refuses flags that cannot be meant together.
func (c *estimateCommand) check() error {
	stored := c.DB != ""
	given := files.Names(c.Nodes).Given() || files.Names(c.Edges).Given()
	switch {
	case stored == given || given && (!files.Names(c.Nodes).Given() || !files.Names(c.Edges).Given()):
		return usagef("estimate: want a store, or --nodes and --edges")
	case stored && (c.Directed || c.Features != "" || c.Predictions != "" || c.Classes != 0 || c.isGiven() || c.Columns.of != nil || c.EdgeColumns.of != nil ||
		c.textForm != (textForm{}) || c.predictionEncoding != (predictionEncoding{})):
		return usagef("estimate: of a store only --memory, --threads and flags of clean are asked; what else there is it has")
	case c.Predictions == "" && c.predictionEncoding != (predictionEncoding{}):
		return usagef("--top-k and --float16 say how predictions are stored, so they need --predictions")
	case given && !c.Directed && c.Direction != kv.Both:
		return usagef("--direction %s: want --directed with it", c.Direction)
	}
	edges := c.Edges
	if _, err := strconv.ParseInt(files.Names(edges).String(), 10, 64); err == nil {
		edges = nil
	}
	return cmp.Or(c.checkEdgeColumns(edges), checkHops(c.Hops))
}

// job is how files are read.
func (c *estimateCommand) job() files.Job { return c.of(files.Job{Memory: c.work()}) }

func (c *estimateCommand) Run(ctx context.Context, s *streams) error {
	if err := cmp.Or(c.apply(s), c.check()); err != nil {
		return err
	}
	p := &projection{resources: c.resources}
	p.options = cleaner.Options{
		Preset: cleaner.Preset(c.Preset), Hops: c.Hops, Direction: c.Direction, Imported: c.imported(), Workers: c.Threads, MemoryBudget: c.work(),
	}
	var e *estimate
	var err error
	if c.DB != "" {
		err = c.readStore(s, c.DB, func(store *kv.Store) error {
			if err := c.checkDirection(store); err != nil {
				return err
			}
			return store.View(func(tx *kv.Tx) (err error) {
				if err := p.countStore(ctx, tx); err != nil {
					return err
				}
				if e, err = p.project(ctx); err != nil {
					return err
				}
				room := store.CheckRoom(p.clean.RoomBytes)
				if errors.Is(room, kv.ErrNoSpace) {
					e.Disk, room = wording.Plain(room), nil
				}
				return room
			})
		})
	} else if err = p.count(ctx, c); err == nil {
		e, err = p.project(ctx)
	}
	if small := (*ops.BudgetError)(nil); errors.As(err, &small) {
		e, err = &estimate{Notes: p.notes, Memory: int64(c.Memory), Least: leastMemoryFor(small.Least)}, nil
	}
	if err != nil {
		return wording.Advise(err)
	}
	e.Fits = e.Refused == "" && e.Disk == "" && e.Least <= int64(c.Memory)
	s.progress.clear()
	if c.Format == "json" {
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(e)
	}
	return e.print(s)
}

// leastMemoryFor is the --memory that leaves so much for the work, in whole MiB.
func leastMemoryFor(work int64) int64 {
	const mebibyte = 1 << 20
	memory := func(i int) byteSize { return leastMemory + byteSize(i)*mebibyte }
	enough := int((work+processBytes)/3*4/mebibyte) + 2
	return int64(memory(sort.Search(enough, func(i int) bool { return (&resources{Memory: memory(i)}).work() >= work })))
}

const (
	mostNodes   = 1<<32 - 1<<12 // the most that a store holds
	mostEdges   = 1 << 48       // more than any store has; costs of more would overflow
	mostClasses = 1 << 20       // likewise
)

// A projection is what an estimate is made of.
type projection struct {
	resources resources
	options   cleaner.Options
	notes     []string
	counts    cleaner.Counts
	files     fileCounts
	textIDs   bool
	idBytes   int64         // of ids that are texts
	stored    int64         // bytes of the store that is there
	load      *loadEstimate // nil of a store
	loaded    loadedGraph
	clean     *cleaner.CleanEstimate
}

// fileCounts is what else is known of the files that are imported, or were.
type fileCounts struct {
	rows        int64 // of edges
	weights     int   // that differ; 0: there are none
	features    fileShape
	predictions fileShape // no columns: there are none, and those that clean makes are kept in full
	encoding    predictionEncoding
}

func (p *projection) say(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// countStore looks at a store.
func (p *projection) countStore(ctx context.Context, tx *kv.Tx) (err error) {
	if p.counts, err = cleaner.CountStore(ctx, tx, p.options); err != nil {
		return err
	}
	p.say("The degrees of the store were walked for the price of the diagonals.")
	p.files.rows = tx.Shape().Edges
	p.stored, err = query.DiskBytes(tx.Store().Dir())
	return err
}

// count looks at files, or takes numbers.
func (p *projection) count(ctx context.Context, c *estimateCommand) (err error) {
	if p.files.features, err = countColumns(ctx, c.Features, "--features", cleaner.FeaturesMatrix, c.job()); err != nil {
		return err
	}
	if p.files.predictions, err = countColumns(ctx, c.Predictions, "--predictions", cleaner.PredictionsMatrix, c.job()); err != nil {
		return err
	}
	p.files.encoding = c.predictionEncoding
	nodes, err := p.countNodes(ctx, c)
	if err != nil {
		return err
	}
	edges, err := p.countEdges(ctx, c, nodes.Nodes)
	if err != nil {
		return err
	}
	p.textIDs = nodes.TextIDs || edges.text
	p.files.rows, p.files.weights = edges.rows, edges.weights
	p.loaded = loadedGraph{
		nodes: nodes.Nodes, rows: edges.rows, edges: edges.edges, directed: c.Directed, degrees: edges.sample.degrees(),
	}
	if edges.weights >= files.ManyWeights {
		p.loaded.weightBytes = 4
	} else if edges.weights > 0 {
		p.loaded.weightBytes = 1
	}
	if p.textIDs {
		p.idBytes = nodes.IDBytes
		p.loaded.idBytes = nodes.IDBytes + 16*nodes.Nodes
	}
	p.load = p.loaded.estimateLoad(int64(p.resources.Memory), p.options.Workers)
	p.counts = cleaner.Counts{
		Nodes: int(nodes.Nodes), Labels: int(nodes.Labelled), Classes: nodes.Classes, Features: p.files.features.columns,
		Predictions: p.files.predictions.columns > 0,
	}
	p.counts.DrawSplit()
	p.counts.Sizes = edges.sizes(int(nodes.Nodes), p.load, p.loaded.degrees)
	p.counts.Steps = func(_ context.Context, hops int) (float64, error) { return edges.sample.steps(hops), nil }
	return nil
}

// countNodes looks at the nodes file, or takes their number, and says what of it is an estimate.
func (p *projection) countNodes(ctx context.Context, c *estimateCommand) (nodes files.NodeCount, err error) {
	if n, err := strconv.ParseInt(files.Names(c.Nodes).String(), 10, 64); err == nil {
		nodes = files.NodeCount{Nodes: n, Labelled: n}
	} else if nodes, err = c.job().CountNodes(ctx, c.Nodes, c.form()); err != nil {
		return nodes, err
	}
	if nodes.Nodes < 1 {
		return nodes, usagef("--nodes %s: want a file with nodes, or a number of them", files.Names(c.Nodes))
	}
	if nodes.Nodes > mostNodes {
		return nodes, usagef("--nodes %s: want at most %d, as many as a store holds", files.Names(c.Nodes), int64(mostNodes))
	}
	if p.files.predictions.columns > 0 {
		nodes.Classes = p.files.predictions.columns
	}
	if c.Classes > 0 {
		nodes.Classes = c.Classes
		if c.Classes > mostClasses {
			return nodes, usagef("--classes %d: want at most %d", c.Classes, mostClasses)
		}
	}
	if nodes.Classes < 2 {
		return nodes, usagef("--classes: want the number of classes, 2 or more")
	}
	return nodes, nil
}

// countEdges looks at the edges file, or takes their number, and says what of it is an estimate.
func (p *projection) countEdges(ctx context.Context, c *estimateCommand, nodes int64) (edges edgeCount, err error) {
	directed := c.Directed && c.Direction != kv.Both
	m, err := strconv.ParseInt(files.Names(c.Edges).String(), 10, 64)
	switch {
	case err == nil && m < 1:
		return edges, usagef("--edges %s: want a file, or a number of edges", files.Names(c.Edges))
	case err == nil && m > mostEdges:
		return edges, usagef("--edges %s: want at most %d", files.Names(c.Edges), int64(mostEdges))
	case err == nil:
		p.say("Assumption: degrees follow a power law (exponent 2.5). " +
			"The diagonals of k ≥ 3 may cost more or less than is said here; an edges file tells.")
		return powerLaw(nodes, m, directed), nil
	}
	if edges, err = countEdges(ctx, c.Edges, c.job(), directed); err == nil && edges.sample.share < 1 {
		p.say("Sample: %.2g of the edges of %s; degrees and the price of the diagonals are estimated from them.",
			edges.sample.share, files.Names(c.Edges))
	}
	return edges, err
}

// An estimate is what import and clean would take.
type estimate struct {
	Notes      []string `json:"notes"`
	Nodes      int      `json:"nodes"`
	Edges      int64    `json:"edges"`
	Classes    int      `json:"classes"`
	Plan       string   `json:"plan"`
	Steps      float64  `json:"diagonal_steps"`
	ImportPeak int64    `json:"import_anonymous_bytes"`
	CleanPeak  int64    `json:"clean_anonymous_bytes"`
	ImportRSS  int64    `json:"import_resident_bytes"`
	CleanRSS   int64    `json:"clean_resident_bytes"`
	Store      int64    `json:"store_bytes"`
	Cleaned    int64    `json:"cleaned_store_bytes"`
	Temporary  int64    `json:"temporary_bytes"`
	Memory     int64    `json:"memory_bytes"`
	Least      int64    `json:"least_memory_bytes"`
	Refused    string   `json:"refused,omitempty"` // why clean would not begin
	Disk       string   `json:"disk,omitempty"`    // why the disk of the store has too little room
	Fits       bool     `json:"fits"`
}

// project plans, and adds up what the plan takes.
func (p *projection) project(ctx context.Context) (*estimate, error) {
	var err error
	if matrices := cleaner.MatrixBytes(p.options.Preset, p.counts.Classes, p.counts.Fitting); matrices >= 1<<20 {
		p.say("The matrices between %d classes take %s of the memory of clean.", p.counts.Classes, byteSize(matrices))
	}
	if p.clean, err = cleaner.EstimateClean(ctx, p.counts, p.options); err != nil {
		return nil, err
	}
	e := &estimate{
		Nodes: p.counts.Nodes, Edges: p.counts.Sizes.Edges(), Classes: p.counts.Classes,
		Steps: p.clean.Steps, Memory: int64(p.resources.Memory), Least: leastMemoryFor(p.clean.LeastBytes),
		Temporary: p.clean.TemporaryBytes, Store: p.stored, CleanPeak: p.cleanPeak(),
	}
	e.CleanRSS = resident(e.CleanPeak, p.clean.TemporaryBytes)
	if refusal := p.clean.Refusal; refusal != nil {
		e.Refused = wording.Advise(refusal).Error()
	}
	if p.load != nil {
		e.Store = p.storeBytes()
		e.Temporary = max(e.Temporary, p.load.temporaryBytes)
		e.Least = max(e.Least, p.leastForImport())
		e.ImportPeak = p.importPeak(p.load, e.Memory)
		e.ImportRSS = resident(e.ImportPeak, 0)
	}
	e.Cleaned = e.Store + p.clean.StoreBytes
	e.Notes = p.notes
	plan := p.clean.Plan
	where := "tiles in memory"
	if plan.OnDisk {
		where = "tile streamed"
	}
	if plan.Stripes > 1 {
		where = "tile in stripes"
	}
	e.Plan = fmt.Sprintf("%s; width %d, %d tiles, %d stripes, %d workers",
		where, plan.Width, plan.Tiles, plan.Stripes, plan.Workers)
	if plan.Held {
		e.Plan += "; adjacency kept decoded"
	}
	return e, nil
}

// matrixBytes are those of the features and of the predictions in the store.
func (p *projection) matrixBytes() (features, predictions int64) {
	f, of := p.files.features, p.files.predictions
	value := int64(4)
	if p.files.encoding.Float16 {
		value /= 2
	}
	shares := value * int64(of.columns)
	if k := int64(p.files.encoding.TopK); k > 0 {
		const counted = 6 // bytes of a row beside
		shares = min(shares, (value+2)*k+counted)
	}
	return matrixDiskBytes(p.loaded.nodes, f.columns, f.filled, f.equal), shares * p.loaded.nodes
}

// storeBytes is what the store takes on disk after the import.
func (p *projection) storeBytes() int64 {
	const empty, node = 64 << 10, 12 // measured
	features, predictions := p.matrixBytes()
	bytes := empty + node*p.loaded.nodes + p.load.adjacencyBytes + features + predictions
	if p.textIDs {
		bytes += 2 * p.idBytes // from id to node, and from node to id
	}
	return bytes
}

// print writes the estimate for reading.
func (e *estimate) print(s *streams) error {
	var b strings.Builder
	for _, note := range e.Notes {
		fmt.Fprintln(&b, note)
	}
	if e.Plan != "" {
		fmt.Fprintf(&b, "%d nodes, %d edges, %s\n\n", e.Nodes, e.Edges,
			wording.Count(e.Classes, "class", "classes"))
		fmt.Fprintf(&b, "plan         %s\n", e.Plan)
		fmt.Fprintf(&b, "diagonals    %.3g steps\n", e.Steps)
		if e.ImportPeak > 0 {
			fmt.Fprintf(&b, "import       %s of anonymous memory, %s resident, a store of %s\n",
				byteSize(e.ImportPeak), byteSize(e.ImportRSS), byteSize(e.Store))
		}
		fmt.Fprintf(&b, "clean        %s of anonymous memory, %s resident, a store of %s\n",
			byteSize(e.CleanPeak), byteSize(e.CleanRSS), byteSize(e.Cleaned))
		fmt.Fprintf(&b, "temporary    %s on disk\n", byteSize(e.Temporary))
	}
	verdict := "fits"
	if e.Least > e.Memory {
		verdict = "does not fit"
	}
	if e.Disk != "" {
		fmt.Fprintf(&b, "disk         %s\n", e.Disk)
	}
	if e.Refused != "" {
		verdict = "clean refuses"
		fmt.Fprintf(&b, "refused      %s\n", e.Refused)
	}
	fmt.Fprintf(&b, "--memory %s: %s; want at least %s\n", strings.ReplaceAll(byteSize(e.Memory).String(), " ", ""), verdict,
		strings.ReplaceAll(byteSize(e.Least).String(), " ", ""))
	_, err := s.out.Write([]byte(b.String()))
	return err
}
