package query

import (
	"context"
	"iter"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A finding is the nodes that answer a statement, in its order.
type finding struct {
	plan  *index.Plan
	nodes func(context.Context) iter.Seq2[kv.NodeID, error]
	set   func(context.Context) iter.Seq2[kv.NodeID, error] // the same nodes, in any order
	whole bool                                              // the same nodes are all that plan finds
	draw  *draw                                             // that nodes come from; nil: they are all that the statement asks for
}

// find plans a suspectsStatement or nodesStatement, and leaves out the rows of its offset. If its rows are to be distinct, it finds all of them.
func (q *query) find(ctx context.Context, s statement) (*finding, error) {
	asked := clausesOf(s)
	found, err := q.findAll(ctx, s)
	if err != nil || asked.offset == nil || asked.distinct() {
		return found, err
	}
	skip, _, err := q.cut(nil, asked.offset)
	all := found.nodes
	found.nodes = func(ctx context.Context) iter.Seq2[kv.NodeID, error] { return cut(all(ctx), skip, -1) }
	found.set, found.whole = found.nodes, false
	return found, err
}

// clausesOf are the clauses of a suspectsStatement or nodesStatement.
func clausesOf(s statement) clauses {
	if suspects, ok := s.(*suspectsStatement); ok {
		return suspects.clauses
	}
	return s.(*nodesStatement).clauses
}

// findAll is find with the rows of the offset.
func (q *query) findAll(ctx context.Context, s statement) (*finding, error) {
	if asked := clausesOf(s); asked.sample != nil {
		all := asked
		all.sample, all.limit, all.offset = nil, nil, nil
		if suspects, ok := s.(*suspectsStatement); ok {
			whole := *suspects
			whole.clauses = all
			return q.findSample(ctx, asked, &whole)
		}
		return q.findSample(ctx, asked, &nodesStatement{promise: s.(*nodesStatement).promise, clauses: all})
	}
	plan, err := q.planOf(ctx, s)
	if err != nil {
		return nil, err
	}
	return &finding{plan: plan, nodes: plan.Rows, set: plan.Unordered, whole: true}, nil
}

// eachNode yields nodes.
func eachNode(nodes []kv.NodeID) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		for _, v := range nodes {
			if !yield(v, nil) {
				return
			}
		}
	}
}
