package main

import (
	"context"
	"io"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
)

// adjacencyCommand scans the adjacency on one thread.
type adjacencyCommand struct{ storeFlags }

// An adjacencyReport has what the adjacency takes on disk, before Badger's own overhead, and how fast it is decoded.
type adjacencyReport struct {
	Entries          int64   `json:"entries"` // directed: twice the edges
	Bytes            int64   `json:"bytes"`
	BytesPerEntry    float64 `json:"bytes_per_entry"`
	Seconds          float64 `json:"seconds"`
	EntriesPerSecond float64 `json:"entries_per_second"`
}

func (c *adjacencyCommand) Run(ctx context.Context, out io.Writer) error {
	return c.report(out, func(tx *kv.Tx) (any, error) { return scanAdjacency(ctx, tx) })
}

func scanAdjacency(ctx context.Context, tx *kv.Tx) (*adjacencyReport, error) {
	report := &adjacencyReport{Entries: 2 * tx.Shape().Edges}
	began := time.Now()
	blocks, err := tx.AdjacencyBlocks()
	if err != nil {
		return nil, err
	}
	var lists kv.Adjacency
	for _, block := range blocks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := tx.ReadAdjacency(block, &lists); err != nil {
			return nil, err
		}
		report.Bytes += lists.BytesRead
	}
	report.Seconds = time.Since(began).Seconds()
	if report.Entries > 0 {
		report.BytesPerEntry = float64(report.Bytes) / float64(report.Entries)
		report.EntriesPerSecond = float64(report.Entries) / report.Seconds
	}
	return report, nil
}
