package cleaner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/kv"
)

// DecisionColumn has the decision in force for a node, by the name of its DecisionKind; null where nobody has decided,
// or all decisions were taken back. It is a string column, which the first decision makes.
const DecisionColumn = "decision"

// A DecisionKind is what a person says about the label of a node. The numbers are written to disk.
type DecisionKind uint8

// The kinds of decisions.
const (
	Accept  DecisionKind = 1 // the suggested label becomes the label
	Reject  DecisionKind = 2 // the label is right
	Relabel DecisionKind = 3 // a label that the person names becomes the label
	Unlabel DecisionKind = 4 // the label is removed, the node stays
	Unsure  DecisionKind = 5 // looked at and left as it is
)

// NoDecision is the DecisionKind of a node that nobody has decided on.
const NoDecision DecisionKind = 0

var decisionWords = [...]string{"", "accept", "reject", "relabel", "unlabel", "unsure"}

// String is the kind as it stands in DecisionColumn: accept, reject, relabel, unlabel or unsure; empty of NoDecision.
func (k DecisionKind) String() string {
	if int(k) < len(decisionWords) {
		return decisionWords[k]
	}
	return fmt.Sprintf("decision kind %d", uint8(k))
}

// isDecision reports whether the kind is one of the five.
func (k DecisionKind) isDecision() bool { return k != NoDecision && int(k) < len(decisionWords) }

// ParseDecisionKind is the inverse of DecisionKind.String, of the five kinds; ErrOptions for any other word.
func ParseDecisionKind(word string) (DecisionKind, error) {
	if k := slices.Index(decisionWords[1:], word); k >= 0 {
		return DecisionKind(k + 1), nil
	}
	return NoDecision, fmt.Errorf("decision %q: want accept, reject, relabel, unlabel or unsure: %w", word, ErrOptions)
}

// A Decision is one entry of the history: a decision about one node, or that one was taken back.
type Decision struct {
	Seq  int64 // 1, 2, … without gaps
	Step int64 // 1, 2, …: what one Decide made, or what Undo made to take one back

	// Times are UTC, to the microsecond. Entered is never before that of an earlier entry; Time can be, where decisions
	// are entered that were made elsewhere.
	Time    time.Time // when the decision was made
	Entered time.Time // when it came into this history

	Node kv.NodeID
	ID   string       // the node's external id
	Kind DecisionKind // of an entry that takes one back: that one's

	From, To      string       // label before and after; "" is none
	Before, After DecisionKind // what DecisionColumn says before and after

	Who, Why string
	Run      int64   // the run that last scored the node; 0: none
	Score    float64 // its score then; NaN: none

	Undoes int64 // Seq of the entry that this one takes back; 0: it is a decision

	// Unscored, of what Undo returns alone: the last run scored the node under the label that was taken back, and that
	// score is removed. The node is no suspect until it is cleaned again.
	Unscored bool
}

// A DecisionRequest asks for one decision.
type DecisionRequest struct {
	Node kv.NodeID
	Kind DecisionKind
	To   string // the label to give, of Relabel only
}

// DecideOptions says who decides.
type DecideOptions struct {
	Who  string           // at most MaxWho bytes of UTF-8
	Why  string           // at most MaxWhy bytes of UTF-8
	Made time.Time        // when the decision was made, of a year up to 9999; zero: Now
	Now  func() time.Time // nil: time.Now. Where it is behind the newest entry's Entered, that is taken for Entered.
}

// A DecisionStep is decisions that are made as one, and taken back as one.
type DecisionStep struct {
	Requests []DecisionRequest
	Options  DecideOptions
}

// Limits on what a decision says, in bytes.
const (
	MaxWho = 256
	MaxWhy = 4096
)

// withDefaults checks the options, and has Now stand still.
func (opt DecideOptions) withDefaults() (DecideOptions, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	now := opt.Now().UTC().Truncate(time.Microsecond)
	opt.Now = func() time.Time { return now }
	var err error
	if year := opt.Made.UTC().Year(); year < 1 || year > 9999 {
		err = fmt.Errorf("the year of Made is %d, want 1 to 9999: %w", year, ErrOptions)
	}
	return opt, errors.Join(checkRemark("Who", opt.Who, MaxWho), checkRemark("Why", opt.Why, MaxWhy), err)
}

// checkRemark checks a text that goes into the history.
func checkRemark(what, text string, limit int) error {
	switch {
	case len(text) > limit:
		return fmt.Errorf("%s has %d bytes, want at most %d: %w", what, len(text), limit, ErrOptions)
	case !utf8.ValidString(text):
		return fmt.Errorf("%s %q is not UTF-8: %w", what, text, ErrOptions)
	}
	return nil
}

// Decide writes decisions: labels, DecisionColumn and history in one step, which Undo takes back as one. All of it is
// on disk when Decide returns, or nothing of it has happened. Decisions come back in the order of the requests; of none
// there is no step. A node that was decided on before can be decided on again.
//
// What fits into a transaction is one, and its price does not depend on the size of the store. More is written by a
// kv.Bulk, which rewrites the columns, the index on label, and the history. It holds some 300 bytes a request.
//
// Every error names the node. Accept without a suggestion is ErrNoSuggestion; it may give a label to an unlabelled node.
// Reject and Unlabel of an unlabelled node are ErrUnlabelled. Relabel to a class that the store does not have is
// ErrUnknownClass: a slip of the pen does not make a class. A node that is asked for twice is ErrDecidedTwice, one that
// is not there kv.ErrNotFound. Requests and options that are no decision are ErrOptions.
func Decide(ctx context.Context, s *kv.Store, reqs []DecisionRequest, opt DecideOptions) ([]Decision, error) {
	return DecideSteps(ctx, s, []DecisionStep{{reqs, opt}})
}

// DecideSteps is Decide for several steps, in one write: all of them are on disk when it returns, or nothing has
// happened. A node may be asked for once in each step. Of a step without requests nothing is written.
func DecideSteps(ctx context.Context, s *kv.Store, steps []DecisionStep) ([]Decision, error) {
	var asked []DecisionStep
	for _, step := range steps {
		var err error
		if step.Options, err = step.Options.withDefaults(); err != nil {
			return nil, fmt.Errorf("decision: %w", err)
		}
		if len(step.Requests) > 0 {
			asked = append(asked, step)
		}
	}
	if len(asked) == 0 {
		return nil, ctx.Err()
	}
	return writeEntries(ctx, s, func(l *ledger) error {
		classes := make(map[string]bool, len(l.tx.Classes()))
		for _, name := range l.tx.Classes() {
			classes[name] = true
		}
		for _, step := range asked {
			if err := l.decideStep(ctx, step, classes); err != nil {
				return err
			}
		}
		return nil
	})
}

// decideStep makes the entries of a step.
func (l *ledger) decideStep(ctx context.Context, step DecisionStep, classes map[string]bool) error {
	if err := checkNodes(l.tx, step.Requests); err != nil {
		return err
	}
	l.beginStep(step.Options)
	for _, req := range step.Requests {
		if err := l.look(ctx); err != nil {
			return err
		}
		if err := l.decide(req, classes); err != nil {
			return nodeError(l.tx, req.Node, err)
		}
	}
	return nil
}

// checkNodes returns the error of a node that is not there, or that several requests are about.
func checkNodes(tx *kv.Tx, reqs []DecisionRequest) error {
	seen := make(map[kv.NodeID]struct{}, len(reqs))
	for _, req := range reqs {
		if int64(req.Node) >= int64(tx.NumNodes()) {
			return cmp.Or(tx.Err(), fmt.Errorf("node number %d of %d: %w", req.Node, tx.NumNodes(), kv.ErrNotFound))
		}
		if _, twice := seen[req.Node]; twice {
			return nodeError(tx, req.Node, ErrDecidedTwice)
		}
		seen[req.Node] = struct{}{}
	}
	return nil
}

// Undo takes back the last steps that were not taken back yet: the nodes get the labels and decisions from before them.
// That is written as Decide writes, at the end of the history, one step for each that is taken back, the latest first;
// nothing is deleted, and what Undo wrote is not taken back in turn. Where there are fewer such steps it is
// ErrNothingToUndo, and nothing is done.
//
// A label that was changed since by other means than decisions is set back all the same; From says what it was. A score
// of the label that is taken back, by a run after the decision, is removed: see Decision.Unscored.
func Undo(ctx context.Context, s *kv.Store, steps int, opt DecideOptions) ([]Decision, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	if steps < 1 {
		return nil, fmt.Errorf("undo %d steps: want 1 or more: %w", steps, ErrOptions)
	}
	return writeEntries(ctx, s, func(l *ledger) error {
		found, err := undoable(ctx, l.tx, l.seq, steps)
		if err != nil {
			return err
		}
		if l.seen, err = seenByLastRun(l.tx); err != nil {
			return err
		}
		if len(found) < steps {
			return fmt.Errorf("undo %d steps: %d can be taken back: %w", steps, len(found), ErrNothingToUndo)
		}
		for _, step := range found {
			l.beginStep(opt)
			for seq := step.last; seq >= step.first; seq-- {
				if err := l.look(ctx); err != nil {
					return err
				}
				if err := l.takeBack(seq); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// A stepRange is the entries of one step.
type stepRange struct{ first, last int64 }

// undoable are up to limit steps that can be taken back, the latest first, of a history of last entries.
func undoable(ctx context.Context, tx *kv.Tx, last int64, limit int) (found []stepRange, err error) {
	back := map[int64]bool{} // steps that were taken back
	for seq := last; seq > 0 && len(found) < limit; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := readDecision(tx, seq)
		if err != nil {
			return nil, err
		}
		first := seq - d.place
		switch {
		case d.Undoes != 0:
			undone, err := readDecision(tx, d.Undoes)
			if err != nil {
				return nil, err
			}
			back[undone.Step] = true
		case !back[d.Step]:
			found = append(found, stepRange{first, seq})
		}
		seq = first - 1
	}
	return found, nil
}

// A nodeState is what decisions change of a node.
type nodeState struct {
	label    string // "" is none
	decision DecisionKind
}

// A ledger makes entries at the end of the history.
type ledger struct {
	tx       *kv.Tx
	who, why string    // of the step
	time     time.Time // of the step
	entered  time.Time // of the newest entry, and of the step
	seq      int64     // of the newest entry
	step     int64     // of the newest entry
	place    int64     // of the next entry in its step
	seen     int64     // the newest entry that the last run has seen

	made []Decision

	// write makes an entry count. It leaves what tx does not show at once in changed.
	write   func(d historyRecord) error
	changed map[kv.NodeID]nodeState
}

// newLedger begins where the history ends.
func newLedger(tx *kv.Tx) (*ledger, error) {
	last, err := lastDecision(tx)
	if err != nil {
		return nil, err
	}
	return &ledger{tx: tx, seq: last.Seq, step: last.Step, entered: last.Entered}, nil
}

// beginStep begins a step of options with their defaults.
func (l *ledger) beginStep(opt DecideOptions) {
	l.step, l.place = l.step+1, 0
	l.who, l.why = opt.Who, opt.Why
	now := opt.Now()
	if l.time = now; !opt.Made.IsZero() {
		l.time = opt.Made.UTC().Truncate(time.Microsecond)
	}
	if now.After(l.entered) {
		l.entered = now
	}
}

// look is ctx.Err(), looked at every few hundred entries.
func (l *ledger) look(ctx context.Context) error {
	if len(l.made)%lookEvery == 0 {
		return ctx.Err()
	}
	return nil
}

// state is what the node is like by the entries so far.
func (l *ledger) state(v kv.NodeID) (nodeState, error) {
	if state, ok := l.changed[v]; ok {
		return state, nil
	}
	return readState(l.tx, v)
}

// readState reads what decisions change of a node.
func readState(tx *kv.Tx, v kv.NodeID) (state nodeState, err error) {
	label, err := tx.Value(v, kv.LabelColumn)
	if err != nil {
		return state, err
	}
	word, err := valueOrNull(tx, v, DecisionColumn)
	if err != nil {
		return state, err
	}
	state.label = label.Str()
	state.decision, err = parseStored(word)
	return state, err
}

// parseStored is the kind of a value of DecisionColumn.
func parseStored(word kv.Value) (DecisionKind, error) {
	if word.IsNull() {
		return NoDecision, nil
	}
	kind, err := ParseDecisionKind(word.Str())
	if err != nil {
		return NoDecision, fmt.Errorf("column %s is %q: %w", DecisionColumn, word.Str(), kv.ErrCorrupt)
	}
	return kind, nil
}

// valueOrNull is a value of a node, null where the store has no such column.
func valueOrNull(tx *kv.Tx, v kv.NodeID, column string) (kv.Value, error) {
	value, err := tx.Value(v, column)
	if errors.Is(err, kv.ErrNoColumn) {
		return kv.Value{}, nil
	}
	return value, err
}

// decide makes the entry of a request.
func (l *ledger) decide(req DecisionRequest, classes map[string]bool) error {
	before, err := l.state(req.Node)
	if err != nil {
		return err
	}
	d := Decision{
		Node: req.Node, Kind: req.Kind, From: before.label, To: before.label, Before: before.decision, After: req.Kind,
	}
	if req.To != "" && req.Kind != Relabel {
		return fmt.Errorf("%s with the label %q, which goes with relabel: %w", req.Kind, req.To, ErrOptions)
	}
	switch req.Kind {
	case Accept:
		suggested, err := valueOrNull(l.tx, req.Node, SuggestedColumn)
		if err != nil {
			return err
		}
		if suggested.IsNull() {
			return fmt.Errorf("accept: %w", ErrNoSuggestion)
		}
		d.To = suggested.Str()
	case Reject, Unlabel:
		if before.label == "" {
			return fmt.Errorf("%s: %w", req.Kind, ErrUnlabelled)
		}
		if req.Kind == Unlabel {
			d.To = ""
		}
	case Relabel:
		if !classes[req.To] {
			return fmt.Errorf("relabel: class %q: the store has %s: %w", req.To, listClasses(l.tx.Classes()), ErrUnknownClass)
		}
		d.To = req.To
	case Unsure:
	default:
		return fmt.Errorf("%s: want accept, reject, relabel, unlabel or unsure: %w", req.Kind, ErrOptions)
	}
	return l.enter(d)
}

// takeBack makes the entry that takes one back.
func (l *ledger) takeBack(seq int64) error {
	undone, err := readDecision(l.tx, seq)
	if err != nil {
		return err
	}
	now, err := l.state(undone.Node)
	if err != nil {
		return err
	}
	return l.enter(Decision{
		Node: undone.Node, Kind: undone.Kind, From: now.label, To: undone.From, Before: now.decision, After: undone.Before,
		Undoes: seq, Unscored: seq <= l.seen && undone.From != undone.To,
	})
}

// seenByLastRun is the newest entry whose label the last run has seen; 0 without a run.
func seenByLastRun(tx *kv.Tx) (int64, error) {
	run, err := lastRun(tx)
	if errors.Is(err, kv.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return run.Decisions, nil
}

// enter completes an entry and writes it.
func (l *ledger) enter(d Decision) error {
	var err error
	if d.ID, err = l.tx.ID(d.Node); err != nil {
		return err
	}
	score, err := valueOrNull(l.tx, d.Node, ScoreColumn)
	if err != nil {
		return err
	}
	run, err := valueOrNull(l.tx, d.Node, RunColumn)
	if err != nil {
		return err
	}
	d.Score, d.Run = math.NaN(), run.Int()
	if !score.IsNull() {
		d.Score = score.Float()
	}
	d.Seq, d.Step, d.Time, d.Entered, d.Who, d.Why = l.seq+1, l.step, l.time, l.entered, l.who, l.why
	if err := l.write(historyRecord{d, l.place}); err != nil {
		return err
	}
	l.seq++
	l.place++
	l.made = append(l.made, d)
	return nil
}
