package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// ErrNodesFirst is returned by AddNode after AddEdge.
var ErrNodesFirst = errors.New("kv: all nodes are added before the first edge")

// errEnded says that nothing can be added any more.
var errEnded = fmt.Errorf("loader: %w", record.ErrClosed)

// AddNode adds the next row of the nodes file. A label is a number that the caller has for it, 0 for none. That the id
// is there already shows in Resolve. An error ends the load: Err returns it.
func (l *Load) AddNode(id string, source int64, label uint32, values []codec.Value) error {
	most := int64(record.MaxNodes)
	if l.opt.Directed {
		most = maxArcNodes
	}
	switch {
	case l.ended:
		return errEnded
	case l.edges != nil:
		return l.Fail(ErrNodesFirst)
	case l.stats.Nodes >= most:
		return l.Fail(fmt.Errorf("the node at %d is one too many: the graph has %d nodes at most", source, most))
	}
	if label > 0 {
		l.stats.Labelled++
	}
	// A row: id, source, label, and the values.
	row := appendText(l.row[:0], id)
	row = binary.AppendUvarint(binary.AppendUvarint(row, uint64(source)), uint64(label))
	for _, v := range values {
		l.value = v.Append(l.value[:0])
		row = appendText(row, l.value)
	}
	l.row = row
	l.ids.note(id)
	l.stats.Nodes++
	return l.Fail(l.rows.add(0, row))
}

// A nodeRow is a row as read back; it is borrowed.
type nodeRow struct {
	position int
	id       []byte
	source   int64
	label    uint32
	values   []byte
}

// eachRow hands the rows to use, by position.
func (l *Load) eachRow(ctx context.Context, use func(row nodeRow) error) error {
	row := nodeRow{}
	return l.rows.each(ctx, 0, func(r codec.Reader) error {
		row.id, row.source = text(&r), int64(r.Uvarint(math.MaxUint64))
		row.label = uint32(r.Uvarint(math.MaxUint32))
		if row.values = r.Rest; r.Failed {
			return l.rows.damaged(errRecord)
		}
		err := use(row)
		row.position++
		return err
	})
}

// rowAt is the id and the source of the node at a position. It reads all rows: an error is the only use for it.
func (l *Load) rowAt(ctx context.Context, position int) (id string, source int64, err error) {
	err = l.eachRow(ctx, func(row nodeRow) error {
		if row.position == position {
			id, source = string(row.id), row.source
		}
		return nil
	})
	return id, source, err
}

// parseValues appends the values of a row from first to end−1 to values.
func (l *Load) parseValues(row []byte, first, end int, values []codec.Value) ([]codec.Value, error) {
	r := codec.Reader{Rest: row}
	for column := 0; len(r.Rest) > 0 && column < end; column++ {
		value := text(&r)
		if column >= first && !r.Failed {
			v, err := codec.ParseValue(value)
			if err != nil {
				return nil, l.rows.damaged(err)
			}
			values = append(values, v)
		}
	}
	if r.Failed {
		return nil, l.rows.damaged(errRecord)
	}
	return values, nil
}

// A RowError is described in kv.
type RowError struct {
	Source int64
	Edge   bool
	ID, To string
	First  int64
	Err    error
}

func (e *RowError) Error() string {
	switch {
	case e.To != "":
		return fmt.Sprintf("the edge at %d, from node %q to %q, is not there", e.Source, e.ID, e.To)
	case e.Edge:
		return fmt.Sprintf("the edge at %d ends at node %q, which is not among the nodes", e.Source, e.ID)
	case errors.Is(e.Err, record.ErrExists):
		return fmt.Sprintf("node %q is given twice, at %d and at %d", e.ID, e.First, e.Source)
	case errors.Is(e.Err, record.ErrNotFound):
		return fmt.Sprintf("node %q at %d is not there", e.ID, e.Source)
	}
	return fmt.Sprintf("node %q, at %d: %v", e.ID, e.Source, e.Err)
}

func (e *RowError) Unwrap() error { return e.Err }

// note keeps a row that is wrong, of those that are wrong alike the one with the least source, then the least id.
func (l *Load) note(kept **RowError, row RowError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := *kept; k == nil || row.Source < k.Source || row.Source == k.Source && row.ID < k.ID {
		row.ID = strings.Clone(row.ID)
		*kept = &row
	}
}

// unknownEnd notes an edge that ends at an id that no node has.
func (l *Load) unknownEnd(id string, source int64) {
	l.note(&l.unknown, RowError{Edge: true, ID: id, Source: source, Err: record.ErrNotFound})
}
