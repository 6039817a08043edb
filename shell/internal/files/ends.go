package files

import (
	"context"
	"errors"
	"fmt"
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
var ofNode, ofEdge = []byte{0}, []byte{1}

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
func (g *Graph) addEnds(ctx context.Context, ids *idSet, add func(kv.Node) error, r Job) error {
	return r.Timed("ends of edges", func(stage *ops.Stage) (err error) {
		quiet := r
		quiet.Notice, quiet.OnStage = nil, nil
		edges, err := openEdges(ctx, g.Edges, quiet)
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
		var known, added int
		last := ""
		for record, err := range ids.sorter.Records(ctx) {
			if err != nil {
				return err
			}
			// Those of nodes were added first, and come first among equals.
			id := string(record.Key)
			if id == last && id != "" {
				continue
			}
			if last = id; record.Value[0] == ofNode[0] {
				known++
				continue
			}
			if err := add(kv.Node{ID: id}); err != nil {
				return err
			}
			added++
		}
		g.ends = added
		if added > 0 {
			r.say("%s: %d ends of edges, which %s with its %s lacks, became nodes without a label", g.Edges, added, g.Nodes,
				wording.Nodes(int64(known)))
		}
		return nil
	})
}

// adviseEnds is explain, which also says what to do about the end of an edge that is no node.
func (g *Graph) adviseEnds(err error) error {
	unknown, ok := errors.AsType[*kv.RowError](err)
	if err = g.places.explain(err, "ids that "+g.Nodes+" has"); !ok || !unknown.Edge {
		return err
	}
	advice := "--edge-nodes makes such ids nodes without a label"
	if IsArray(g.Edges) {
		advice = "the numbers of an array are ids, and not positions of rows as in edge_index of PyG. If they are positions, " + saveIDs
	}
	return fmt.Errorf("%w; %s", err, advice)
}

// checkTwice returns an error if a file of edges cannot be read twice.
func (g *Graph) checkTwice(ctx context.Context) error {
	path := g.Edges
	if info, err := stream.Stat(ctx, path); path == stream.Input || err == nil && !info.Mode().IsRegular() &&
		!info.IsDir() {
		return &table.Error{Path: path, Msg: "got a pipe or a device, which cannot be read twice, as --edge-nodes does: want a file"}
	}
	return nil
}
