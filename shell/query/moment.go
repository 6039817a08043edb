package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// A past has the labels and decisions of a moment that differ from today's. Nil is today.
type past map[kv.NodeID]decide.PastLabel

// value returns the past value of a property, if it differs. Every property that decisions change must be here and in isPast.
func (p past) value(v kv.NodeID, property string) (kv.Value, bool) {
	was, ok := p[v]
	switch {
	case ok && property == kv.LabelColumn:
		return text(was.Label), true
	case ok && property == decide.Column:
		return text(was.Decision.String()), true
	case ok && property == decide.DisputedColumn:
		return flag(was.Disputed), true
	case ok && property == decide.DecidedByColumn:
		return was.DecidedBy, true
	default:
		return kv.Value{}, false
	}
}

// isPast reports whether decisions change a property: then past.value has its past values.
func isPast(property string) bool {
	return slices.Contains([]string{kv.LabelColumn, decide.Column, decide.DisputedColumn, decide.DecidedByColumn}, property)
}

// pastOf reads the labels and decisions that were different at a moment. It returns nil if m is nil.
func (q *query) pastOf(ctx context.Context, m *moment) (past, error) {
	if m == nil {
		return nil, nil
	}
	var at cleaner.AsOf
	if m.run != nil {
		run, err := q.whole(*m.run, "a run", 1, math.MaxInt)
		if err != nil {
			return nil, err
		}
		at.Run = int64(run)
	} else {
		var err error
		if at.Time, err = q.time(*m.time); err != nil {
			return nil, err
		}
	}
	labels, err := cleaner.LabelsAsOf(ctx, q.tx, at)
	if m.run != nil && errors.Is(err, kv.ErrNotFound) {
		return nil, &ResolveError{Pos: m.run.pos, Msg: fmt.Sprintf("there is no run %d: the statement runs lists all runs", at.Run), Err: err}
	}
	if err != nil {
		return nil, err
	}
	if labels == nil {
		labels = past{}
	}
	return labels, nil
}

// time resolves a time.
func (r *resolver) time(l literal) (time.Time, error) {
	value, err := r.value(l)
	if err != nil {
		return time.Time{}, err
	}
	if value.Kind() == kv.KindString {
		if t, ok := wording.ParseTime(value.Str()); ok {
			return t, nil
		}
	}
	return time.Time{}, &ResolveError{Pos: l.pos, Msg: fmt.Sprintf(
		"got %s for a time, want one as '2026-01-31', '2026-01-31 18:00' or '2026-01-31T18:00:00+01:00'", describe(value))}
}

// A finding is the nodes that answer a statement, in its order.
type finding struct {
	plan  *index.Plan
	nodes func(context.Context) iter.Seq2[kv.NodeID, error]
	set   func(context.Context) iter.Seq2[kv.NodeID, error] // the same nodes, in any order
	whole bool                                              // the same nodes are all that plan finds
	past  past
	draw  *draw // that nodes come from; nil: they are all that the statement asks for
}

// find plans a suspectsStatement or nodesStatement, and leaves out the rows of its offset. If its rows are to be distinct, it finds all of them.
func (q *query) find(ctx context.Context, s statement) (*finding, error) {
	var asked clauses
	switch s := s.(type) {
	case *suspectsStatement:
		asked = s.clauses
	case *nodesStatement:
		asked = s.clauses
	}
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

// findAll is find with the rows of the offset.
func (q *query) findAll(ctx context.Context, s statement) (*finding, error) {
	suspects, ok := s.(*suspectsStatement)
	if ok && suspects.sample != nil {
		all := *suspects
		all.sample, all.limit, all.offset = nil, nil, nil
		return q.findSample(ctx, suspects.clauses, &all)
	}
	nodes, ok := s.(*nodesStatement)
	if ok && nodes.sample != nil {
		all := *nodes
		all.sample, all.limit, all.offset = nil, nil, nil
		return q.findSample(ctx, nodes.clauses, &all)
	}
	if !ok || nodes.moment == nil {
		plan, err := q.planOf(ctx, s)
		if err != nil {
			return nil, err
		}
		return &finding{plan: plan, nodes: plan.Rows, set: plan.Unordered, whole: true}, nil
	}
	before, err := q.pastOf(ctx, nodes.moment)
	if err != nil {
		return nil, err
	}
	q.surroundings.past = before
	find, err := q.query(nodes.clauses)
	if err != nil {
		return nil, err
	}
	return q.findMoment(find, before)
}

// findMoment finds the nodes that a condition was true of at a moment: today if before is nil. Values that are computed are of that moment.
func (r *resolver) findMoment(find index.Query, before past) (*finding, error) {
	speaks := slices.ContainsFunc(index.Properties(find.Where), isPast) ||
		slices.ContainsFunc(find.Order, func(o index.Order) bool { return isPast(o.Property) })
	if before == nil || !speaks {
		plan, err := index.NewPlan(r.tx, find)
		if err != nil {
			return nil, r.locate(err)
		}
		return &finding{plan: plan, nodes: plan.Rows, set: plan.Unordered, whole: true, past: before}, nil
	}
	return r.findInPast(find, before)
}

// findInPast finds the nodes of a condition or an order that speaks of what was different. What has not changed is found
// as it is today; the nodes that have are tested one by one, and both come together in order.
func (r *resolver) findInPast(find index.Query, before past) (*finding, error) {
	limit := find.Limit
	if limit >= 0 {
		find.Limit = min(limit, math.MaxInt-len(before)) + len(before)
	}
	plan, err := index.NewPlan(r.tx, find)
	if err != nil {
		return nil, r.locate(err)
	}
	holds, err := index.Holds(r.tx, find.Where, r.computed)
	if err != nil {
		return nil, r.locate(err)
	}
	nodes := func(ctx context.Context) iter.Seq2[kv.NodeID, error] {
		return func(yield func(kv.NodeID, error) bool) {
			changes, err := r.changedSince(ctx, before, holds, find.Order)
			if err != nil {
				yield(0, err)
				return
			}
			count := 0
			give := func(v kv.NodeID) bool {
				count++
				return (limit < 0 || count <= limit) && yield(v, nil)
			}
			for v, err := range plan.Rows(ctx) {
				if err != nil {
					yield(0, err)
					return
				}
				if _, other := before[v]; other {
					continue
				}
				var here sortedNode
				if len(changes) > 0 {
					if here, err = r.sortedNode(v, before, find.Order); err != nil {
						yield(0, err)
						return
					}
				}
				for len(changes) > 0 && here.compare(changes[0], find.Order) > 0 {
					if !give(changes[0].node) {
						return
					}
					changes = changes[1:]
				}
				if !give(v) {
					return
				}
			}
			for _, c := range changes {
				if !give(c.node) {
					return
				}
			}
		}
	}
	return &finding{plan: plan, past: before, nodes: nodes, set: nodes}, nil
}

// changedSince are the nodes of the past that a condition was true of, in order.
func (r *resolver) changedSince(
	ctx context.Context, before past, holds func(func(string) (kv.Value, error)) (bool, error), order []index.Order,
) ([]sortedNode, error) {
	var nodes []sortedNode
	seen := 0
	for v := range before {
		if seen++; seen%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		ok, err := holds(func(property string) (kv.Value, error) { return r.valueIn(before, v, property) })
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		node, err := r.sortedNode(v, before, order)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	slices.SortFunc(nodes, func(a, b sortedNode) int { return a.compare(b, order) })
	return nodes, nil
}

// valueIn is the value of a property in the past.
func (r *resolver) valueIn(before past, v kv.NodeID, property string) (kv.Value, error) {
	if c, ok := r.computed[property]; ok {
		return c.At(v)
	}
	if value, ok := before.value(v, property); ok {
		return value, nil
	}
	value, err := r.tx.Value(v, property)
	if errors.Is(err, kv.ErrNoColumn) {
		return kv.Value{}, nil
	}
	return value, err
}

// A sortedNode is a node with what it is ordered by.
type sortedNode struct {
	node     kv.NodeID
	values   []kv.Value
	position int
}

func (r *resolver) sortedNode(v kv.NodeID, before past, order []index.Order) (sortedNode, error) {
	s := sortedNode{node: v, values: make([]kv.Value, len(order))}
	for i, o := range order {
		var err error
		if s.values[i], err = r.valueIn(before, v, o.Property); err != nil {
			return s, err
		}
	}
	var err error
	s.position, err = r.tx.Position(v)
	return s, err
}

// compare orders as plans do: nulls last in either direction, and what is equal by place in the node file.
func (s sortedNode) compare(other sortedNode, order []index.Order) int {
	for i, o := range order {
		a, b := s.values[i], other.values[i]
		c := 0
		switch {
		case a.IsNull() && b.IsNull():
		case a.IsNull():
			return 1
		case b.IsNull():
			return -1
		case o.Descending:
			c = index.CompareValues(b, a)
		default:
			c = index.CompareValues(a, b)
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(s.position, other.position)
}
