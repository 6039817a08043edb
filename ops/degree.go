package ops

import (
	"context"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Degrees returns the degree of every node [n], by NodeID: the length of its list.
func Degrees(ctx context.Context, g Graph, opt Options) ([]uint32, error) {
	opt = opt.withDefaults()
	w, err := newWalker(g, opt.Workers)
	if err != nil {
		return nil, err
	}
	s, err := w.survey(ctx, opt)
	if err != nil {
		return nil, err
	}
	return s.degrees, nil
}

// Measure walks the adjacency for its Sizes.
func Measure(ctx context.Context, g Graph, opt Options) (*Sizes, error) {
	opt = opt.withDefaults()
	w, err := newWalker(g, opt.Workers)
	if err != nil {
		return nil, err
	}
	s, err := w.survey(ctx, opt)
	if err != nil {
		return nil, err
	}
	return &s.Sizes, nil
}

// Sizes tell how much memory the operators need on a graph.
type Sizes struct {
	nodes   int
	entries int64 // directed: twice the edges
	// The largest block, from which the workers' buffers follow.
	maxRows, maxEntries int
	maxDegree           uint32
	ranked              bool // nodes are in descending order of degree
	weighted, directed  bool
}

// A survey is what one walk over the adjacency tells.
type survey struct {
	Sizes
	degrees    []uint32
	*strengths // nil of a simple graph
}

// bufferBytes bounds what one worker's kv.Adjacency holds, for each list that a node has.
func (s *Sizes) bufferBytes() int64 {
	entry := int64(4)
	if !s.isSimple() {
		entry = s.entryBytes() + 8 // the arcs that an Oriented reads
	}
	return s.sides() * (entry*int64(s.maxEntries) + 8*int64(s.maxRows+1))
}

func (w *walker) survey(ctx context.Context, opt Options) (*survey, error) {
	if !w.isSimple() {
		return w.surveyArcs(ctx, opt)
	}
	start := time.Now()
	s := &survey{Sizes: Sizes{nodes: w.nodes}, degrees: make([]uint32, w.nodes)}
	progress := meter{progress: opt.Progress, stage: "degrees", total: int64(w.nodes)}
	parts := make([]struct {
		entries             int64
		maxRows, maxEntries int
		_                   [40]byte // a cache line a worker
	}, len(w.bufs))
	err := w.walk(ctx, func(_ context.Context, worker int, adj *kv.Adjacency) error {
		p := &parts[worker]
		rows := int(adj.End - adj.First)
		for i := range rows {
			s.degrees[int(adj.First)+i] = uint32(adj.Offsets[i+1] - adj.Offsets[i])
		}
		p.entries += int64(len(adj.Neighbors))
		p.maxRows = max(p.maxRows, rows)
		p.maxEntries = max(p.maxEntries, len(adj.Neighbors))
		progress.add(rows)
		return nil
	})
	if err != nil {
		return nil, err
	}
	stage := kv.Stage{Name: "degrees", Seconds: time.Since(start).Seconds(), BytesRead: w.bytes.Swap(0)}
	for _, p := range parts {
		s.entries += p.entries
		s.maxRows = max(s.maxRows, p.maxRows)
		s.maxEntries = max(s.maxEntries, p.maxEntries)
	}
	for _, degree := range s.degrees {
		s.maxDegree = max(s.maxDegree, degree)
	}
	s.ranked = isRanked(s.degrees)
	if opt.OnStage != nil {
		stage.Edges = s.entries / 2
		opt.OnStage(stage)
	}
	return s, nil
}
