package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// An Adoption is what became of the decisions of a file.
type Adoption struct {
	Count, Steps int64
	There        int // the store has them

	// Left out: those older than what the store has decided itself, and those about another label or suggestion than
	// the store has.
	Older, Other LeftOut
}

// LeftOut are decisions that were not taken: how many, and the ids of some.
type LeftOut struct {
	Count int
	Some  []string
}

// add counts a decision about a node.
func (l *LeftOut) add(id string) {
	const few = 5
	if l.Count++; len(l.Some) < few {
		l.Some = append(l.Some, id)
	}
}

// Adopting is how decisions are taken.
type Adopting struct {
	Job
	Who  string // decides where a file does not say
	Form Form   // of labels in the file
}

// Adopt decides in a store as a file says, in one write: all that it takes is on disk when it returns, or nothing is
// decided. What the store has already is left alone, so that a file can be taken again. The decisions wait in temporary
// files in the directory of the store.
func Adopt(ctx context.Context, store *kv.Store, path string, opt Adopting) (result Adoption, err error) {
	a := &adopter{
		path: path, Adopting: opt,
		rows: spill.New(store.Dir(), opt.Memory/sorterShare), requests: spill.New(store.Dir(), opt.Memory/sorterShare),
	}
	defer func() { err = errors.Join(err, a.rows.Close(), a.requests.Close()) }()
	err = store.View(func(tx *kv.Tx) error {
		if err := readDecisions(ctx, path, tx, opt, a.rows, &a.Other); err != nil {
			return err
		}
		return a.plan(ctx, tx)
	})
	if err != nil {
		return a.Adoption, err
	}
	now := time.Now()
	entries, err := decide.WriteSteps(ctx, store, func(w *decide.StepWriter) error {
		return a.decide(ctx, w, func() time.Time { return now })
	})
	if err != nil {
		return a.Adoption, err
	}
	a.Adoption.Count, a.Steps = entries.Len(), entries.Steps
	return a.Adoption, nil
}

// An adopter takes the decisions of a file.
type adopter struct {
	Adoption
	Adopting
	path     string
	rows     *spill.Sorter // what the file says, by node and line
	requests *spill.Sorter // what is taken of it, by line
}

// plan compares what the file says about each node with the store. Decisions that the file says were taken back are
// dropped, and of several of one person about one node the last counts.
func (a *adopter) plan(ctx context.Context, tx *kv.Tx) error {
	shown, err := decide.NewReader(tx)
	if err != nil {
		return err
	}
	var of []filedDecision // about one node, in the order of the file
	size := int64(0)       // bytes that they take
	for record, err := range a.rows.Records(ctx) {
		if err != nil {
			return err
		}
		var d filedDecision
		if err := json.Unmarshal(record.Value, &d); err != nil {
			return err
		}
		if len(of) > 0 && of[0].Node != d.Node {
			if err := a.compare(ctx, tx, shown, of); err != nil {
				return err
			}
			of, size = of[:0], 0
		}
		if d.Undoes == 0 {
			if size += filedBytes + int64(len(record.Value)); size > a.Memory/2 {
				return fmt.Errorf("%s:%d: node %s: %w", a.path, d.Line, d.ID,
					&ops.BudgetError{Job: "import of decisions", Budget: a.Memory, Least: 2 * a.Memory})
			}
			of = append(of, d)
			continue
		}
		// The latest of that number: files of several people, one after the other, count from 1 each.
		for i, earlier := range slices.Backward(of) {
			if earlier.Seq == d.Undoes {
				of = slices.Delete(of, i, i+1)
				break
			}
		}
	}
	return a.compare(ctx, tx, shown, of)
}

// filedBytes is about what a filedDecision takes in memory beside its texts.
const filedBytes = 300

// compare compares what the file says about one node with the store.
func (a *adopter) compare(ctx context.Context, tx *kv.Tx, shown *decide.Reader, of []filedDecision) error {
	if len(of) == 0 {
		return nil
	}
	var labels, decisions []string // labels that the node had by the file, and those of them that a decision gave it
	for i := range of {
		d := &of[i]
		if d.keeps() && !d.HasFrom && d.HasTo && !slices.Contains(decisions, d.To) {
			d.From, d.HasFrom = d.To, true // it keeps the label that it names
		}
		if d.HasFrom {
			labels = append(labels, d.From)
		}
		if d.HasTo {
			labels = append(labels, d.To)
		}
		if d.HasTo && !d.keeps() {
			decisions = append(decisions, d.To)
		}
	}
	now, err := shown.View(of[0].Node)
	if err != nil {
		return err
	}
	past, err := decidedBefore(ctx, tx, of[0].Node, now)
	if err != nil {
		return err
	}
	isFirst, labelStays := true, true
	for _, d := range a.wordsOf(of, now) {
		request, fate := d.against(now, labels, past.of(d.Who, a.Who, isFirst))
		switch fate {
		case fateThere:
			a.There++
		case fateOlder:
			a.Older.add(d.ID)
		case fateOther:
			a.Other.add(d.ID)
		default:
			if !labelStays {
				request = d.request()
			}
			if isFirst {
				request.View = &now
			}
			isFirst, labelStays = false, labelStays && (request.Kind == decide.Reject || request.Kind == decide.Unsure)
			body, err := json.Marshal(takenDecision{*d, request})
			if err == nil {
				err = a.requests.AddUint64(uint64(d.Line), body)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// wordsOf are the decisions about a node that count: of each person the last. If several people have decided about a
// node that nobody has decided on here, all decisions of a history count, so that a dispute and its end come out as
// they were.
func (a *adopter) wordsOf(of []filedDecision, now decide.View) (words []*filedDecision) {
	isHistory, isOfOne := now.Decision == decide.None, true
	for i := range of {
		isHistory = isHistory && of[i].Seq != 0
		isOfOne = isOfOne && cmp.Or(of[i].Who, a.Who) == cmp.Or(of[0].Who, a.Who)
	}
	for i := range of {
		speaksLater := slices.ContainsFunc(of[i+1:], func(later filedDecision) bool {
			return cmp.Or(later.Who, a.Who) == cmp.Or(of[i].Who, a.Who)
		})
		if !speaksLater || isHistory && !isOfOne {
			words = append(words, &of[i])
		}
	}
	return words
}

// request asks for what the decision says, whatever the label is.
func (d *filedDecision) request() decide.Request {
	switch {
	case d.Kind == decide.Unsure:
		return decide.Request{Node: d.Node, Kind: decide.Unsure}
	case d.To == "":
		return decide.Request{Node: d.Node, Kind: decide.Unlabel}
	}
	return decide.Request{Node: d.Node, Kind: decide.Relabel, To: d.To}
}

// A takenDecision is taken of a file, with the request for it.
type takenDecision struct {
	filedDecision
	Request decide.Request
}

// decide names the decisions that are taken, in the order of the file. Neighbouring ones of one moment, person and
// reason become one step, as they were.
func (a *adopter) decide(ctx context.Context, w *decide.StepWriter, now func() time.Time) error {
	var last takenDecision
	var why string // of last
	isFirst := true
	for record, err := range a.requests.Records(ctx) {
		if err != nil {
			return err
		}
		var d takenDecision
		if err := json.Unmarshal(record.Value, &d); err != nil {
			return err
		}
		opt := decide.Options{Who: cmp.Or(d.Who, a.Who), Why: d.Why, Time: d.Time, Now: now}
		if opt.Why == "" && d.Kind == decide.None {
			opt.Why = "imported from " + wording.Short(filepath.Base(a.path))
		}
		if isFirst || !last.isOfStep(&d.filedDecision) || why != opt.Why {
			if err := w.Begin(opt); err != nil {
				return err
			}
		}
		if err := w.Add(d.Request); err != nil {
			return err
		}
		last, why, isFirst = d, opt.Why, false
	}
	return nil
}

// isOfStep reports whether a decision that follows is of the same step.
func (d *filedDecision) isOfStep(next *filedDecision) bool {
	return d.Who == next.Who && d.Step == next.Step && d.Time.Equal(next.Time)
}
