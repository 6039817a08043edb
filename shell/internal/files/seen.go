package files

import (
	"context"
	"errors"
	"iter"

	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// A seenNodes finds the nodes that rows name, each once. It is fast where the rows are in the order of the nodes file.
type seenNodes struct {
	tx    *kv.Tx
	rows  kv.NodeSet // named so far
	count int

	nextNode func() (kv.NodeID, error, bool) // in file order
	nextID   func() (string, error, bool)    // of the same
	stop     func()
	expected kv.NodeID
	id       string // of the expected node; empty after the last
}

// newSeen returns a seenNodes; stop it.
func newSeen(tx *kv.Tx) (*seenNodes, error) {
	s := &seenNodes{tx: tx, rows: bitset.New[kv.NodeID](tx.NumNodes())}
	nextNode, stopNodes := iter.Pull2(tx.InFileOrder())
	nextID, stopIDs := iter.Pull2(tx.IDs())
	s.nextNode, s.nextID = nextNode, nextID
	s.stop = func() {
		stopNodes()
		stopIDs()
	}
	if err := s.expect(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// expect moves on to the next node of the nodes file.
func (s *seenNodes) expect() (err error) {
	if s.expected, err, _ = s.nextNode(); err != nil {
		return err
	}
	s.id, err, _ = s.nextID()
	return err
}

func (s *seenNodes) node(in *table.Reader, row table.Row, column int) (kv.NodeID, error) {
	v, err := s.find(row.Fields[column])
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return 0, in.Want(row, column, "the id of a node")
	case err != nil:
		return 0, err
	case s.rows.Has(v):
		return 0, in.Errorf(row.Line, in.Header()[column], "got %q again, want every id once", row.Fields[column])
	}
	s.rows.Add(v)
	s.count++
	return v, nil
}

// eachNamed calls fn for every row of a table with the node that it names in the column id. It returns the nodes.
func eachNamed(
	ctx context.Context, tx *kv.Tx, in *table.Reader, id int, report kv.Progress,
	fn func(v kv.NodeID, row table.Row) error,
) (*seenNodes, error) {
	seen, err := newSeen(tx)
	if err != nil {
		return nil, err
	}
	defer seen.stop()
	return seen, EachRow(ctx, in, report, func(row table.Row) error {
		v, err := seen.node(in, row, id)
		if err != nil {
			return err
		}
		return fn(v, row)
	})
}

func (s *seenNodes) find(id []byte) (kv.NodeID, error) {
	if s.id == "" || s.id != string(id) {
		return s.tx.Node(string(id))
	}
	v := s.expected
	return v, s.expect()
}

// all returns an error that names the first node, in the order of the nodes file, without a row.
func (s *seenNodes) all(in *table.Reader) error {
	missing := s.tx.Shape().Present - s.count
	if missing == 0 {
		return nil
	}
	for v, err := range s.tx.InFileOrder() {
		if err != nil {
			return err
		}
		if s.rows.Has(v) {
			continue
		}
		id, err := s.tx.ID(v)
		if err != nil {
			return err
		}
		return in.Errorf(0, "", "has no row for node %q (%d of %d nodes have none), want one for each", id, missing,
			s.tx.Shape().Present)
	}
	return nil
}
