package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/npy"
)

// The size of a miniature at most, so that it takes a second or two.
const (
	miniatureEdges  = 400_000
	miniatureNodes  = 50_000
	miniatureValues = 1_500_000 // of predictions

	// syncBytes is what the speed of the disk is measured with.
	syncBytes = 64 << 20
)

// A calibration is what this machine did with a miniature of a graph: its numbers of nodes and edges, and the memory, are
// those of the graph by scale.
type calibration struct {
	scale        float64
	nodes, edges int64
	imported     map[string]float64 // seconds, by stage
	openings     float64            // of a clean, seconds that are in no stage, but for those of opening and closing
	fixed        float64            // seconds of opening and closing a store
	rates        cleaner.Rates
	diskSeconds  float64 // of writing syncBytes
	storeBytes   int64   // after import and clean, but for the adjacency
	cleanBytes   int64   // what clean added
	seconds      float64 // of all this
}

// calibrate imports and cleans a miniature of the graph of c, in a temporary directory of dir.
func (p *projection) calibrate(ctx context.Context, dir string) (c *calibration, err error) {
	began := time.Now()
	c = &calibration{imported: map[string]float64{}}
	c.rates.Seconds = map[string]float64{}
	counts := p.counts
	edges, hops := float64(miniatureEdges), p.options.Hops
	for ; hops > 3; hops-- {
		edges /= 4 // closed walks grow faster than the graph
	}
	c.scale = max(1, float64(counts.Sizes.Edges())/edges, float64(counts.Nodes)/miniatureNodes,
		float64(counts.Nodes)*float64(counts.Classes)/miniatureValues)
	if dir, err = os.MkdirTemp(dir, "graphcleaner-estimate-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	files, err := p.writeMiniature(dir, c)
	if err != nil {
		return nil, err
	}
	stages := new(stageLog)
	quiet := &streams{in: p.s.in, out: io.Discard, err: io.Discard, program: p.s.program, progress: &progress{}}
	db := filepath.Join(dir, "miniature")
	start := time.Now()
	stats, err := files.load(ctx, db, int64(float64(p.memory)/c.scale), reading{s: quiet, stages: stages, workers: p.options.Workers})
	if err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	c.nodes, c.edges = stats.Nodes, stats.Edges
	rest := time.Since(start).Seconds()
	for _, stage := range stages.stages {
		c.imported[stage.Name] += stage.Seconds
		rest -= stage.Seconds
	}
	if c.fixed, err = p.openAndClose(db); err != nil {
		return nil, err
	}
	c.imported["open and close"] = max(0, rest-c.fixed)
	before, err := diskBytes(db)
	if err != nil {
		return nil, err
	}
	if err := p.cleanMiniature(ctx, db, c); err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	after, err := diskBytes(db)
	if err != nil {
		return nil, err
	}
	c.storeBytes, c.cleanBytes = c.storeBytes+before, after-before
	if c.diskSeconds, err = measureDisk(dir); err != nil {
		return nil, err
	}
	c.seconds = time.Since(began).Seconds()
	return c, nil
}

// openAndClose is the seconds that this takes of a store, large or small.
func (p *projection) openAndClose(db string) (seconds float64, err error) {
	began := time.Now()
	err = withStore(db, kv.Options{MemoryBudget: p.storeMemory}, func(*kv.Store) error { return nil })
	return time.Since(began).Seconds(), err
}

// cleanMiniature cleans the miniature and measures what depends on the size of the whole.
func (p *projection) cleanMiniature(ctx context.Context, db string, c *calibration) error {
	start := time.Now()
	stages := new(stageLog)
	opt := p.clean.InTiles(p.options)
	opt.OnStage, opt.Progress, opt.Notice = stages.add, nil, nil
	opt.Direction = kv.Both
	err := withStore(db, kv.Options{MemoryBudget: p.storeMemory}, func(store *kv.Store) error {
		if _, err := cleaner.Clean(ctx, store, opt); err != nil {
			return err
		}
		c.openings = time.Since(start).Seconds()
		return store.View(func(tx *kv.Tx) error {
			counts, err := cleaner.CountStore(ctx, tx, opt)
			if err == nil {
				c.rates.Estimate, err = cleaner.EstimateClean(ctx, counts, opt)
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	for _, stage := range stages.stages {
		c.rates.Seconds[cleaner.StageName(stage)] += stage.Seconds
		c.openings -= stage.Seconds
		if stage.Name == "degrees" {
			c.storeBytes = -stage.BytesRead
		}
	}
	c.openings = max(0, c.openings-c.fixed)
	mini := c.rates.Estimate
	if c.rates.MiniatureGather, err = mini.Plan.MeasureGather(ctx, mini.Counts.Degrees); err != nil {
		return err
	}
	if c.rates.Gather, err = p.clean.Plan.MeasureGather(ctx, p.counts.Degrees); err != nil {
		return err
	}
	if p.clean.BaseSteps > 0 {
		if c.rates.BaseGather, err = p.clean.BasePlan.MeasureGather(ctx, p.counts.Degrees); err != nil {
			return err
		}
		c.rates.Step, c.rates.Predict, err = cleaner.MeasureTraining(ctx, p.clean.BaseWidth, p.counts.Classes)
	}
	return err
}

// writeMiniature writes the files of a graph whose edges are drawn by the degrees of the whole.
func (p *projection) writeMiniature(dir string, c *calibration) (files *graphFiles, err error) {
	files = &graphFiles{
		Nodes: filepath.Join(dir, "nodes.csv"), Edges: filepath.Join(dir, "edges.csv"), Predictions: filepath.Join(dir, "p.npy"),
	}
	counts := p.counts
	nodes, classes := max(int(float64(counts.Nodes)/c.scale), 64), max(counts.Classes, 2)
	random := rand.New(rand.NewPCG(1, 1))
	order := random.Perm(nodes)
	id := func(v int) string {
		if p.textIDs {
			return "node-" + strconv.Itoa(order[v])
		}
		return strconv.Itoa(order[v])
	}
	ends, total := make([]uint64, len(counts.Degrees)), uint64(0)
	for i, d := range counts.Degrees {
		total += uint64(d)
		ends[i] = total
	}
	draw := func() string {
		at, _ := slices.BinarySearch(ends, random.Uint64N(max(total, 1))+1)
		return id(int(float64(at) / float64(max(counts.Nodes, len(ends))) * float64(nodes)))
	}
	err = writeLines(files.Nodes, func(out *bufio.Writer) {
		fmt.Fprintln(out, "id,label")
		for v := range nodes {
			fmt.Fprintf(out, "%s,%d\n", id(v), v%classes)
		}
	})
	if err != nil {
		return nil, err
	}
	rows := int(float64(p.rows) / c.scale)
	err = writeLines(files.Edges, func(out *bufio.Writer) {
		fmt.Fprintln(out, "src,dst")
		for range rows {
			out.WriteString(draw())
			out.WriteByte(',')
			out.WriteString(draw())
			out.WriteByte('\n')
		}
	})
	if err != nil {
		return nil, err
	}
	return files, writeFile(files.Predictions, io.Discard, func(out *outFile) error {
		w, err := npy.NewWriter(out, nodes, classes)
		row := make([]float32, classes)
		for v := 0; v < nodes && err == nil; v++ {
			for j := range row {
				row[j] = 0.3 / float32(classes)
			}
			row[(v+random.IntN(10)/9)%classes] += 0.7 // one in ten has another class first
			err = w.Write(row)
		}
		return firstError(err, w.Close())
	})
}

func writeLines(path string, write func(out *bufio.Writer)) error {
	return writeFile(path, io.Discard, func(out *outFile) error {
		write(out.Writer)
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
