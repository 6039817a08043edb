package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/naming"
	"github.com/graphcleaner/graphcleaner/internal/namelist"
	"github.com/graphcleaner/graphcleaner/kv"
)

// lookEvery is how many entries or nodes are read between two looks at the context.
const lookEvery = 512

// A StepWriter takes the decisions of WriteSteps, one step after another.
type StepWriter struct {
	ctx     context.Context
	tx      *kv.Tx
	removed kv.NodeSet
	classes map[string]bool // of the store; nil before the first Relabel

	// its Seq is that of the last entry, all else is of the step that began; place is of the next entry
	last    historyRecord
	isBegun bool // a step has begun
	drafts  []*draft
	most    int // drafts that memory is for
}

// newStepWriter begins where the history ends.
func newStepWriter(ctx context.Context, tx *kv.Tx, most int) (*StepWriter, error) {
	last, err := lastDecision(tx)
	if err != nil {
		return nil, err
	}
	removed, err := tx.Removed()
	return &StepWriter{ctx: ctx, tx: tx, removed: removed, last: last, most: most}, err
}

// Begin begins a step. A step without decisions is not written. A step may have one decision about a node.
func (w *StepWriter) Begin(opt Options) error {
	opt, err := opt.withDefaults()
	if err != nil {
		return fmt.Errorf("decision: %w", err)
	}
	w.isBegun, w.last.place = true, 0
	w.last.Who, w.last.Why, w.last.Time = opt.Who, opt.Why, opt.Time
	return nil
}

// Add adds a decision to the step that began last.
func (w *StepWriter) Add(req Request) error {
	if int64(req.Node) >= int64(w.tx.NumNodes()) {
		return cmp.Or(w.tx.Err(), fmt.Errorf("node number %d of %d: %w", req.Node, w.tx.NumNodes(), kv.ErrNotFound))
	}
	var err error
	switch {
	case w.removed.Has(req.Node):
		return fmt.Errorf("node number %d: it was removed: %w", req.Node, kv.ErrNotFound)
	case !w.isBegun:
		err = fmt.Errorf("decision before a step was begun: %w", ErrOptions)
	case !req.Kind.isDecision():
		err = fmt.Errorf("%s: want accept, reject, relabel, unlabel or unsure: %w", req.Kind, ErrOptions)
	case req.Kind == Relabel && !w.hasClass(req.To):
		err = fmt.Errorf("relabel: class %q: the store has %s: %w", req.To, namelist.Of(w.tx.Classes()), ErrUnknownClass)
	case req.Kind != Relabel && req.To != "":
		err = fmt.Errorf("%s with the label %q, which goes with relabel: %w", req.Kind, req.To, ErrOptions)
	}
	if err != nil {
		return naming.Node(w.tx, req.Node, err)
	}
	d := &draft{shown: req.View}
	d.Node, d.Kind, d.To = req.Node, req.Kind, req.To
	return w.add(d)
}

func (w *StepWriter) hasClass(name string) bool {
	if w.classes == nil {
		w.classes = make(map[string]bool)
		for _, class := range w.tx.Classes() {
			w.classes[class] = true
		}
	}
	return w.classes[name]
}

// add gives a draft its place in the history.
func (w *StepWriter) add(d *draft) error {
	switch {
	case len(w.drafts) == w.most:
		return kv.ErrTxTooBig
	case len(w.drafts)%lookEvery == 0 && w.ctx.Err() != nil:
		return w.ctx.Err()
	}
	if w.last.place == 0 {
		w.last.Step++
	}
	w.last.Seq++
	d.Seq, d.Step, d.place = w.last.Seq, w.last.Step, w.last.place
	d.Time, d.Who, d.Why = w.last.Time, w.last.Who, w.last.Why
	w.last.place++
	w.drafts = append(w.drafts, d)
	return nil
}

// A draft is an entry whose node has not been read: complete makes an entry of it. It has To only for Relabel and undo.
type draft struct {
	historyRecord

	shown    *View // the node as the person saw it; nil: do not compare
	unscored bool  // of an undo: the score of the node goes

	// Of an entry.
	decidedBy kv.Value // the value of DecidedByColumn after it
	isRemoved bool     // the node was removed: only the history changes
}

// A nodeFacts is all that an entry says of its node.
type nodeFacts struct {
	View
	entries []Decision // about it, the oldest first
	id      string     // "": the node was removed
	score   float64    // NaN: none
}

// A Reader reads nodes as a person would be shown them, fastest in ascending order. It belongs to one goroutine.
type Reader struct {
	columns [len(readColumns)]func(kv.NodeID) (kv.Value, error)
}

var readColumns = [...]string{kv.LabelColumn, SuggestedColumn, Column, RunColumn, DisputedColumn, ScoreColumn, "id"}

// NewReader returns a Reader of a snapshot, or of what an Update sees.
func NewReader(tx *kv.Tx) (r *Reader, err error) {
	r = &Reader{}
	for i, name := range readColumns {
		if r.columns[i], err = readColumn(tx, name); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// readColumn returns a function that reads the values of a column, fastest in ascending order. They are null if the
// store has no such column.
func readColumn(tx *kv.Tx, name string) (func(kv.NodeID) (kv.Value, error), error) {
	if tx.InUpdate() { // few nodes: their blocks would have to be made of many small records
		return func(v kv.NodeID) (kv.Value, error) { return valueOrNull(tx, v, name) }, nil
	}
	if _, there := tx.Column(name); !there {
		return func(kv.NodeID) (kv.Value, error) { return kv.Value{}, nil }, nil
	}
	column, err := tx.Reader(name)
	if err != nil {
		return nil, err
	}
	return column.At, nil
}

// View reads a node.
func (r *Reader) View(v kv.NodeID) (View, error) {
	f, err := r.facts(v)
	return f.View, err
}

// facts reads all but the entries.
func (r *Reader) facts(v kv.NodeID) (f nodeFacts, err error) {
	var values [len(readColumns)]kv.Value
	for i, read := range r.columns {
		if values[i], err = read(v); err != nil {
			return f, err
		}
	}
	f.Label, f.Suggestion, f.Run, f.Disputed = values[0].Str(), values[1].Str(), values[3].Int(), values[4].Bool()
	f.score, f.id = values[5].Float(), values[6].String() // NaN and "" of null
	f.Decision, err = ParseColumn(values[2])
	return f, err
}

// complete makes an entry of a draft, and updates the facts to those after it. The error is a *ChangedError of one node
// where the node is not as it was shown.
func (d *draft) complete(f *nodeFacts) error {
	if d.isRemoved = f.id == ""; d.isRemoved {
		d.unscored = false
		return nil
	}
	if d.shown != nil && *d.shown != f.View {
		return &ChangedError{ID: f.id, Was: *d.shown, Now: f.View}
	}
	stands := standing(f.entries)
	if last := len(stands) - 1; d.Undoes != 0 && last >= 0 && stands[last].Seq > d.Undoes {
		return &LaterDecisionError{ID: f.id}
	}
	d.ID, d.From, d.Before, d.WasDisputed, d.Run, d.Score = f.id, f.Label, f.Decision, f.Disputed, f.Run, f.score
	if d.Undoes == 0 {
		switch d.Kind {
		case Accept:
			if f.Suggestion == "" {
				return fmt.Errorf("node %s has %w to accept: clean and rescore make suggestions", f.id, ErrNoSuggestion)
			}
			d.To = f.Suggestion
		case Reject, Unlabel:
			isOther := func(earlier Decision) bool { return earlier.Who != d.Who }
			agrees := d.Kind == Unlabel && slices.ContainsFunc(stands, isOther) // that no label is right
			if f.Label == "" && !agrees {
				return fmt.Errorf("node %s has %w to %s", f.id, ErrNoLabel, d.Kind)
			}
			if d.Kind == Reject {
				d.To = f.Label
			}
		case Unsure:
			d.To = f.Label
		}
	}
	f.entries = append(f.entries, d.Decision)
	if d.Undoes == 0 {
		d.settle(f.entries)
	}
	d.decidedBy = decidedBy(f.entries)
	if f.Label, f.Decision, f.Disputed = d.Label, d.After, d.Disputed; d.unscored {
		f.score = math.NaN()
	}
	return nil
}

// ParseColumn is the Kind that a value of Column stands for; kv.ErrCorrupt for a word that is none.
func ParseColumn(word kv.Value) (Kind, error) {
	if word.IsNull() {
		return None, nil
	}
	kind, err := ParseKind(word.Str())
	if err != nil {
		return None, fmt.Errorf("column %s is %q: %w", Column, word.Str(), kv.ErrCorrupt)
	}
	return kind, nil
}

// valueOrNull is a value of a node, null if the store has no such column, or the node was removed.
func valueOrNull(tx *kv.Tx, v kv.NodeID, column string) (kv.Value, error) {
	value, err := tx.Value(v, column)
	if errors.Is(err, kv.ErrNoColumn) || errors.Is(err, kv.ErrNotFound) {
		return kv.Value{}, nil
	}
	return value, err
}

// A ChangedError says that nothing was decided, because nodes have changed since they were shown. It is an ErrChanged.
type ChangedError struct {
	Count    int64  // of the nodes
	ID       string // of the first of them, in the order of the requests
	Was, Now View   // that node
}

// Is reports that it is an ErrChanged.
func (e *ChangedError) Is(target error) bool { return target == ErrChanged }

// Error reads "2 nodes have changed since they were shown, such as p17: the suggestion was Theory, is Systems".
func (e *ChangedError) Error() string {
	if e.Count == 1 {
		return fmt.Sprintf("node %s has changed since it was shown: %s", e.ID, e.change())
	}
	return fmt.Sprintf("%d nodes have changed since they were shown, such as %s: %s", e.Count, e.ID, e.change())
}

// change names the values that have changed.
func (e *ChangedError) change() string {
	text := func(label string) string { return cmp.Or(label, "none") }
	switch {
	case e.Was.Label != e.Now.Label:
		return fmt.Sprintf("the label was %s, is %s", text(e.Was.Label), text(e.Now.Label))
	case e.Was.Suggestion != e.Now.Suggestion:
		return fmt.Sprintf("the suggestion was %s, is %s", text(e.Was.Suggestion), text(e.Now.Suggestion))
	case e.Now.Disputed && !e.Was.Disputed:
		return "people disagree about its label since"
	case e.Was.Disputed && !e.Now.Disputed:
		return "people do not disagree about its label any more"
	case e.Was.Decision != e.Now.Decision:
		return fmt.Sprintf("the decision was %s, is %s", text(e.Was.Decision.String()), text(e.Now.Decision.String()))
	default:
		return fmt.Sprintf("its score was of run %d, is of run %d", e.Was.Run, e.Now.Run)
	}
}
