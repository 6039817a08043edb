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

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// An Adoption is what became of the decisions of a file.
type Adoption struct {
	Count, Steps int64
	Kinds        [decide.Unsure + 1]int64 // of those taken
	There        int                      // the store has them

	// Left out: those older than what the store has decided itself, and those about another label or suggestion than the
	// store has.
	Older, Other LeftOut
}

// LeftOut are decisions that were not taken: how many, and the ids of the first of them in the file.
type LeftOut struct {
	Count int
	Some  []string
	lines []int64 // of Some
}

// add counts a decision.
func (l *LeftOut) add(d *filedDecision) {
	const few = 5
	l.Count++
	at, _ := slices.BinarySearch(l.lines, d.Line)
	if at == few {
		return
	}
	l.Some, l.lines = slices.Insert(l.Some, at, d.ID), slices.Insert(l.lines, at, d.Line)
	l.Some, l.lines = l.Some[:min(len(l.Some), few)], l.lines[:min(len(l.lines), few)]
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
	show, err := shownReader(tx)
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
			if err := a.compare(ctx, tx, show, of); err != nil {
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
	return a.compare(ctx, tx, show, of)
}

// filedBytes is about what a filedDecision takes in memory beside its texts.
const filedBytes = 300

// compare compares what the file says about one node with the store.
func (a *adopter) compare(ctx context.Context, tx *kv.Tx, show func(kv.NodeID) (decide.View, error), of []filedDecision) error {
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
	now, err := show(of[0].Node)
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
			a.Older.add(d)
		case fateOther:
			a.Other.add(d)
		default:
			if !labelStays {
				request = d.request()
			}
			if isFirst {
				request.View = &now
			}
			isFirst, labelStays = false, labelStays && (request.Kind == decide.Reject || request.Kind == decide.Unsure)
			a.Kinds[request.Kind]++
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

// wordsOf are the decisions about a node that count: of each person the last. If several people have decided about a node that
// nobody has decided on here, all decisions of a history count, so that a dispute and its end come out as they were.
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

// decide names the decisions that are taken, in the order of the file. Neighbouring ones of one moment, person and reason
// become one step, as they were.
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

// decided is what the store has decided about a node; empty if no decision is in force.
type decided struct {
	history []decide.Decision
	stands  []decide.Decision // of history, what was not taken back
}

func decidedBefore(ctx context.Context, tx *kv.Tx, v kv.NodeID, now decide.View) (b decided, err error) {
	if now.Decision == decide.None {
		return b, nil
	}
	for d, err := range decide.History(ctx, tx, v) {
		if err != nil {
			return b, err
		}
		b.history = append(b.history, d)
		if d.Undoes == 0 {
			b.stands = append(b.stands, d)
		} else {
			b.stands = slices.DeleteFunc(b.stands, func(earlier decide.Decision) bool { return earlier.Seq == d.Undoes })
		}
	}
	return b, nil
}

// A standpoint is what the store has of the person who makes a decision, and of others.
type standpoint struct {
	last     time.Time        // when the person's last decision about the node was made, taken back or not; zero where there is none
	word     *decide.Decision // of the person; nil: none
	isOfNode bool             // the file names no person: all that the store has decided counts as said by the one who takes it
	others   bool             // others have decided on the node
	labels   []string         // that the node had by the decisions
}

// of is the standpoint of who made a decision of a file, "" if the file does not say; then who takes it makes it. If it is not the first
// about the node that is taken, others have decided.
func (b *decided) of(who, taker string, isFirst bool) standpoint {
	s := standpoint{isOfNode: who == "", others: !isFirst}
	who = cmp.Or(who, taker)
	for _, d := range b.history {
		s.labels = append(s.labels, d.From, d.To)
		if d.Who == who || s.isOfNode {
			s.last = d.Time
		}
	}
	for i, d := range b.stands {
		if d.Who == who {
			s.word = &b.stands[i]
		}
		s.others = s.others || d.Who != who
	}
	return s
}

// shownReader returns a function that reads nodes as a person would be shown them, fastest in ascending order.
func shownReader(tx *kv.Tx) (func(v kv.NodeID) (decide.View, error), error) {
	names := [...]string{kv.LabelColumn, cleaner.SuggestedColumn, decide.Column, cleaner.RunColumn, decide.DisputedColumn}
	var columns [len(names)]*kv.ColumnReader // nil of a column that the store does not have
	for i, name := range names {
		if _, there := tx.Column(name); there {
			var err error
			if columns[i], err = tx.Reader(name); err != nil {
				return nil, err
			}
		}
	}
	return func(v kv.NodeID) (shown decide.View, err error) {
		var values [len(names)]kv.Value
		for i, column := range columns {
			if column != nil && err == nil {
				values[i], err = column.At(v)
			}
		}
		if err == nil && !values[2].IsNull() {
			shown.Decision, err = decide.ParseKind(values[2].Str())
		}
		shown.Label, shown.Suggestion, shown.Run, shown.Disputed = values[0].Str(), values[1].Str(), values[3].Int(), values[4].Bool()
		return shown, err
	}, nil
}

type fate uint8

// What can become of a decision of a file.
const (
	fateTaken fate = iota
	fateThere      // the store has it
	fateOlder      // the store has a later one
	fateOther      // it is about another label, or another suggestion, than the store has
)

// against compares a decision with a node of the store, which had the labels passed by the file.
func (d *filedDecision) against(now decide.View, labels []string, of standpoint) (decide.Request, fate) {
	request := decide.Request{Node: d.Node, Kind: d.Kind}
	if d.Kind == decide.Accept && !d.HasTo {
		if now.Suggestion == "" {
			return request, fateOther
		}
		d.To, d.HasTo = now.Suggestion, true
	}
	if !d.HasTo {
		d.To = now.Label
	}
	switch isKnown := func(label string) bool { return slices.Contains(labels, label) }; {
	case of.isOfNode && d.isThere(now.Decision, now.Label), of.word != nil && d.isThere(of.word.Kind, of.word.To):
		return request, fateThere
	case of.word != nil && of.word.Kind == decide.Unsure && d.Kind == decide.Unsure && of.others:
		return request, fateThere // whatever label the others have given meanwhile
	case !d.Time.IsZero() && of.last.After(d.Time):
		return request, fateOlder
	case d.HasFrom && !isKnown(now.Label) && !slices.ContainsFunc(of.labels, isKnown):
		return request, fateOther
	case d.Kind == decide.Accept && !d.HasFrom && now.Suggestion != "" && d.To != now.Suggestion && d.To != now.Label:
		return request, fateOther
	case d.Kind == decide.Unsure && (d.To == now.Label || of.others):
		return request, fateTaken
	case d.To == "" && now.Label == "" && !of.others:
		// There is no label to remove, and none that could be right.
		return request, fateThere
	case d.To == "":
		request.Kind = decide.Unlabel
	case d.To == now.Suggestion && (d.Kind == decide.Accept || d.Kind != decide.Relabel && d.To != now.Label):
		request.Kind = decide.Accept
	case d.To == now.Label && d.Kind != decide.Relabel:
		request.Kind = decide.Reject
	default:
		request.Kind, request.To = decide.Relabel, d.To
	}
	return request, fateTaken
}

// isThere reports whether a decision is the one of the file. Accept, reject and relabel come to the same: that the label is right.
func (d *filedDecision) isThere(is decide.Kind, label string) bool {
	if is == decide.None || label != d.To {
		return false
	}
	says := func(kind decide.Kind) decide.Kind {
		switch kind {
		case decide.Accept, decide.Relabel:
			return decide.Reject
		}
		return kind
	}
	kind := d.Kind
	if kind == decide.None {
		kind = decide.Reject
		if d.To == "" {
			kind = decide.Unlabel
		}
	}
	return says(kind) == says(is)
}
