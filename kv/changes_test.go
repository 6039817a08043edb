package kv

import (
	"errors"
	"slices"
	"testing"
)

// touchedNodes are the nodes below n that were touched.
func touchedNodes(t *Touched, n int) (nodes []NodeID) {
	for v := range NodeID(n) {
		if t.Has(v) {
			nodes = append(nodes, v)
		}
	}
	return nodes
}

func TestChangesSince(t *testing.T) {
	s := newStore(t, Options{})
	update(t, s, func(tx *Tx) error {
		for _, id := range []string{"a", "b", "c", "d"} {
			if _, err := tx.AddNode(Node{ID: id}); err != nil {
				return err
			}
		}
		return tx.AddColumn("x", KindInt)
	})
	mark := lastCommit(t, s)
	changesFail(t, s, mark)
	update(t, s, func(tx *Tx) error {
		if err := tx.SetLabel(3, "A"); err != nil {
			return err
		}
		if err := tx.TrackChanges([]string{LabelColumn}, nil, 0); err != nil {
			return err
		}
		return tx.AddEdge(0, 1)
	})
	update(t, s, func(tx *Tx) error {
		v, err := tx.AddNode(Node{ID: "e", Label: "B"})
		if err != nil {
			return err
		}
		if err := tx.SetValue(0, "x", IntValue(1)); err != nil {
			return err
		}
		return tx.AddEdge(1, v)
	})
	view(t, s, func(tx *Tx) error {
		c, err := tx.ChangesSince(mark)
		if err != nil {
			return err
		}
		if got := touchedNodes(c.Edges(), 5); !slices.Equal(got, []NodeID{0, 1, 4}) || c.NumNodes != 4 {
			t.Errorf("got edges of %v changed and %d nodes, want 0, 1, 4 and 4", got, c.NumNodes)
		}
		labels, err := c.Column(LabelColumn)
		if err != nil {
			return err
		}
		if got := touchedNodes(labels, 5); !slices.Equal(got, []NodeID{3, 4}) {
			t.Errorf("got labels of %v changed, want 3 and 4", got)
		}
		if _, err := c.Column("x"); !errors.Is(err, ErrNotTracked) {
			t.Errorf("column x: got %v, want ErrNotTracked", err)
		}
		return nil
	})
}

func changesFail(t *testing.T, s *Store, mark uint64) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		if _, err := tx.ChangesSince(mark); !errors.Is(err, ErrNotTracked) {
			t.Errorf("changes since %d: got %v, want ErrNotTracked", mark, err)
		}
		return nil
	})
}

func lastCommit(t *testing.T, s *Store) (number uint64) {
	t.Helper()
	view(t, s, func(tx *Tx) (err error) {
		number, err = tx.LastCommit()
		return err
	})
	return number
}
