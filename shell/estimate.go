package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// estimateCommand says what import and clean would take.
type estimateCommand struct {
	DB          string `arg:"" optional:"" name:"DB" help:"Directory of the store. Without it: --nodes and --edges."`
	Nodes       string `placeholder:"FILE|N" help:"Nodes: a file, or their number."`
	Edges       string `placeholder:"FILE|M" help:"Edges: a file, or their number."`
	Classes     int    `placeholder:"C" help:"Classes. Without it: those of the labels in the file."`
	Features    int    `placeholder:"D" help:"Columns of features that the base classifier learns from. Without it: none."`
	Predictions bool   `help:"There will be predictions, so that no base classifier is trained."`
	IDs         string `name:"ids" enum:"integer,text," default:"" placeholder:"KIND" help:"integer or text. Without it: as in the file, else integer."`
	Hops        int    `default:"3" placeholder:"K" help:"Hops over which agreement is measured, 1 to 5. Without it: 3."`
	Preset      string `enum:"default,paper" default:"default" help:"paper or default, as of clean."`
	Format      string `enum:"table,json" default:"table" help:"table or json."`
	orientation
	resources
}

func (*estimateCommand) Help() string {
	return `Says, without doing it, what clean of a store would take, or import and clean of files or of so many nodes and edges: stages and their ` +
		`seconds, memory, disk, how the memory is divided, and whether it fits --memory. Seconds come from a miniature of the graph that is imported ` +
		`and cleaned on this machine, which takes a few seconds and is gone afterwards.

Of a store the degrees are walked. Files are not read as a whole: rows from all over them are. Where only numbers are given, degrees are taken to follow a power law.

    graphcleaner estimate my.graph --memory 2GiB
    graphcleaner estimate --nodes nodes.csv --edges edges.csv --predictions --memory 512MiB
    graphcleaner estimate --nodes 67108864 --edges 1000000000 --classes 16 --memory 4GiB`
}

func (c *estimateCommand) Run(ctx context.Context, s *streams) error {
	if err := firstError(c.apply(), checkHops(c.Hops)); err != nil {
		return err
	}
	p := &projection{s: s, memory: int64(c.Memory), storeMemory: c.store(), textIDs: c.IDs == "text"}
	p.options = cleaner.Options{
		Preset: cleaner.Preset(c.Preset), Hops: c.Hops, Direction: c.Direction, Workers: c.Threads, MemoryBudget: c.work(),
	}
	var e *estimate
	var err error
	switch {
	case c.DB != "" && c.Nodes == "" && c.Edges == "":
		err = withStoreToRead(c.DB, c.store(), func(store *kv.Store) error {
			if err := c.checkDirection(store); err != nil {
				return err
			}
			return store.View(func(tx *kv.Tx) (err error) {
				if p.counts, err = cleaner.CountStore(ctx, tx, p.options); err != nil {
					return err
				}
				p.say("The degrees of the store were walked for the price of the diagonals.")
				p.rows = p.counts.Sizes.Edges()
				e, err = p.project(ctx, filepath.Dir(filepath.Clean(c.DB)))
				return err
			})
		})
	case c.DB == "" && c.Nodes != "" && c.Edges != "":
		if err = p.count(ctx, c); err == nil {
			e, err = p.project(ctx, os.TempDir())
		}
	default:
		return usagef("estimate: want a store, or --nodes and --edges")
	}
	if small := (*ops.BudgetError)(nil); errors.As(err, &small) {
		e, err = &estimate{Notes: p.notes, Memory: int64(c.Memory), Least: c.least(small.Least)}, nil
	}
	if err != nil {
		return advised(err)
	}
	e.Fits = e.Least <= int64(c.Memory)
	s.progress.clear()
	if c.Format == "json" {
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(e)
	}
	return e.print(s)
}

// least is the --memory that leaves so much for the work, in whole MiB.
func (r *resources) least(work int64) int64 {
	const mebibyte = 1 << 20
	least := resources{Memory: leastMemory}
	for least.work() < work {
		least.Memory += mebibyte
	}
	return int64(least.Memory)
}

// A projection is what an estimate is made of.
type projection struct {
	s                   *streams
	memory, storeMemory int64
	options             cleaner.Options
	notes               []string
	textIDs             bool
	counts              cleaner.Counts
	rows                int64            // of the edges file
	load                *kv.LoadEstimate // nil of a store
	clean               *cleaner.CleanEstimate
}

func (p *projection) say(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// count looks at files, or takes numbers.
func (p *projection) count(ctx context.Context, c *estimateCommand) error {
	var nodes nodeCount
	var edges edgeCount
	n, err := strconv.ParseInt(c.Nodes, 10, 64)
	if err == nil {
		nodes = nodeCount{nodes: n, labelled: n, idBytes: 8 * n}
	} else if nodes, err = countNodes(ctx, c.Nodes); err != nil {
		return err
	}
	m, err := strconv.ParseInt(c.Edges, 10, 64)
	switch {
	case err == nil && (m < 1 || n < 0):
		return usagef("--edges %s: want a file, or a number of edges", c.Edges)
	case err == nil:
		edges = powerLaw(nodes.nodes, m)
		p.say("Assumption: degrees follow a power law (exponent 2.5). " +
			"The diagonals of k ≥ 3 may cost more or less than is said here; an edges file tells.")
	default:
		if edges, err = countEdges(ctx, c.Edges); err != nil {
			return err
		}
		if edges.share < 1 {
			p.say("Sample: %.2g of the rows of %s; edges, degrees and the price of the diagonals are estimated from them.",
				edges.share, c.Edges)
		}
	}
	if nodes.nodes < 1 {
		return usagef("--nodes %s: want a file with nodes, or a number of them", c.Nodes)
	}
	if c.Classes > 0 {
		nodes.classes = c.Classes
	}
	if nodes.classes < 2 {
		return usagef("--classes: want the number of classes, 2 or more")
	}
	if c.IDs == "" {
		p.textIDs = nodes.text || edges.text
	}
	p.rows = edges.rows
	counts := kv.LoadCounts{Nodes: nodes.nodes, Rows: edges.rows, Edges: edges.edges, Degrees: edges.sample.Degrees()}
	if p.textIDs {
		counts.IDBytes = nodes.idBytes + 16*nodes.nodes
	}
	load := kv.EstimateLoad(counts, kv.LoadOptions{MemoryBudget: p.memory, Workers: p.options.Workers})
	p.load = &load
	p.counts = cleaner.Counts{
		Nodes: int(nodes.nodes), Labelled: int(nodes.labelled), Classes: nodes.classes, Features: c.Features,
		Predictions: c.Predictions, Degrees: counts.Degrees,
	}
	p.counts.SplitCounts()
	maxDegree := uint32(0)
	if len(counts.Degrees) > 0 {
		maxDegree = counts.Degrees[0]
	}
	p.counts.Sizes = ops.SizesOf(int(nodes.nodes), edges.edges, maxDegree, load.LargestRows, load.LargestEntries)
	p.counts.Diagonals = func(ctx context.Context, hops int, opt ops.Options) (ops.DiagonalPlan, error) {
		return edges.sample.PlanDiagonals(ctx, p.counts.Sizes, hops, opt)
	}
	return nil
}

// A stageEstimate is a line of an estimate.
type stageEstimate struct {
	Command string  `json:"command"`
	Stage   string  `json:"stage"`
	Passes  int     `json:"passes"`
	Seconds float64 `json:"seconds"`
	Memory  int64   `json:"anonymous_bytes"`
	Read    int64   `json:"bytes_read"`
	Written int64   `json:"bytes_written"`
}

// An estimate is what import and clean would take.
type estimate struct {
	Notes       []string        `json:"notes"`
	Nodes       int             `json:"nodes"`
	Edges       int64           `json:"edges"`
	Classes     int             `json:"classes"`
	Stages      []stageEstimate `json:"stages"`
	Plan        string          `json:"plan"`
	Steps       float64         `json:"diagonal_steps"`
	Passes      int             `json:"passes"`
	Import      float64         `json:"import_seconds"`
	Clean       float64         `json:"clean_seconds"`
	ImportPeak  int64           `json:"import_anonymous_bytes"`
	CleanPeak   int64           `json:"clean_anonymous_bytes"`
	Store       int64           `json:"store_bytes"`
	Cleaned     int64           `json:"cleaned_store_bytes"`
	Temporary   int64           `json:"temporary_bytes"`
	Calibration string          `json:"calibration"`
	Memory      int64           `json:"memory_bytes"`
	Least       int64           `json:"least_memory_bytes"`
	Fits        bool            `json:"fits"`
}

// idleBytes is what the program holds of anonymous memory at the least: its runtime, a store that is open, buffers.
const idleBytes = 24 << 20

// garbageShare is what the garbage collector has not come to, as a part of what is held, as a divisor.
const garbageShare = 4

// project plans, calibrates in a temporary directory of dir, and puts the two together.
func (p *projection) project(ctx context.Context, dir string) (*estimate, error) {
	var err error
	if p.clean, err = cleaner.EstimateClean(ctx, p.counts, p.options); err != nil {
		return nil, err
	}
	c, err := p.calibrate(ctx, dir)
	if err != nil {
		return nil, err
	}
	e := &estimate{
		Notes: p.notes, Nodes: p.counts.Nodes, Edges: p.counts.Sizes.Edges(), Classes: p.counts.Classes,
		Steps: p.clean.Diagonal.Steps, Memory: p.memory, Least: (&resources{}).least(p.clean.LeastBytes),
		Temporary: p.clean.TemporaryBytes,
	}
	adjacency := int64(0)
	if p.load != nil {
		adjacency = p.load.AdjacencyBytes
		e.importStages(p, c)
		e.Store = adjacency + int64(float64(c.storeBytes)*c.scale)
		if !p.counts.Predictions {
			e.Store -= 4 * int64(p.counts.Nodes) * int64(p.counts.Classes) // of the miniature they are there
		}
		e.Temporary = max(e.Temporary, p.load.TemporaryBytes)
	}
	e.Cleaned = adjacency + int64(float64(c.storeBytes+c.cleanBytes)*c.scale)
	for _, work := range p.clean.Stages {
		stage := stageEstimate{
			Command: "clean", Stage: work.Name, Passes: work.Passes,
			Memory: idleBytes + work.MemoryBytes + work.MemoryBytes/garbageShare,
			Read:   work.Read + int64(work.Passes)*adjacency, Written: work.Wrote,
			Seconds: p.clean.Seconds(work, c.rates, p.options),
		}
		if p.clean.Plan.Held && work.Name == "propagate" {
			stage.Read = work.Read + adjacency
		}
		if work.Name == "write" {
			stage.Written = int64(float64(c.cleanBytes) * c.scale)
		}
		e.addStage(stage)
	}
	e.addStage(stageEstimate{Command: "clean", Stage: "open and close", Seconds: c.openings*c.scale + c.fixed, Memory: idleBytes})
	if p.clean.BaseSteps > 0 {
		e.Notes = append(e.Notes, "Upper bound: the base classifier is trained for as many steps as it may be; it often stops earlier.")
	}
	plan := p.clean.Plan
	e.Plan = fmt.Sprintf("%s; width %d, %d tiles, %d stripes, %d workers",
		plan.Strategy, plan.Width, plan.Tiles, plan.Stripes, plan.Workers)
	if plan.Held {
		e.Plan += "; adjacency kept decoded"
	}
	e.Calibration = fmt.Sprintf(
		"%.1f s: a miniature of %d nodes and %d edges (1/%.0f) imported and cleaned; "+
			"gather %.1f ns a row (%.1f in the miniature); disk %.0f MB/s with fsync",
		c.seconds, c.nodes, c.edges, c.scale, c.rates.Gather, c.rates.MiniatureGather, syncBytes/1e6/c.diskSeconds)
	return e, nil
}

// importStages adds those of import.
func (e *estimate) importStages(p *projection, c *calibration) {
	for _, name := range []string{
		"read nodes", "read edges", "ids", "edges", "adjacency", "columns", "import predictions", "commit", "index", "sync",
		"open and close",
	} {
		scale := c.scale
		switch {
		case name == "sync":
			scale = 1 // what was written is on its way to the disk by then
		case !p.counts.Predictions && (name == "import predictions" || name == "commit"):
			continue
		}
		stage := stageEstimate{
			Command: "import", Stage: name, Seconds: c.imported[name] * scale, Memory: idleBytes + p.load.MemoryBytes,
		}
		if name == "open and close" {
			stage.Seconds += c.fixed
		}
		switch name {
		case "adjacency":
			stage.Written = p.load.AdjacencyBytes
		case "read edges", "edges":
			stage.Written = p.load.TemporaryBytes / 2
		case "import predictions":
			stage.Written = 4 * int64(p.counts.Nodes) * int64(p.counts.Classes)
		}
		e.addStage(stage)
	}
}

func (e *estimate) addStage(stage stageEstimate) {
	if e.Passes += stage.Passes; stage.Command == "import" {
		e.Import += stage.Seconds
		e.ImportPeak = max(e.ImportPeak, stage.Memory)
	} else {
		e.Clean += stage.Seconds
		e.CleanPeak = max(e.CleanPeak, stage.Memory)
	}
	e.Stages = append(e.Stages, stage)
}

// print writes the estimate for reading.
func (e *estimate) print(s *streams) error {
	var b strings.Builder
	for _, note := range e.Notes {
		fmt.Fprintln(&b, note)
	}
	if len(e.Stages) > 0 {
		fmt.Fprintf(&b, "%d nodes, %d edges, %d classes\n\n", e.Nodes, e.Edges, e.Classes)
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, "command\tstage\tpasses\tseconds\tmemory\tread\twritten\t")
		for _, stage := range e.Stages {
			fmt.Fprintf(w, "%s\t%s\t%d\t%.2f\t%s\t%s\t%s\t\n", stage.Command, stage.Stage, stage.Passes, stage.Seconds,
				byteSize(stage.Memory), byteSize(stage.Read), byteSize(stage.Written))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(&b, "\nplan         %s\n", e.Plan)
		fmt.Fprintf(&b, "diagonals    %.3g steps\n", e.Steps)
		if e.ImportPeak > 0 {
			fmt.Fprintf(&b, "import       %.1f s, %s of anonymous memory, a store of %s\n",
				e.Import, byteSize(e.ImportPeak), byteSize(e.Store))
		}
		fmt.Fprintf(&b, "clean        %.1f s, %s of anonymous memory, %d passes",
			e.Clean, byteSize(e.CleanPeak), e.Passes)
		if e.ImportPeak > 0 {
			fmt.Fprintf(&b, ", a store of %s", byteSize(e.Cleaned))
		}
		fmt.Fprintf(&b, "\ntemporary    %s on disk\ncalibration  %s\n", byteSize(e.Temporary), e.Calibration)
	}
	verdict := "fits"
	if !e.Fits {
		verdict = "does not fit"
	}
	fmt.Fprintf(&b, "--memory %s: %s; want at least %s\n", strings.ReplaceAll(byteSize(e.Memory).String(), " ", ""), verdict,
		strings.ReplaceAll(byteSize(e.Least).String(), " ", ""))
	_, err := s.out.Write([]byte(b.String()))
	return err
}
