package ops

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Degrees returns the degree of every node [n], by NodeID: the length of its list.
func Degrees(ctx context.Context, g Graph, opt Options) ([]uint32, error) {
	s, err := surveyAlone(ctx, g, opt)
	if err != nil {
		return nil, err
	}
	if _, shared := g.(*Series); shared {
		return slices.Clone(s.degrees), nil
	}
	return s.degrees, nil
}

// Measure walks the adjacency for its Sizes.
func Measure(ctx context.Context, g Graph, opt Options) (*Sizes, error) {
	s, err := surveyAlone(ctx, g, opt)
	if err != nil {
		return nil, err
	}
	return &s.Sizes, nil
}

// Sizes tell how much memory the operators need on a graph.
type Sizes struct {
	Nodes   int
	Linked  int   // from this node on, none has neighbours or is one; at least 1, if there are nodes
	Entries int64 // twice the edges
	// The largest block, from which the workers' buffers follow.
	MaxRows, MaxEntries int
	MaxDegree           uint32
	Ranked              bool // nodes are in descending order of degree, and without weights
	Weighted            bool
}

// A survey has the results of one walk over the adjacency.
type survey struct {
	Sizes
	degrees   []uint32
	strengths []float64 // sums of the rows of A [n]; nil of a graph without weights, where they are the degrees
}

// bufferBytes bounds the memory of one worker's kv.Adjacency.
func (s *Sizes) bufferBytes() int64 {
	entry := int64(4)
	if s.Weighted {
		entry = s.entryBytes() + 8 // the arcs that are read
	}
	return entry*int64(s.MaxEntries) + 8*int64(s.MaxRows+1)
}

// newSurvey makes a walker, and walks the graph once for its survey, unless a Series has both. opt has its defaults.
func newSurvey(ctx context.Context, g Graph, opt Options) (*walker, *survey, error) {
	series, _ := g.(*Series)
	if series != nil && series.walker != nil {
		series.walker.bufs = make([]kv.Adjacency, opt.Workers)
		return series.walker, series.survey, nil
	}
	w, err := newWalker(g, opt.Workers)
	if err != nil {
		return nil, nil, err
	}
	s, err := w.survey(ctx, opt)
	if err == nil && series != nil {
		if s.Weighted {
			return nil, nil, fmt.Errorf("%w: got a Series of a weighted graph", ErrShape)
		}
		w.series = true
		series.walker, series.survey = w, s
	}
	return w, s, err
}

// surveyAlone is the survey of newSurvey where no other walk follows.
func surveyAlone(ctx context.Context, g Graph, opt Options) (*survey, error) {
	w, s, err := newSurvey(ctx, g, opt.withDefaults())
	if err != nil {
		return nil, err
	}
	return s, w.free()
}

func (w *walker) survey(ctx context.Context, opt Options) (*survey, error) {
	start, n := time.Now(), w.nodes
	s := &survey{Sizes: Sizes{Nodes: n, Weighted: w.weighted}, degrees: make([]uint32, n)}
	if s.Weighted {
		s.strengths = make([]float64, n)
	}
	progress := meter{progress: opt.Progress, stage: "degrees", total: int64(n)}
	parts := make([]Sizes, len(w.bufs))
	err := w.walk(ctx, func(_ context.Context, worker int, rows *kv.Adjacency) error {
		part := &parts[worker]
		for i := range rows.Len() {
			list, v := rows.Neighbors[rows.Offsets[i]:rows.Offsets[i+1]], int(rows.First)+i
			if s.degrees[v] = uint32(len(list)); len(list) > 0 {
				part.Linked = max(part.Linked, v+1, int(list[len(list)-1])+1)
			}
		}
		if s.strengths != nil {
			s.takeStrengths(rows)
		}
		part.Entries += int64(len(rows.Neighbors))
		part.MaxRows = max(part.MaxRows, rows.Len())
		part.MaxEntries = max(part.MaxEntries, len(rows.Neighbors))
		progress.add(rows.Len())
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.Linked = min(n, 1)
	for _, part := range parts {
		s.Linked = max(s.Linked, part.Linked)
		s.Entries += part.Entries
		s.MaxRows = max(s.MaxRows, part.MaxRows)
		s.MaxEntries = max(s.MaxEntries, part.MaxEntries)
	}
	for _, degree := range s.degrees {
		s.MaxDegree = max(s.MaxDegree, degree)
	}
	s.Ranked = !s.Weighted && isRanked(s.degrees)
	w.finish(opt.OnStage, start, Stage{Name: "degrees", Edges: s.Edges()})
	return s, nil
}

// WithSelfLoops are the Sizes for an Operator with SelfLoops: every node is a neighbour of its own.
func (s *Sizes) WithSelfLoops() *Sizes {
	loops := *s
	loops.Linked = s.Nodes
	return &loops
}

// finish tells onStage, unless it is nil, of a stage that began at start, with the bytes read since the one before.
func (w *walker) finish(onStage func(Stage), start time.Time, stage Stage) {
	stage.Seconds, stage.BytesRead = time.Since(start).Seconds(), w.bytes.Swap(0)
	if onStage != nil {
		onStage(stage)
	}
}
