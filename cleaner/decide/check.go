package decide

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Check compares the history with itself and with the columns, and calls report for each entry that is missing, damaged
// or out of order, and for each node whose label or decision is not what the last entry about it says. If
// kv.Tx.SetLabel changed the label of a decided node, Check reports this too, because it looks like a lost decision.
// Use Write to change such a label. If all decisions about a node were taken back, its label may be any. Entries about
// a removed node stay, and are compared with each other only. Check returns an error only if it cannot continue, such
// as ctx.Err().
func Check(ctx context.Context, tx *kv.Tx, report func(kv.Problem)) error {
	c := historyChecker{tx: tx, report: report}
	if err := c.entries(ctx); err != nil {
		return err
	}
	return c.nodes(ctx)
}

// A historyChecker holds the data that the parts of one Check share.
type historyChecker struct {
	tx     *kv.Tx
	report func(kv.Problem)
	count  int64 // of entries that could be read
}

func (c *historyChecker) problem(format string, args ...any) {
	c.report(kv.Problem{Where: "history", What: fmt.Sprintf(format, args...)})
}

// entries checks that entries follow one another, are about nodes that are there, and are found by them.
func (c *historyChecker) entries(ctx context.Context) error {
	ids, err := c.tx.Reader("id")
	if err != nil {
		return err
	}
	var last historyRecord
	isAfterLost := false // which step may follow is lost too
	for e, err := range recordsFrom(ctx, c.tx, []byte{entryTag}) {
		if err != nil {
			return c.unreadable(ctx, err)
		}
		seq, err := parseEntryKey(e.Key)
		if err != nil {
			c.problem("%v", err)
			continue
		}
		if seq != last.Seq+1 {
			c.problem("entry %d follows entry %d", seq, last.Seq)
		}
		d, err := parseDecision(seq, e.Value)
		if err != nil {
			if isAfterLost = errors.Is(err, errLost); !isAfterLost {
				c.problem("%v", err)
			}
			last.Seq, last.place = seq, last.place+1
			continue
		}
		c.count++
		if !isAfterLost || d.Step < last.Step {
			c.follows(d, last)
		}
		isAfterLost = false
		c.about(d, ids)
		last = d
	}
	return nil
}

// unreadable reports an error that ended a scan, unless it is that of ctx, which it returns.
func (c *historyChecker) unreadable(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		c.problem("%v", err)
	}
	return ctx.Err()
}

// follows checks an entry against the one before it.
func (c *historyChecker) follows(d, last historyRecord) {
	next := d.Step == last.Step && d.place == last.place+1 || d.Step == last.Step+1 && d.place == 0
	if !next {
		c.problem("entry %d is place %d of step %d, after place %d of step %d", d.Seq, d.place, d.Step, last.place, last.Step)
	}
	if d.EntryTime.Before(last.EntryTime) {
		c.problem("entry %d was entered at %s, before the entry before it", d.Seq, d.EntryTime.Format(time.RFC3339Nano))
	}
}

// about checks that the node of an entry is there and leads to it, and so does what the entry takes back.
func (c *historyChecker) about(d historyRecord, ids *kv.ColumnReader) {
	id, err := ids.At(d.Node)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		c.problem("entry %d is about node number %d of %d", d.Seq, d.Node, c.tx.NumNodes())
		return
	case err != nil:
		c.problem("entry %d: %v", d.Seq, err)
	case id.IsNull(): // it was removed
	case id.String() != d.ID && !strings.HasPrefix(id.String(), kv.LostPrefix): // else the entry alone knows the id
		c.problem("entry %d is about node %q, and node number %d is %q", d.Seq, d.ID, d.Node, id)
	}
	if _, err := c.tx.Space(historySpace).Get(nodeKey(d.Node, d.Seq)); err != nil {
		c.problem("entry %d is not found by its node %s: %v", d.Seq, d.ID, err)
	}
	if d.Undoes == 0 {
		return
	}
	undone, err := readDecision(c.tx, d.Undoes)
	switch {
	case errors.Is(err, errLost):
	case err != nil:
		c.problem("entry %d takes back one that cannot be read: %v", d.Seq, err)
	case undone.Undoes != 0 || undone.Node != d.Node || undone.Kind != d.Kind || undone.From != d.Label ||
		undone.Before != d.After || undone.WasDisputed != d.Disputed:
		c.problem("entry %d does not take entry %d back", d.Seq, d.Undoes)
	}
}

// nodes checks the keys by node, and the columns of every node.
func (c *historyChecker) nodes(ctx context.Context) error {
	keys := int64(0)
	for e, err := range recordsFrom(ctx, c.tx, []byte{nodeTag}) {
		if err != nil {
			return c.unreadable(ctx, err)
		}
		if _, _, ok := parseNodeKey(e.Key); !ok {
			c.problem("there is an entry under %x", e.Key)
			continue
		}
		keys++
	}
	if keys != c.count {
		c.problem("%d entries are found by their nodes, of %d that can be read", keys, c.count)
	}
	damaged := map[string]bool{} // columns, of whose other blocks nothing is said
	err := compareNodes(ctx, c.tx, kv.Range{End: kv.NodeID(c.tx.NumNodes())}, func(d difference) error {
		id, err := c.tx.ID(d.node)
		if err = errors.Join(d.err, err); err == nil {
			c.problem("node %s has the %s %q, and its history says %q", id, d.column.name, d.is, d.want)
		} else if !damaged[d.column.name] {
			damaged[d.column.name] = true
			c.problem("%s of node number %d: %v", d.column.name, d.node, err)
		}
		return nil
	})
	if err != nil {
		return c.unreadable(ctx, err)
	}
	return nil
}

// A difference is a value of a node that differs from the history, or cannot be read.
type difference struct {
	node     kv.NodeID
	column   *entryColumn
	is, want kv.Value
	err      error
}

// compareNodes compares the columns of nodes with the entries about them, of which it passes over what cannot be read,
// and calls fn for each difference.
func compareNodes(ctx context.Context, tx *kv.Tx, nodes kv.Range, fn func(difference) error) error {
	removed, err := tx.Removed()
	if err != nil {
		return err
	}
	var read [len(entryColumns)]func(kv.NodeID) (kv.Value, error)
	for i, column := range entryColumns {
		if read[i], err = readColumn(tx, column.name); err != nil {
			return err
		}
	}
	people := entryReader{ctx: ctx, tx: tx}
	defer people.stop()
	for v := nodes.First; v < nodes.End; v++ {
		if v%lookEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var s standing
		err := people.of(v, &s)
		if people.err != nil {
			return people.err
		}
		if err != nil && !errors.Is(err, kv.ErrCorrupt) {
			return err
		}
		if err != nil || removed.Has(v) {
			continue
		}
		d := &draft{decidedBy: s.decidedBy()}
		d.Label, d.After = s.last.Label, s.last.After
		_, d.Disputed = s.words()
		for i := range entryColumns {
			column := &entryColumns[i]
			if column.name == ScoreColumn || column.name == kv.LabelColumn && d.After == None {
				continue
			}
			is, err := read[i](v)
			if err == nil && column.holds(is, column.value(d)) {
				continue
			}
			if err := fn(difference{node: v, column: column, is: is, want: column.value(d), err: err}); err != nil {
				return err
			}
		}
	}
	return nil
}
