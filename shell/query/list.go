package query

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// Columns that suspects and labels return if the statement does not say.
var (
	suspectColumns = []string{"id", "label", "suggested", "score", "confidence"}
	trustedColumns = []string{"id", "label"}
)

// list answers suspects, nodes and labels.
func (q *query) list(ctx context.Context, s *Statement) (*Result, error) {
	found, err := q.find(ctx, s)
	if err != nil {
		return nil, err
	}
	otherwise := q.nodeColumns()
	switch s.rows {
	case "suspects":
		otherwise = suspectColumns
	case "labels":
		otherwise = trustedColumns
	}
	columns, err := q.returned(s.returned, otherwise, q.heldNames())
	if err != nil {
		return nil, err
	}
	f, err := q.fetcher(columnNames(columns))
	if err != nil {
		return nil, err
	}
	if found.draw == nil {
		f.plan, f.most = found.plan, found.plan.Limit()
	}
	return NewResult(columns, f.rows(ctx, found.nodes(ctx))), nil
}

// nodeColumns are the columns of nodes if the statement names none: id, label, degree, split if the
// nodes were split, and the user's columns.
func (q *query) nodeColumns() []string {
	names := []string{"id", "label", "degree"}
	if _, ok := q.tx.Column("split"); ok {
		names = append(names, "split")
	}
	return append(names, UserColumns(q.tx)...)
}

// UserColumns returns the names of the columns that are not built in.
func UserColumns(tx *kv.Tx) []string {
	var names []string
	for _, c := range tx.Columns() {
		if !slices.Contains(cleaner.ReservedNames, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// A finding is the nodes that a statement lists or counts, in its order.
type finding struct {
	plan  *index.Plan
	nodes func(context.Context) iter.Seq2[kv.NodeID, error]
	draw  *draw // that nodes come from; nil: they are all that the statement asks for
}

// find plans a statement that lists or counts nodes. Errors of types point into the text.
func (q *query) find(ctx context.Context, s *Statement) (*finding, error) {
	asked := s.clauses
	if s.counts {
		asked = clauses{where: s.where} // order and limit are those of the groups
	}
	find, err := q.query(asked)
	if err != nil {
		return nil, err
	}
	switch s.rows {
	case "suspects":
		err = q.restrictToSuspects(ctx, s, &find)
	case "labels":
		err = q.restrictToList(ctx, s, &find)
	}
	if err != nil {
		return nil, err
	}
	found := &finding{}
	most := find.Limit
	if s.size != nil {
		find.Limit = -1
		if found.draw, err = q.draw(s); err != nil {
			return nil, err
		}
	}
	if found.plan, err = index.NewPlan(q.tx, find); err != nil {
		return nil, q.locate(err)
	}
	found.nodes = func(ctx context.Context) iter.Seq2[kv.NodeID, error] {
		nodes := found.plan.Rows(ctx)
		if found.draw != nil {
			nodes = first(found.draw.from(nodes), most)
		}
		return nodes
	}
	return found, nil
}

// plan answers plan. It finds the rows, so that their number and what was read are told too.
func (q *query) plan(ctx context.Context, of *Statement) (*Result, error) {
	found, err := q.find(ctx, of)
	if err != nil {
		return nil, err
	}
	var rows int64
	if of.counts && of.groupBy == nil && of.totals == nil {
		rows, err = found.plan.Count(ctx)
	} else {
		rows, err = count(found.nodes(ctx))
	}
	if err != nil {
		return nil, err
	}
	text := found.plan.String()
	if found.draw != nil {
		text += "\n" + found.draw.String()
	}
	text += "\nfound " + wording.Count(rows, "row", "rows")
	r := NewTable([]ColumnInfo{{Name: "plan", Kind: kv.KindString}}, [][]kv.Value{{kv.ValueOf(text)}})
	r.Bare = true
	return r, nil
}

// count counts nodes by finding them one by one.
func count(nodes iter.Seq2[kv.NodeID, error]) (n int64, err error) {
	for _, err := range nodes {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// A draw takes nodes at random, without replacement. Every node has a random number of its own, and those with the
// least numbers are taken. So the order of the nodes does not matter, and a larger sample of one seed has all nodes of
// a smaller one.
type draw struct {
	size int
	seed uint64
}

// draw resolves a sample.
func (q *query) draw(s *Statement) (*draw, error) {
	d := &draw{}
	var err error
	if d.size, err = q.whole(s.size, "a sample", 0, math.MaxInt, 0); err != nil {
		return nil, err
	}
	seed, err := q.whole(s.seed, "a seed", 0, math.MaxInt, DefaultSeed)
	d.seed = cmp.Or(uint64(seed), DefaultSeed)
	return d, err
}

// streamSample tells the numbers of nodes from others of a seed.
const streamSample uint64 = 0x73616d706c65 // "sample"

// String reads "a random sample of up to 50 rows, seed 1".
func (d *draw) String() string {
	return fmt.Sprintf("a random sample of up to %s, seed %d", wording.Count(d.size, "row", "rows"), d.seed)
}

// from draws from nodes, and keeps their order. It holds at most twice as many as it takes.
func (d *draw) from(nodes iter.Seq2[kv.NodeID, error]) iter.Seq2[kv.NodeID, error] {
	type drawn struct {
		number uint64
		place  int // among all nodes
		node   kv.NodeID
	}
	return func(yield func(kv.NodeID, error) bool) {
		var kept []drawn
		keepLeast := func() {
			slices.SortFunc(kept,
				func(a, b drawn) int { return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.node, b.node)) })
			kept = kept[:min(d.size, len(kept))]
		}
		var random rand.PCG
		most, place := uint64(math.MaxUint64), 0 // the largest number that could still be taken
		for v, err := range nodes {
			if err != nil {
				yield(0, err)
				return
			}
			random.Seed(d.seed^streamSample, uint64(v))
			n := drawn{random.Uint64(), place, v}
			place++
			if d.size == 0 || n.number > most {
				continue
			}
			if kept = append(kept, n); len(kept)-d.size >= d.size {
				keepLeast()
				most = kept[len(kept)-1].number
			}
		}
		keepLeast()
		slices.SortFunc(kept, func(a, b drawn) int { return cmp.Compare(a.place, b.place) })
		for _, n := range kept {
			if !yield(n.node, nil) {
				return
			}
		}
	}
}
