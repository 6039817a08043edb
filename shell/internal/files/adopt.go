package files

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// An Adoption is the outcome of adopting the decisions of a file.
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
// decided. What the store has already is left alone, so that a file can be taken again.
func Adopt(ctx context.Context, store *kv.Store, path string, opt Adopting) (Adoption, error) {
	a := &adopter{path: path, Adopting: opt}
	err := store.View(func(tx *kv.Tx) error {
		filed, err := readDecisions(ctx, path, tx, opt)
		if err != nil {
			return err
		}
		if a.shown, err = decide.NewReader(tx); err != nil {
			return err
		}
		return a.plan(ctx, tx, filed)
	})
	if err != nil {
		return a.Adoption, err
	}
	now := time.Now()
	made, err := decide.WriteSteps(ctx, store, func(w *decide.StepWriter) error {
		return a.decide(w, now)
	})
	if err != nil {
		return a.Adoption, err
	}
	if n := len(made); n > 0 {
		a.Adoption.Count, a.Steps = int64(n), made[n-1].Step-made[0].Step+1
	}
	return a.Adoption, nil
}

// An adopter takes the decisions of a file.
type adopter struct {
	Adoption
	Adopting
	path  string
	shown *decide.Reader
	taken []*filedDecision
}

// plan compares what the file says about each node with the store. Decisions that the file says were taken back are
// dropped, and of several of one person about one node the last counts.
func (a *adopter) plan(ctx context.Context, tx *kv.Tx, filed []filedDecision) error {
	slices.SortStableFunc(filed, func(x, y filedDecision) int { return cmp.Compare(x.Node, y.Node) })
	for len(filed) > 0 {
		count := 1
		for count < len(filed) && filed[count].Node == filed[0].Node {
			count++
		}
		var of []filedDecision // about one node, in the order of the file
		for _, d := range filed[:count] {
			if d.Undoes == 0 {
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
		if err := a.compare(ctx, tx, of); err != nil {
			return err
		}
		filed = filed[count:]
	}
	slices.SortFunc(a.taken, func(x, y *filedDecision) int { return cmp.Compare(x.Line, y.Line) })
	return nil
}

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
		if slices.ContainsFunc(of[i+1:], func(later filedDecision) bool { return later.Who == d.Who }) {
			continue
		}
		kind := a.against(d, now, labels, standpointOf(d, stands, !isFirst))
		if kind == decide.None {
			continue
		}
		if !labelStays {
			kind = d.whateverLabel()
		}
		d.Request = d.request(kind)
		if isFirst {
			d.Request.View = &now
		}
		isFirst, labelStays = false, labelStays && (kind == decide.Reject || kind == decide.Unsure)
		a.taken = append(a.taken, d)
	}
	return nil
}

// decide names the decisions that are taken, in the order of the file. Neighbouring ones of one moment, person and
// reason become one step.
func (a *adopter) decide(w *decide.StepWriter, now time.Time) error {
	var step decide.Options
	for i, d := range a.taken {
		why := d.Why
		if why == "" && d.Kind == decide.None {
			why = "imported from " + wording.Short(filepath.Base(a.path))
		}
		if at := cmp.Or(d.Time, now); i == 0 || d.Who != step.Who || why != step.Why || !at.Equal(step.Time) {
			step = decide.Options{Who: d.Who, Why: why, Time: at}
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
