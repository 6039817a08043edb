package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/namelist"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// maxAhead is how far the clock of who made a decision may be ahead of the one here. A time further ahead is a mistake,
// and would make all that others decide about the node older.
const maxAhead = 5 * time.Minute

// filedFields are the columns that mean something. Others are passed over.
var filedFields = []string{
	"id", kv.LabelColumn, "decision", "from", "original_label", "to", "who", "why", "time", "seq", "undoes",
}

// FiledFields are the names of the columns that a file of decisions can have.
func FiledFields() []string { return slices.Clone(filedFields) }

// A filedDecision is the decision of a file about the label of one node.
type filedDecision struct {
	Line int64 // as of table.Row
	Node kv.NodeID
	ID   string

	// Kind is None where the file says no more than the label that is right.
	Kind decide.Kind

	From, To       string // labels before and after; "" is none
	HasFrom, HasTo bool   // the file says so

	Who, Why string
	Time     time.Time // in UTC; zero where the file does not say

	Seq, Undoes int64

	Request decide.Request // for it, once it is taken
}

// filedBytes is the memory of a filedDecision beside its texts, about.
const filedBytes = 300

// A decisionsFile is a file of decisions while it is read.
type decisionsFile struct {
	in      *table.Reader
	columns []int // of filedFields, -1 where there is none
	row     table.Row
	tx      *kv.Tx
	classes map[string]bool
	labels  Form
	who     string    // decides where the file does not say
	latest  time.Time // that a decision can have been made
}

// readDecisions reads a table of decisions, whose nodes and classes the store must have. They may take half of the
// memory.
func readDecisions(ctx context.Context, path string, tx *kv.Tx, opt Adopting) (filed []filedDecision, err error) {
	size, most := int64(0), opt.Memory/2
	opt.Memory -= most
	in, columns, err := opt.openTable(ctx, path, opt.nodeFlag(true), 1, filedFields...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	f := &decisionsFile{in: in, columns: columns, tx: tx, classes: setOf(tx.Classes()), labels: opt.Form, who: opt.Who,
		latest: time.Now().Add(maxAhead)}
	if f.place(kv.LabelColumn) < 0 && f.place("to") < 0 && f.place("decision") < 0 {
		return nil, opt.missing(in, opt.nodeFlag(true), kv.LabelColumn)
	}
	err = EachRow(ctx, in, opt.Progress, func(row table.Row) error {
		f.row = row
		d, err := f.parse()
		if err != nil || d == nil {
			return err
		}
		size += filedBytes
		for _, text := range []string{d.ID, d.From, d.To, d.Who, d.Why} {
			size += int64(len(text))
		}
		if size <= most {
			filed = append(filed, *d)
		}
		return nil
	})
	if err == nil && size > most {
		err = fmt.Errorf("%s: %w", path, &ops.BudgetError{Job: "import of decisions", Budget: 2 * most, Least: 2 * size})
	}
	return filed, err
}

// place is that of a column, -1 where there is none.
func (f *decisionsFile) place(name string) int { return f.columns[slices.Index(filedFields, name)] }

// field is a field of the row; false where there is no such column.
func (f *decisionsFile) field(name string) (text string, ok bool) {
	if column := f.place(name); column >= 0 {
		return string(f.row.Fields[column]), true
	}
	return "", false
}

// errorf is the error about a field of the row, "" for the row as a whole.
func (f *decisionsFile) errorf(column, format string, args ...any) error {
	return f.in.Errorf(f.row.Line, column, format, args...)
}

// parse reads the row; nil where it decides nothing.
func (f *decisionsFile) parse() (d *filedDecision, err error) {
	d = &filedDecision{Line: f.row.Line}
	id, _ := f.field("id")
	if d.Node, err = f.tx.Node(id); errors.Is(err, kv.ErrNotFound) {
		return nil, f.errorf("id", "got %q, want the id of a node", wording.Short(id))
	}
	if err != nil {
		return nil, err
	}
	d.ID = id
	if d.To, d.HasTo, err = f.either("to", "label"); err != nil {
		return nil, err
	}
	if d.From, d.HasFrom, err = f.either("from", "original_label"); err != nil {
		return nil, err
	}
	d.To, d.From = f.labels.label(d.To), f.labels.label(d.From)
	d.Who, _ = f.field("who")
	d.Who = cmp.Or(d.Who, f.who)
	d.Why, _ = f.field("why")
	if err := f.parseNumbers(d); err != nil {
		return nil, err
	}
	if d.Undoes != 0 {
		return d, nil // what it says besides is of the decision that it takes back
	}
	word, _ := f.field("decision")
	if word == "undo" {
		return nil, f.errorf("undoes", "is empty, want the seq of the decision that the undo takes back")
	}
	if word != "" {
		if d.Kind, err = decide.ParseKind(word); err != nil {
			return nil, f.errorf("decision", "got %q, want accept, reject, relabel, unlabel or unsure",
				wording.Short(word))
		}
	}
	switch {
	case d.Kind == decide.None && !d.HasTo:
		return nil, f.errorf("decision", "is empty, and there is no label")
	case d.Kind == decide.None && d.HasFrom && d.From == d.To:
		return nil, nil // a row of exported labels that was not changed
	case d.Kind == decide.Relabel && d.To == "":
		return nil, f.errorf("label", "names no class, want the one that relabel gives")
	case d.Kind == decide.Unlabel && d.To != "":
		return nil, f.errorf("label", "got %q, want none, which is what unlabel leaves", wording.Short(d.To))
	case d.Kind == decide.Unlabel:
		d.HasTo = true
	case d.Kind == decide.Accept && d.To == "":
		d.HasTo = false
	case d.keeps() && d.To != "" && d.HasFrom && d.From != d.To:
		return nil, f.errorf("label", "got %q, want %q, the label from before, which %s keeps",
			wording.Short(d.To), wording.Short(d.From), d.Kind)
	case d.keeps() && d.To == "":
		d.To, d.HasTo = d.From, d.HasFrom
	}
	if len(d.Who) > decide.MaxWho || len(d.Why) > decide.MaxWhy {
		return nil, f.errorf("", "who and why may have %d and %d bytes", decide.MaxWho, decide.MaxWhy)
	}
	for name, text := range map[string]string{"who": d.Who, "why": d.Why} {
		if strings.ContainsFunc(text, decide.IsControl) {
			return nil, f.errorf(name, "got %q, want no control characters but tab and newline", wording.Short(text))
		}
	}
	if d.HasTo && d.To != "" && !f.classes[d.To] {
		return nil, f.errorf("label", "got %q, want one of the classes %s; %s if it means that the node has no label",
			wording.Short(d.To), namelist.Of(namelist.Sorted(f.tx.Classes())), f.labels.flag(d.To))
	}
	return d, nil
}

// keeps reports whether the decision leaves the label that the node has.
func (d *filedDecision) keeps() bool { return d.Kind == decide.Reject || d.Kind == decide.Unsure }

// either is a field that goes by two names. Where both are there they must agree.
func (f *decisionsFile) either(name, other string) (text string, ok bool, err error) {
	text, ok = f.field(name)
	second, also := f.field(other)
	switch {
	case ok && also && text != second:
		return "", false, f.errorf(other, "got %q, want the same as in %q, which has %q", wording.Short(second),
			name, wording.Short(text))
	case also:
		return second, true, nil
	}
	return text, ok, nil
}

// parseNumbers reads the fields time, seq and undoes, where there are any.
func (f *decisionsFile) parseNumbers(d *filedDecision) (err error) {
	if text, _ := f.field("time"); text != "" {
		var ok bool
		if d.Time, ok = wording.ParseTime(text); !ok {
			return f.errorf("time", "got %q, want a time as 2026-01-31T18:00:00Z or 2026-01-31 18:00, in UTC "+
				"if it has no offset", wording.Short(text))
		}
		d.Time = d.Time.UTC()
		if d.Time.Year() < 1 || d.Time.After(f.latest) {
			return f.errorf("time", "got %q, want a time from the year 1 on, and not ahead of the clock by more than %d minutes",
				wording.Short(text), int(maxAhead.Minutes()))
		}
	}
	for _, number := range []struct {
		name string
		into *int64
	}{{"seq", &d.Seq}, {"undoes", &d.Undoes}} {
		text, _ := f.field(number.name)
		if text == "" {
			continue
		}
		if *number.into, err = strconv.ParseInt(text, 10, 64); err != nil || *number.into < 0 {
			return f.errorf(number.name, "got %q, want the number of a decision", wording.Short(text))
		}
	}
	return nil
}
