package kv

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// CopyRows returns copies of the ids and of some columns of nodes, for those who keep together what is read together. Each row may be
// appended to head, once and in any order: see Tx.LendCopies. What columns hold beside their blocks, changes made since, is not copied, but
// read where it is. A column that the store does not have is left out. The nodes must be there.
func (tx *Tx) CopyRows(columns []string, nodes []NodeID) (head []byte, rows [][]byte, err error) {
	if err := tx.Err(); err != nil {
		return nil, nil, err
	}
	generations := []record.Generation{tx.cat.Graph}
	for _, name := range columns {
		if entry, ok := tx.cat.Columns[name]; ok {
			generations = append(generations, entry.Generation)
		}
	}
	rows = make([][]byte, len(nodes))
	for i, v := range nodes {
		rows[i] = snapshot.AppendCopy(nil, v)
	}
	for _, g := range generations {
		fields, _, err := tx.fields(g, nodes)
		if err != nil {
			return nil, nil, err
		}
		for i, field := range fields {
			rows[i] = snapshot.AppendField(rows[i], field)
		}
	}
	return snapshot.AppendHead(nil, generations), rows, nil
}

// fields are what the records of a generation say of nodes, without changes made since. They are known only of the generations of the graph
// and of columns.
func (tx *Tx) fields(g record.Generation, nodes []NodeID) (fields [][]byte, known bool, err error) {
	fields = make([][]byte, len(nodes))
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(nodes[i], nodes[j]) })
	if g == tx.cat.Graph {
		return fields, true, tx.idFields(order, nodes, fields)
	}
	for name, entry := range tx.cat.Columns {
		if entry.Generation != g {
			continue
		}
		column, block, memory := tx.column(entry), new(codec.Column), []byte(nil)
		last := -1
		for _, i := range order {
			var cell Value
			if v := nodes[i]; uint32(v) < entry.Rows {
				if number := int(v / codec.ColumnRows); number != last {
					if block, err = column.Borrow(uint32(number), &memory); err != nil {
						return nil, true, fmt.Errorf("column %s: %w", name, err)
					}
					last = number
				}
				cell = block.Cell(int(v%codec.ColumnRows), entry.Kind)
			}
			fields[i] = cell.Append(nil)
		}
		return fields, true, nil
	}
	return nil, false, nil
}

// idFields reads the ids of nodes of the load, in the order of their places. Those of nodes added later stay empty.
func (tx *Tx) idFields(order []int, nodes []NodeID, fields [][]byte) (err error) {
	ids, places := tx.dict().Reader(), make([]int, len(nodes))
	for _, i := range order {
		if places[i], err = ids.PositionOf(nodes[i]); err != nil {
			return err
		}
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(places[i], places[j]) })
	for _, i := range order {
		if int(nodes[i]) >= tx.cat.LoadedNodes {
			continue
		}
		id, err := ids.AtPosition(places[i])
		if err != nil {
			return err
		}
		fields[i] = []byte(id)
	}
	return nil
}

// LendCopies has the snapshot read what it can from copies: a head of CopyRows and rows of it, which are not changed afterwards. Copies of
// blocks that have been replaced since are of no use, and do no harm.
func (tx *Tx) LendCopies(copies []byte) error { return cmp.Or(tx.Err(), tx.copies.Lend(copies)) }

// CopiesAreCurrent says whether copies are of the ids and of all those of some columns that the store has, of each as it is now.
func (tx *Tx) CopiesAreCurrent(copies []byte, columns []string) (bool, error) {
	generations, _, err := snapshot.ParseHead(copies)
	if err := cmp.Or(tx.Err(), err); err != nil {
		return false, err
	}
	current := slices.Contains(generations, tx.cat.Graph)
	for _, name := range columns {
		entry, ok := tx.cat.Columns[name]
		current = current && (!ok || slices.Contains(generations, entry.Generation))
	}
	return current, nil
}

// CheckCopies compares copies with what they are of. An ErrCorrupt says what the first difference is. What cannot be read of a damaged block
// is not compared.
func (tx *Tx) CheckCopies(copies []byte) error {
	if err := tx.Err(); err != nil {
		return err
	}
	var nodes []NodeID
	var rows [][]byte
	var generations []record.Generation
	err := snapshot.ParseCopies(copies, func(of []record.Generation, v NodeID, fields []byte) {
		generations, nodes, rows = of, append(nodes, v), append(rows, fields)
	})
	if err != nil {
		return err
	}
	for _, v := range nodes {
		if err := tx.checkNumber(v); err != nil {
			return fmt.Errorf("copies of rows: %w: %w", ErrCorrupt, err)
		}
	}
	for _, g := range generations {
		fields, known, err := tx.fields(g, nodes)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return err
		}
		for i, row := range rows {
			var field []byte
			if field, rows[i], _ = snapshot.CutField(row); err == nil && known && !bytes.Equal(field, fields[i]) {
				return fmt.Errorf("the copy of a row of node number %d: %w: it differs from what it is of", nodes[i], ErrCorrupt)
			}
		}
	}
	return nil
}
