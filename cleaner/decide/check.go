package decide

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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

// A historyChecker is what the parts of one Check share.
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
	for e, err := range recordsFrom(ctx, c.tx, []byte{entryTag}) {
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			c.problem("%v", err)
			return nil // a record that cannot be read is the last of a scan
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
			c.problem("%v", err)
			last = historyRecord{Decision: Decision{Seq: seq, Step: last.Step, EntryTime: last.EntryTime}, place: last.place + 1}
			continue
		}
		c.count++
		c.follows(d, last)
		c.about(d, ids)
		last = d
	}
	return nil
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
	case id.String() != d.ID && !isMadeUp(id.String()): // else the entry alone knows the id
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
	case err != nil:
		c.problem("entry %d takes back one that cannot be read: %v", d.Seq, err)
	case undone.Why == lostEntryWhy: // it says what is known of the lost one
	case undone.Undoes != 0 || undone.Node != d.Node || undone.Kind != d.Kind || undone.From != d.Label || undone.Before != d.After || undone.WasDisputed != d.Disputed:
		c.problem("entry %d does not take entry %d back", d.Seq, d.Undoes)
	}
}

// nodes checks label and decision of every node by the last entry about it.
func (c *historyChecker) nodes(ctx context.Context) error {
	labels, err := c.tx.Reader(kv.LabelColumn)
	if err != nil {
		return err
	}
	decisions, err := c.tx.Reader(Column)
	if errors.Is(err, kv.ErrNoColumn) {
		if c.count > 0 {
			c.problem("there are %d entries, and no column %s", c.count, Column)
		}
		return nil
	}
	if err != nil {
		return err
	}
	removed, err := c.tx.Removed()
	if err != nil {
		return err
	}
	people, err := c.newPeopleChecker(ctx)
	if err != nil {
		return err
	}
	defer people.reader.stop()
	next := kv.NodeID(0) // the first node whose decision was not compared
	checkUndecided := func(end kv.NodeID) error {
		for ; next < end; next++ {
			if next%lookEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			word, err := decisions.At(next)
			if err != nil {
				c.problem("node number %d: %v", next, err)
				next = end // its block is damaged: what is in it is not known
				return nil
			}
			if !word.IsNull() {
				c.problem("node number %d has the decision %q, and no entry is about it", next, word)
			}
			people.compare(next, &standing{})
		}
		return nil
	}
	var count int64
	node, last := kv.NoNode, int64(0)
	compare := func() error {
		if node == kv.NoNode || int64(node) >= int64(c.tx.NumNodes()) {
			return nil
		}
		if err := checkUndecided(node); err != nil {
			return err
		}
		next = node + 1
		if removed.Has(node) {
			return nil
		}
		c.compare(node, last, labels, decisions)
		if standing, err := people.reader.of(node); err == nil { // else the entry was reported
			people.compare(node, standing)
		}
		return nil
	}
	for e, err := range c.tx.Space(historySpace).Ascend([]byte{nodeTag}) {
		if err != nil {
			c.problem("%v", err)
			return nil
		}
		v, seq, ok := parseNodeKey(e.Key)
		if !ok {
			c.problem("there is an entry under %x", e.Key)
			continue
		}
		if v != node {
			if err := compare(); err != nil {
				return err
			}
		}
		count, node, last = count+1, v, seq
	}
	if err := compare(); err != nil {
		return err
	}
	if count != c.count {
		c.problem("%d entries are found by their nodes, of %d that can be read", count, c.count)
	}
	return checkUndecided(kv.NodeID(c.tx.NumNodes()))
}

// compare compares a node with the last entry about it.
func (c *historyChecker) compare(v kv.NodeID, seq int64, labels, decisions *kv.ColumnReader) {
	d, err := readDecision(c.tx, seq)
	if err != nil {
		c.problem("node number %d: %v", v, err)
		return
	}
	label, err := labels.At(v)
	if err != nil || d.After != None && label.Str() != d.Label {
		c.problem("node %s has the label %q, and its last entry, %d, says %q%s", d.ID, label, seq, d.Label, orNothing(err))
	}
	word, err := decisions.At(v)
	if err != nil || word != d.After.value() {
		c.problem("node %s has the decision %q, and its last entry, %d, says %q%s", d.ID, word, seq, d.After, orNothing(err))
	}
}

// A peopleChecker compares DecidedByColumn and DisputedColumn with the history. It checks nothing where an
// entry about the node was lost: then the columns alone know of it.
type peopleChecker struct {
	checker   *historyChecker
	reader    standingReader
	decidedBy *kv.ColumnReader // nil: there are no decisions
	disputes  disputeReader
}

func (c *historyChecker) newPeopleChecker(ctx context.Context) (p *peopleChecker, err error) {
	p = &peopleChecker{}
	p.checker, p.reader = c, standingReader{ctx: ctx, tx: c.tx}
	if _, there := c.tx.Column(DecidedByColumn); !there {
		return p, ctx.Err()
	}
	if p.decidedBy, err = c.tx.Reader(DecidedByColumn); err == nil {
		p.disputes, err = newDisputeReader(c.tx)
	}
	return p, err
}

// compare compares a node with the standing decisions about it.
func (p *peopleChecker) compare(v kv.NodeID, s *standing) {
	if p.decidedBy == nil || s.lost {
		return
	}
	if got, err := p.decidedBy.At(v); err != nil || got != s.decidedBy() {
		p.checker.problem("node number %d was decided on by %q, and the history says %q%s", v, got, s.decidedBy(), orNothing(err))
	}
	_, want := s.words()
	if got, err := p.disputes.at(v); err != nil || got != want {
		p.checker.problem("node number %d is disputed: %v, and the history says %v%s", v, got, want, orNothing(err))
	}
}

// orNothing puts an error behind a sentence, where there is one.
func orNothing(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// isMadeUp reports whether a repair has made up an id.
func isMadeUp(id string) bool {
	_, err := strconv.ParseUint(strings.ReplaceAll(id, kv.LostPrefix, ""), 10, 32)
	return err == nil && strings.HasPrefix(id, kv.LostPrefix)
}
