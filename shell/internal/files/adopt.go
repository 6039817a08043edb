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
	err = store.View(func(tx *kv.Tx) (err error) {
		if a.shown, err = decide.NewReader(tx); err != nil {
			return err
		}
		if err := readDecisions(ctx, path, tx, opt, a.rows); err != nil {
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
	shown    *decide.Reader
	rows     *spill.Sorter // what the file says, by node and line
	requests *spill.Sorter // what is taken of it, by line
}

// who made a decision of the file.
func (a *adopter) who(d *filedDecision) string { return cmp.Or(d.Who, a.Who) }

// plan compares what the file says about each node with the store. Decisions that the file says were taken back are
// dropped, and of several of one person about one node the last counts.
func (a *adopter) plan(ctx context.Context, tx *kv.Tx) error {
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
			if err := a.compare(ctx, tx, of); err != nil {
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
	return a.compare(ctx, tx, of)
}

// filedBytes is about what a filedDecision takes in memory beside its texts.
const filedBytes = 300

// compare compares what the file says about one node with the store.
func (a *adopter) compare(ctx context.Context, tx *kv.Tx, of []filedDecision) error {
	if len(of) == 0 {
		return nil
	}
	now, err := a.shown.View(of[0].Node)
	if err != nil {
		return err
	}
	stands, err := decide.Standing(ctx, tx, of[0].Node)
	if err != nil {
		return err
	}
	var labels []string // that the node had, by the file
	for i := range of {
		d := &of[i]
		if d.keeps() && !d.HasFrom { // it keeps the label that it names
			d.From, d.HasFrom = d.To, d.HasTo
		}
		if d.HasFrom {
			labels = append(labels, d.From)
		}
		if d.HasTo {
			labels = append(labels, d.To)
		}
	}
	isFirst, labelStays := true, true
	for i := range of {
		d := &of[i]
		if slices.ContainsFunc(of[i+1:], func(later filedDecision) bool { return a.who(&later) == a.who(d) }) {
			continue
		}
		request, fate := d.against(now, labels, a.standpointOf(d, stands, !isFirst))
		switch fate {
		case fateThere:
			a.There++
		case fateOlder:
			a.Older.add(d.ID)
		case fateOther:
			a.Other.add(d.ID)
		default:
			if !labelStays {
				request = d.request(d.whateverLabel())
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

// A takenDecision is taken of a file, with the request for it.
type takenDecision struct {
	filedDecision
	Request decide.Request
}

// decide names the decisions that are taken, in the order of the file. Neighbouring ones of one moment, person and
// reason become one step.
func (a *adopter) decide(ctx context.Context, w *decide.StepWriter, now func() time.Time) error {
	var step decide.Options
	isFirst := true
	for record, err := range a.requests.Records(ctx) {
		if err != nil {
			return err
		}
		var d takenDecision
		if err := json.Unmarshal(record.Value, &d); err != nil {
			return err
		}
		if d.Why == "" && d.Kind == decide.None {
			d.Why = "imported from " + wording.Short(filepath.Base(a.path))
		}
		if who := a.who(&d.filedDecision); isFirst || who != step.Who || d.Why != step.Why || !d.Time.Equal(step.Time) {
			step, isFirst = decide.Options{Who: who, Why: d.Why, Time: d.Time, Now: now}, false
			if err := w.Begin(step); err != nil {
				return err
			}
		}
		if err := w.Add(d.Request); err != nil {
			return err
		}
	}
	return nil
}
