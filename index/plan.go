package index

import (
	"fmt"
	"iter"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A Query says which nodes to find and in which order.
type Query struct {
	// Where is the condition on a node; nil is true of all.
	Where Predicate

	// Order lists the properties to order by, the most significant first. Nulls come last in either direction.
	// Nodes that are equal in all of them, and all nodes if Order is empty, come in the order of the nodes
	// file: that of kv.Tx.InFileOrder.
	Order []Order

	// Limit is how many nodes to find at most; below zero there is no limit, and zero finds none.
	Limit int

	// Computed are properties that the query may name beside those of the store. One hides a stored property of its
	// name.
	Computed map[string]Computed

	// Workers is how many goroutines a scan may read with; 0 means GOMAXPROCS. Computed values are asked for by one.
	Workers int
}

// A Computed is a property whose values are computed for each node that a plan asks about. Among the terms of an And or
// Or, those that name one are decided last.
type Computed struct {
	Kind kv.Kind // of the values: KindBool, KindInt, KindFloat or KindString
	At   func(v kv.NodeID) (kv.Value, error)
}

// Order is one property to order by: numbers by value, strings by bytes, false before true.
type Order struct {
	Property   string
	Descending bool
}

// A Plan is the way chosen to answer a query on one snapshot. It belongs to one goroutine, and to the life of the Tx
// it was made on. Rows and Count may be called any number of times.
type Plan struct {
	tx     *kv.Tx
	schema schema
	where  Predicate // simplified
	order  []Order   // without what the store has no values for, and without repetitions
	limit  int

	computed map[string]Computed
	workers  int

	way      way
	ids      []kv.Value // of byIDs
	index    *rangeScan // of byRange and byOrderedIndex
	residual Predicate  // the condition to look up in rows
	tail     *Plan      // of byOrderedIndex: the nodes without a value in the index, nil when none can match

	patience int   // of a walk, byFileOrder or byOrderedIndex: how many rows it may read before it gives way
	gaveWay  *Plan // to which the last Rows gave way; nil if it did not

	head *head // of the last walk; nil if it has no copies of rows

	lastValue kv.Value
	reads     Reads
}

// A way is how a plan comes by its nodes.
type way int

const (
	byNothing      way = iota // the predicate is false
	byIDs                     // a set of nodes by id, filtered, then put in order
	byRange                   // a set of nodes from an index, filtered, then put in order
	byScan                    // all nodes in blocks, filtered, then put in order
	byFileOrder               // all nodes in the order of the node file, filtered one by one
	byOrderedIndex            // the entries of an index, in the order asked for, filtered
)

// Reads counts the data that a plan has read.
type Reads struct {
	IndexEntries  int64 // entries of indexes read
	Rows          int64 // nodes whose properties were read; a node read for the condition and for the order counts twice
	Blocks        int64 // stretches of column blocks read by a scan
	SkippedBlocks int64 // stretches a scan left out by their least and greatest values
}

// Limit is how many nodes Rows yields at most; below zero there is no limit.
func (p *Plan) Limit() int { return p.limit }

// LastValue returns a property and its value for the last row of Rows, if finding the row told it; else the property
// is "".
func (p *Plan) LastValue() (property string, value kv.Value) {
	if p.lastValue.IsNull() {
		return "", kv.Value{}
	}
	return p.order[0].Property, p.lastValue
}

// Known returns a property of a node, if the last Rows has read a copy of it that is still right. Rows must not be
// under way on another goroutine.
func (p *Plan) Known(v kv.NodeID, property string) (kv.Value, bool) { return p.head.known(v, property) }

// WillRead is kv.Tx.WillRead of what Known does not return.
func (p *Plan) WillRead(properties []string, nodes iter.Seq[kv.NodeID]) {
	p.head.willRead(p.tx, properties, nodes)
}

// NewPlan chooses the way to answer q. It returns an *UnknownPropertyError for a name that is neither a column nor
// built in, a *TypeError for a constant its property cannot be compared with, and ErrPredicate for a condition that has
// no meaning.
func NewPlan(tx *kv.Tx, q Query) (*Plan, error) {
	if err := tx.Err(); err != nil {
		return nil, err
	}
	s, where, err := prepare(tx, q.Where, q.Order, q.Computed)
	if err != nil {
		return nil, err
	}
	plan := &Plan{
		tx: tx, schema: s, where: where, order: s.orders(q.Order), limit: q.Limit, computed: q.Computed, workers: q.Workers,
	}
	if err := plan.choose(); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return plan, nil
}

// orders leaves out what cannot tell nodes apart: properties that are always null, and those named before.
func (s schema) orders(order []Order) []Order {
	var keys []Order
	seen := map[string]bool{}
	for _, o := range order {
		if !seen[o.Property] && !s[o.Property].absent {
			keys = append(keys, o)
		}
		seen[o.Property] = true
	}
	return keys
}
