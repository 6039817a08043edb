package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// growthCommand measures graphs of growing size.
type growthCommand struct {
	Binary  string `default:"graphcleaner" type:"path" help:"The graphcleaner to measure."`
	Scales  []int  `default:"16,18,20,22" help:"log2 of the nodes of each graph. At 16 edges a node: 1, 4, 16, 64 M edges; 24: 268 M."`
	Factor  int    `default:"16" help:"Edges a node."`
	Classes int    `default:"8" help:"Number of classes."`
	Memory  string `default:"1GiB" help:"--memory of graphcleaner."`
	Threads int    `default:"2" help:"--threads of graphcleaner."`
	Repeats int    `default:"3" help:"Runs of each size; the table has the medians."`
	Scratch string `type:"path" help:"Directory for the graphs and stores. Without it: the system's. Everything in it that was made is removed."`
	Out     string `default:"growth" type:"path" help:"Writes OUT.csv and OUT.svg."`
}

// A growthRow is one size and one command, or one stage of a command.
type growthRow struct {
	edges                       int64
	nodes                       int
	command, stage              string // a stage of "" is the whole command
	seconds                     float64
	peakAnonymous, peakResident int64 // bytes, of the whole command
}

func (c *growthCommand) Run(ctx context.Context, out io.Writer) error {
	var rows []growthRow
	for _, scale := range c.Scales {
		more, err := c.size(ctx, scale)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
		// Written after every size: a long run that is stopped has shown what it measured.
		if err := errors.Join(writeGrowthTable(c.Out+".csv", rows), plotGrowth(c.Out+".svg", rows)); err != nil {
			return err
		}
	}
	return printJSON(out, map[string]string{"table": c.Out + ".csv", "plot": c.Out + ".svg"})
}

// size generates a graph, imports and cleans it some times, and gives the medians.
func (c *growthCommand) size(ctx context.Context, scale int) (rows []growthRow, err error) {
	dir, err := os.MkdirTemp(c.Scratch, "graphcleaner-growth-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	graph := rmatCommand{
		Scale: scale, Factor: c.Factor, Classes: c.Classes, Seed: 1, Homophily: 0.1, Wrong: 0.05, Accuracy: 0.9,
		Format: "csv", Predictions: "predictions.npy", Out: dir,
	}
	generated, err := graph.generate(ctx)
	if err != nil {
		return nil, err
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	resources := []string{"--memory", c.Memory, "--threads", strconv.Itoa(c.Threads)}
	commands := [][]string{
		{
			"import", file("store"), "--nodes", file("nodes.csv"), "--edges", file("edges.csv"),
			"--predictions", file("predictions.npy"),
		},
		{"clean", file("store")},
	}
	runs := map[[2]string][]growthRow{} // by command and stage
	var order [][2]string
	for range max(1, c.Repeats) {
		if err := os.RemoveAll(file("store")); err != nil {
			return nil, err
		}
		for _, command := range commands {
			line := slices.Concat([]string{c.Binary}, command, []string{"--stats", file("stats.json")}, resources)
			m, err := measure(ctx, line, 0, 20*time.Millisecond, io.Discard)
			if err != nil {
				return nil, err
			}
			if m.ExitCode != 0 {
				return nil, fmt.Errorf("%v ended with exit code %d", line, m.ExitCode)
			}
			stages, err := readStages(file("stats.json"))
			if err != nil {
				return nil, err
			}
			stages = append([]stageSeconds{{Seconds: m.Seconds}}, stages...)
			for _, stage := range stages {
				key := [2]string{command[0], stage.Name}
				if runs[key] == nil {
					order = append(order, key)
				}
				runs[key] = append(runs[key], growthRow{
					edges: generated.Edges, nodes: generated.Nodes, command: command[0], stage: stage.Name,
					seconds: stage.Seconds, peakAnonymous: m.PeakAnonymousBytes, peakResident: m.PeakResidentBytes,
				})
			}
		}
	}
	for _, key := range order {
		rows = append(rows, medianRow(runs[key]))
	}
	return rows, nil
}

// medianRow has the median of the seconds, and the greatest of the peaks.
func medianRow(runs []growthRow) growthRow {
	row := runs[0]
	seconds := make([]float64, len(runs))
	for i, run := range runs {
		seconds[i] = run.seconds
		row.peakAnonymous = max(row.peakAnonymous, run.peakAnonymous)
		row.peakResident = max(row.peakResident, run.peakResident)
	}
	row.seconds = median(seconds)
	return row
}

// median is the middle value, or the mean of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// stageSeconds is the part of a stage of --stats that is summed.
type stageSeconds struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// readStages sums the seconds of the stages of each name, in the order of their first.
func readStages(path string) ([]stageSeconds, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var stats struct {
		Stages []stageSeconds `json:"stages"`
	}
	if err := json.Unmarshal(text, &stats); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var sums []stageSeconds
	for _, stage := range stats.Stages {
		i := slices.IndexFunc(sums, func(s stageSeconds) bool { return s.Name == stage.Name })
		if i < 0 {
			sums = append(sums, stage)
		} else {
			sums[i].Seconds += stage.Seconds
		}
	}
	return sums, nil
}

func writeGrowthTable(path string, rows []growthRow) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := csv.NewWriter(file)
	records := [][]string{{
		"edges", "nodes", "command", "stage", "seconds", "ns_per_edge", "peak_anonymous_bytes", "peak_resident_bytes",
	}}
	for _, row := range rows {
		records = append(records, []string{
			strconv.FormatInt(row.edges, 10), strconv.Itoa(row.nodes), row.command, cmp.Or(row.stage, "all"),
			strconv.FormatFloat(row.seconds, 'f', 4, 64), strconv.FormatFloat(1e9*row.seconds/float64(row.edges), 'f', 2, 64),
			strconv.FormatInt(row.peakAnonymous, 10), strconv.FormatInt(row.peakResident, 10),
		})
	}
	return w.WriteAll(records)
}
