package shell

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
	"github.com/graphcleaner/graphcleaner/shell/npy"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// The size of the larger miniature at most, so that it takes a second or two.
const (
	miniatureEdges  = 400_000
	miniatureNodes  = 50_000
	miniatureValues = 1_500_000 // of predictions and features

	// miniatureShare is how much smaller the smaller one is, as a divisor.
	miniatureShare = 4

	// syncBytes is what the speed of the disk is measured with.
	syncBytes = 64 << 20

	// openAndClose names what is in no stage of a command.
	openAndClose = "open and close"
)

// A miniature is a graph like that of an estimate, of which it has a part, and what importing and cleaning it took.
type miniature struct {
	part         float64 // of nodes, edges, and memory
	nodes, edges int64
	stages       []string           // of the import, in order
	imported     map[string]float64 // seconds, by stage
	clean        cleaner.Miniature
	cleanRest    float64 // seconds that are in no stage
	storeBytes   int64   // after the import, but for the adjacency
	cleanBytes   int64   // what came on top of it
	importVolume int64   // allocatedBytes
	cleanVolume  int64
}

// A calibration is what this machine did with two miniatures of a graph.
type calibration struct {
	small, large *miniature
	rates        cleaner.Rates
	diskSeconds  float64 // of writing syncBytes
	seconds      float64 // of all this
}

func (c *calibration) String() string {
	return fmt.Sprintf(
		"%.1f s: two miniatures, the larger of %d nodes and %d edges (1/%.0f), imported and cleaned; "+
			"gather %.1f ns a row (%.1f in the miniature); disk %.0f MB/s with fsync",
		c.seconds, c.large.nodes, c.large.edges, 1/c.large.part, c.rates.Gather, c.rates.LargeGather, syncBytes/1e6/c.diskSeconds)
}

// at is a measure of the whole, on the line through those of the miniatures.
func (c *calibration) at(measure func(*miniature) float64) float64 {
	return max(0, cleaner.Line(c.small.part, measure(c.small), c.large.part, measure(c.large), 1))
}

// calibrate imports and cleans miniatures in a temporary directory of dir.
func (p *projection) calibrate(ctx context.Context, dir string) (c *calibration, err error) {
	began := time.Now()
	if dir, err = os.MkdirTemp(dir, "graphcleaner-estimate-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c = &calibration{}
	part := p.miniaturePart()
	// What is done for the first time takes longer, and others on the machine make it longer still: it is done twice.
	for range 2 {
		small, err := p.runMiniature(ctx, dir, part/miniatureShare)
		if err != nil {
			return nil, fmt.Errorf("calibration: %w", err)
		}
		large, err := p.runMiniature(ctx, dir, part)
		if err != nil {
			return nil, fmt.Errorf("calibration: %w", err)
		}
		c.small, c.large = small.fastest(c.small), large.fastest(c.large)
	}
	if err := p.measureRates(ctx, c); err != nil {
		return nil, err
	}
	if c.diskSeconds, err = measureDisk(dir); err != nil {
		return nil, err
	}
	c.seconds = time.Since(began).Seconds()
	return c, nil
}

// miniaturePart is how much of the graph the larger miniature has, at most all.
func (p *projection) miniaturePart() float64 {
	edges := float64(miniatureEdges)
	for hops := p.options.Hops; hops > 3; hops-- {
		edges /= 4 // closed walks grow faster than the graph
	}
	width := p.counts.Classes
	if p.load != nil {
		width += p.files.features.columns
	}
	nodes := float64(p.counts.Nodes)
	return min(1, edges/float64(max(p.counts.Sizes.Edges(), 1)), miniatureNodes/nodes, miniatureValues/(nodes*float64(width)))
}

// fastest takes the times of another miniature of the same size, nil for none, where they are less.
func (m *miniature) fastest(other *miniature) *miniature {
	if other == nil {
		return m
	}
	for stage := range m.imported {
		m.imported[stage] = min(m.imported[stage], other.imported[stage])
	}
	for stage := range m.clean.Seconds {
		m.clean.Seconds[stage] = min(m.clean.Seconds[stage], other.clean.Seconds[stage])
	}
	m.cleanRest = min(m.cleanRest, other.cleanRest)
	return m
}

// runMiniature imports and cleans a part of the graph in a directory, and leaves nothing.
func (p *projection) runMiniature(ctx context.Context, dir string, part float64) (m *miniature, err error) {
	m = &miniature{part: part, imported: map[string]float64{}, clean: cleaner.Miniature{Seconds: map[string]float64{}}}
	files, err := p.writeMiniature(dir, part)
	if err != nil {
		return nil, err
	}
	db := filepath.Join(dir, "miniature")
	defer func() { err = errors.Join(err, os.RemoveAll(db)) }()
	predictions := files.Predictions
	if p.files.predictions.columns == 0 {
		files.Predictions = ""
	}
	if err := p.importMiniature(ctx, files, db, m); err != nil {
		return nil, err
	}
	if m.storeBytes, err = query.DiskBytes(db); err != nil {
		return nil, err
	}
	if files.Predictions == "" {
		files = &graphFiles{predictionFile: predictionFile{Predictions: predictions}}
		err := withStore(db, kv.Options{MemoryBudget: p.resources.store()}, func(store *kv.Store) error {
			_, err := files.add(ctx, store, reading{
				s: p.quiet(), stages: new(stageLog), workers: p.options.Workers, memory: int64(p.resources.Memory),
			})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	adjacency, err := p.cleanMiniature(ctx, db, m)
	if err != nil {
		return nil, err
	}
	after, err := query.DiskBytes(db)
	m.cleanBytes = after - m.storeBytes
	m.storeBytes -= adjacency
	return m, err
}

// quiet are streams on which nothing is said.
func (p *projection) quiet() *streams {
	return &streams{in: p.s.in, out: io.Discard, err: io.Discard, program: p.s.program, progress: &progress{}}
}

func (p *projection) importMiniature(ctx context.Context, files *graphFiles, db string, m *miniature) error {
	stages, memory := new(stageLog), int64(float64(p.resources.Memory)*m.part)
	began, allocated := time.Now(), allocatedBytes()
	stats, err := files.load(ctx, db, memory, reading{s: p.quiet(), stages: stages, workers: p.options.Workers, memory: memory})
	if err != nil {
		return err
	}
	rest := time.Since(began).Seconds()
	m.importVolume = allocatedBytes() - allocated
	m.nodes, m.edges = stats.Nodes, stats.Edges
	for _, stage := range stages.stages {
		if _, there := m.imported[stage.Name]; !there {
			m.stages = append(m.stages, stage.Name)
		}
		m.imported[stage.Name] += stage.Seconds
		rest -= stage.Seconds
	}
	m.stages = append(m.stages, openAndClose)
	m.imported[openAndClose] = max(0, rest)
	return nil
}

// cleanMiniature returns the bytes of its adjacency.
func (p *projection) cleanMiniature(ctx context.Context, db string, m *miniature) (adjacency int64, err error) {
	stages := new(stageLog)
	opt := p.clean.InTiles(p.options)
	opt.OnStage, opt.Progress, opt.Notice = stages.add, nil, nil
	began, allocated := time.Now(), allocatedBytes()
	err = withStore(db, kv.Options{MemoryBudget: p.resources.store()}, func(store *kv.Store) error {
		_, err := cleaner.Clean(ctx, store, opt)
		return err
	})
	if err != nil {
		return 0, err
	}
	m.cleanRest = time.Since(began).Seconds()
	m.cleanVolume = allocatedBytes() - allocated
	err = withStoreToRead(db, p.resources.store(), func(store *kv.Store) error {
		return store.View(func(tx *kv.Tx) error {
			opt.OnStage = nil
			counts, err := cleaner.CountStore(ctx, tx, opt)
			if err == nil {
				m.clean.Estimate, err = cleaner.EstimateClean(ctx, counts, opt)
			}
			return err
		})
	})
	for _, stage := range stages.stages {
		m.clean.Seconds[cleaner.StageName(stage)] += stage.Seconds
		m.cleanRest -= stage.Seconds
		if stage.Name == "degrees" {
			adjacency = max(adjacency, stage.BytesRead)
		}
	}
	m.cleanRest = max(0, m.cleanRest)
	return adjacency, err
}

// measureRates measures what depends on the size of the whole.
func (p *projection) measureRates(ctx context.Context, c *calibration) (err error) {
	r := &c.rates
	r.Small, r.Large = &c.small.clean, &c.large.clean
	large := r.Large.Estimate
	if r.LargeGather, err = large.Plan.MeasureGather(ctx, large.Counts.Degrees); err != nil {
		return err
	}
	if r.Gather, err = p.clean.Plan.MeasureGather(ctx, p.counts.Degrees); err != nil {
		return err
	}
	if p.clean.BaseSteps > 0 {
		if r.BaseGather, err = p.clean.BasePlan.MeasureGather(ctx, p.counts.Degrees); err != nil {
			return err
		}
		r.Step, r.Predict, err = cleaner.MeasureTraining(ctx, p.clean.BaseWidth, p.counts.Classes)
	}
	return err
}

// allocatedBytes is what this process has allocated on the heap since it began in objects of at most 32 KiB. Larger ones are
// buffers, which are kept, and tables of a store.
func allocatedBytes() (total int64) {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs-by-size:bytes"}}
	metrics.Read(sample)
	sizes := sample[0].Value.Float64Histogram()
	for i, count := range sizes.Counts[:len(sizes.Counts)-1] {
		total += int64(count) * int64(sizes.Buckets[i+1]-1)
	}
	return total
}

// A miniatureWriter writes the files of a miniature.
type miniatureWriter struct {
	*projection
	nodes, classes int
	used           int   // classes that nodes are given: several nodes each
	order          []int // ids, by descending degree
	random         *rand.Rand
}

// classNodes is how many nodes of a miniature are given a class at least.
const classNodes = 16

func (w *miniatureWriter) id(v int) string {
	if w.textIDs {
		return "node-" + strconv.Itoa(w.order[v])
	}
	return strconv.Itoa(w.order[v])
}

// writeMiniature writes the files of a graph whose edges are drawn by the degrees of the whole.
func (p *projection) writeMiniature(dir string, part float64) (files *graphFiles, err error) {
	random := rand.New(rand.NewPCG(1, 1))
	w := &miniatureWriter{
		projection: p, nodes: max(int(float64(p.counts.Nodes)*part), 64), classes: max(p.counts.Classes, 2), random: random,
	}
	w.order, w.used = random.Perm(w.nodes), min(w.classes, w.nodes/classNodes)
	files = &graphFiles{
		inputFiles: inputFiles{
			Nodes: filepath.Join(dir, "nodes.csv"), Edges: filepath.Join(dir, "edges.csv"), Directed: p.files.directed,
		},
		predictionFile: predictionFile{predictionEncoding: p.files.encoding},
	}
	for k := range w.classes {
		files.Classes = append(files.Classes, strconv.Itoa(k)) // also those that no node is given
	}
	if err := w.writeNodes(files.Nodes); err != nil {
		return nil, err
	}
	if err := w.writeEdges(files.Edges, int(float64(p.files.rows)*part)); err != nil {
		return nil, err
	}
	if p.files.splits != nil && !p.files.splitsOfNodes {
		files.Splits = filepath.Join(dir, "splits.csv")
		err := writeLines(files.Splits, func(out *bufio.Writer) {
			fmt.Fprintln(out, "id,split")
			for v := range w.nodes {
				fmt.Fprintf(out, "%s,%s\n", w.id(v), w.split())
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if p.load != nil && p.files.features.columns > 0 {
		files.Features, err = w.writeMatrix(filepath.Join(dir, "features"), p.files.features, func(_ int, row []float32) {
			for j := range row {
				if row[j] = 0; random.Float64() < p.files.features.filled {
					row[j] = 1
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	shape := p.files.predictions
	shape.columns = w.classes
	files.Predictions, err = w.writeMatrix(filepath.Join(dir, "predictions"), shape, func(v int, row []float32) {
		for j := range row {
			row[j] = 0.3 / float32(w.classes)
		}
		row[(v+random.IntN(10)/9)%w.used] += 0.7 // one in ten has another class first
	})
	return files, err
}

func (w *miniatureWriter) writeNodes(path string) error {
	return writeLines(path, func(out *bufio.Writer) {
		splits := ""
		if w.files.splitsOfNodes {
			splits = ",split"
		}
		fmt.Fprintln(out, "id,label"+splits)
		for v := range w.nodes {
			if splits != "" {
				splits = "," + w.split()
			}
			fmt.Fprintf(out, "%s,%d%s\n", w.id(v), v%w.used, splits)
		}
	})
}

// split draws one as often as the whole has it.
func (w *miniatureWriter) split() string {
	total := int64(0)
	for _, count := range w.files.splits {
		total += count
	}
	at := w.random.Int64N(max(total, 1))
	for split, count := range w.files.splits {
		if at -= count; at < 0 {
			return cleaner.Split(split).String()
		}
	}
	return cleaner.SplitNone.String()
}

func (w *miniatureWriter) writeEdges(path string, rows int) error {
	ends, total := make([]uint64, len(w.counts.Degrees)), uint64(0)
	for i, d := range w.counts.Degrees {
		total += uint64(d)
		ends[i] = total
	}
	draw := func() string {
		at, _ := slices.BinarySearch(ends, w.random.Uint64N(max(total, 1))+1)
		return w.id(min(int(float64(at)/float64(max(w.counts.Nodes, len(ends)))*float64(w.nodes)), w.nodes-1))
	}
	return writeLines(path, func(out *bufio.Writer) {
		header, weight := "src,dst", func() string { return "" }
		if weights := w.files.weights; weights > 0 {
			header += ",weight"
			weight = func() string { return "," + strconv.Itoa(1+w.random.IntN(weights)) }
		}
		fmt.Fprintln(out, header)
		for range rows {
			fmt.Fprintf(out, "%s,%s%s\n", draw(), draw(), weight())
		}
	})
}

// writeMatrix writes rows in the kind of file that the whole has, and returns its path.
func (w *miniatureWriter) writeMatrix(path string, shape fileShape, fill func(v int, row []float32)) (string, error) {
	row := make([]float32, shape.columns)
	if !shape.table {
		path += ".npy"
		return path, atomic.WriteFile(context.Background(), path, newFileMode, func(file *bufio.Writer) error {
			out, err := npy.NewWriter(file, w.nodes, shape.columns)
			for v := 0; v < w.nodes && err == nil; v++ {
				fill(v, row)
				err = out.Write(row)
			}
			return cmp.Or(err, out.Close())
		})
	}
	path += ".csv"
	return path, writeLines(path, func(out *bufio.Writer) {
		out.WriteString("id")
		for j := range row {
			fmt.Fprintf(out, ",%d", j)
		}
		for v := range w.nodes {
			fill(v, row)
			var line strings.Builder
			line.WriteString("\n" + w.id(v))
			for _, x := range row {
				line.WriteString("," + strconv.FormatFloat(float64(x), 'g', 6, 32))
			}
			out.WriteString(line.String())
		}
		out.WriteByte('\n')
	})
}

func writeLines(path string, write func(out *bufio.Writer)) error {
	return atomic.WriteFile(context.Background(), path, newFileMode, func(out *bufio.Writer) error {
		write(out)
		return nil // Flush has the error
	})
}

// measureDisk is the seconds in which syncBytes are on disk.
func measureDisk(dir string) (seconds float64, err error) {
	f, err := os.CreateTemp(dir, "sync-*")
	if err != nil {
		return 0, err
	}
	block := make([]byte, 1<<20)
	began := time.Now()
	for range syncBytes / len(block) {
		if _, err := f.Write(block); err != nil {
			return 0, errors.Join(err, f.Close())
		}
	}
	err = f.Sync()
	return time.Since(began).Seconds(), errors.Join(err, f.Close())
}
