package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// maxAhead is how far the clock of who made a decision may be ahead of the one here. A time further ahead is a mistake,
// and would make all that others decide about the node older.
const maxAhead = 5 * time.Minute

// A decisionsFile is a file of decisions while it is read.
type decisionsFile struct {
	Job
	path    string
	tx      *kv.Tx
	classes map[string]bool
	labels  Form
	latest  time.Time     // that a decision can have been made
	sorted  *spill.Sorter // the decisions, by node and line
}

// sorterShare is the part of the memory that each of the two sorters of decisions may hold, as a divisor. The table
// that is read has the rest.
const sorterShare = 8

// readDecisions reads a table of decisions, whose nodes and classes the store must have, into a sorter, by node and
// line.
func readDecisions(ctx context.Context, path string, tx *kv.Tx, opt Adopting, sorted *spill.Sorter) error {
	opt.Memory -= 2 * opt.Memory / sorterShare
	f := &decisionsFile{
		Job: opt.Job, path: path, tx: tx, latest: time.Now().Add(maxAhead), classes: make(map[string]bool, len(tx.Classes())),
		labels: opt.Form, sorted: sorted,
	}
	for _, class := range tx.Classes() {
		f.classes[class] = true
	}
	return f.read(ctx)
}

// errorf is what is wrong with a field, "" for the record as a whole.
func (f *decisionsFile) errorf(line int64, column, format string, args ...any) error {
	return &table.Error{Path: f.path, Line: line, Column: column, Msg: fmt.Sprintf(format, args...)}
}

// read reads decisions from the table.
func (f *decisionsFile) read(ctx context.Context) (err error) {
	in, err := f.openTable(ctx, f.path, f.Columns.isHeader("id"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	columns, err := f.find(in, f.nodeFlag(true), 1, filedFields...)
	if err != nil {
		return err
	}
	place := func(name string) int { return columns[slices.Index(filedFields, name)] }
	if place(kv.LabelColumn) < 0 && place("to") < 0 && place("decision") < 0 {
		return f.missing(in, f.nodeFlag(true), kv.LabelColumn)
	}
	return EachRow(ctx, in, f.Progress, func(row table.Row) error {
		return f.add(row.Line, func(name string) (string, bool) {
			column := place(name)
			if column < 0 {
				return "", false
			}
			return string(row.Fields[column]), true
		})
	})
}

// filedFields are the columns that mean something. Others are passed over.
var filedFields = []string{
	"id", kv.LabelColumn, "decision", "from", "original_label", "to", "who", "why", "time", "seq", "undoes",
}

// FiledFields are the names of the columns that a file of decisions can have.
func FiledFields() []string { return slices.Clone(filedFields) }
