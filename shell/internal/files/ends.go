package files

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/stream"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// An idSet has the ids of nodes and those of the ends of edges, on disk where they are many.
type idSet struct {
	mu     sync.Mutex
	sorter *spill.Sorter // id → what it is of
}

// What a record of an idSet is of.
var ofNode, ofLabelled, ofEdge = []byte{0}, []byte{1}, []byte{2}

func (s *idSet) add(id string, of []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sorter.Add([]byte(id), of)
}

// Add takes the ends of an edge.
func (s *idSet) Add(src, dst string, _ int64) error {
	if err := s.add(src, ofEdge); err != nil {
		return err
	}
	return s.add(dst, ofEdge)
}

// AddWeighted takes the ends of an edge.
func (s *idSet) AddWeighted(src, dst string, _ float32, source int64) error {
	return s.Add(src, dst, source)
}

// addEnds adds the ends of edges that ids does not have among the nodes, as nodes without a label, ascending by the
// bytes of their ids. It reads the edges once more.
func (g *Graph) addEnds(ctx context.Context, ids *idSet, nodes *nodesFile, add func(kv.Node) error, r Job) error {
	return r.Timed("ends of edges", func(stage *ops.Stage) (err error) {
		quiet := r
		quiet.Notice, quiet.OnStage = nil, nil
		edges, err := openEdges(ctx, g.Edges, nodes, quiet)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, edges.close()) }()
		takers := make([]edgeTaker, r.goroutines())
		for worker := range takers {
			takers[worker] = ids
		}
		if stage.Edges, err = edges.read(ctx, takers, quiet); err != nil {
			return err
		}
		stage.BytesRead = edges.offset()
		var added int64            // ends that are not among the nodes
		var nodes, joined [2]int64 // those without and with a label, and how many of them have an edge
		last, first := "", ""
		of := ofEdge[0]
		numbers, ends := noNumbers, noNumbers // among the ids of nodes, and among the ends of edges
		isPlain := true                       // all are
		for record, err := range ids.sorter.Records(ctx) {
			if err != nil {
				return err
			}
			// Those of nodes were added first, and come first among equals.
			id := string(record.Key)
			switch isAgain := id == last && id != ""; {
			case isAgain && of != ofEdge[0]:
				joined[of]++
				of = ofEdge[0] // it is counted once
				ends.see(id)
				continue
			case isAgain:
				continue
			}
			isPlain = isPlain && plainID(id) == id
			if last, of = id, record.Value[0]; of != ofEdge[0] {
				nodes[of]++
				numbers.see(id)
				continue
			}
			ends.see(id)
			if err := add(kv.Node{ID: id}); err != nil {
				return err
			}
			if added++; added == 1 {
				first = id
			}
		}
		if added == 0 {
			return nil
		}
		g.ends = int(added)
		known := joined[0] + joined[1]
		r.say("%s: %d of %s, which %s lacks, became nodes without a label", g.Edges, added,
			wording.Count(known+added, "end of edges", "ends of edges"), g.Nodes)
		have, all, what := joined[1], nodes[1], "labelled nodes"
		if all == 0 {
			have, all, what = known, nodes[0], "nodes"
		}
		rows, _ := edges.(*edgesTable)
		mayBeTriples := rows != nil && rows.weight < 0 && len(rows.in.Header()) > 2
		if isPlain && 2*have >= all && !ends.areShifted(numbers) && !mayBeTriples {
			return nil // all is well, and a hint, which takes the nodes once more, is not worth it
		}
		hint, err := g.endsHint(ctx, first, r)
		switch {
		case err != nil:
			return err
		case hint != "":
			r.warn("%s has an edge of node %q: %s", g.Edges, wording.Short(first), hint)
		case 2*have < all:
			r.warn("Only %d of the %d %s of %s have an edge: its first id is %q, and %s has %q. Are ids written in "+
				"the same way?",
				have, all, what, g.Nodes, wording.Short(g.firstID), g.Edges, wording.Short(first))
		}
		return nil
	})
}

// A span is from the least to the greatest of some integers.
type span struct{ least, greatest int64 }

var noNumbers = span{math.MaxInt64, math.MinInt64}

// see takes an id, if it is an integer.
func (s *span) see(id string) {
	if number, err := strconv.ParseInt(id, 10, 64); err == nil {
		s.least, s.greatest = min(s.least, number), max(s.greatest, number)
	}
}

// areShifted reports whether ends may be the ids of nodes that are counted from 1 instead of 0, or from 0 instead of 1.
func (s span) areShifted(nodes span) bool {
	return s.least > nodes.least && s.greatest == nodes.greatest+1 ||
		s.least == nodes.least-1 && s.greatest < nodes.greatest
}

// checkTwice returns an error if a file of edges cannot be read twice.
func (g *Graph) checkTwice(ctx context.Context) error {
	for _, path := range g.Edges {
		if info, err := stream.Stat(ctx, path); path == stream.Input ||
			err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return &table.Error{Path: path, Msg: "got a pipe or a device, which cannot be read twice, as " +
				"--edge-nodes does: want a file"}
		}
	}
	return nil
}
