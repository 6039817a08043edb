// Package decide keeps people's decisions about labels, in a history that only grows. It computes no score. It reads
// the results of the last run for a node, so that an entry can record the score that the person saw.
//
// [Write] makes decisions and [Undo] takes the last step of them back; [History] and [ChangesAfter] read them
// again. [Verdicts] returns the judgements about the given labels.
//
// # Several people
//
// The last decision of each person about a node is that person's word. [Words] returns the words. Unsure names no
// label. A node is disputed while no label has more words than every other. So two people who name different labels
// make a dispute, and a person who decides again disputes nothing.
//
// A disputed node keeps the label and the decision that it had before the dispute. The dispute ends as soon as one
// label has the most words: by the word of a third person, or because somebody decides again. It also ends with a
// decision that gives a reason (Options.Why), by anybody: then that decision is in force, and earlier words do not
// count any more. A later word of somebody else can begin another dispute.
//
// If the words do not differ, the first decision for a label stays in force. A person who is outvoted changes nothing.
package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Column has the decision in force for a node, by the name of its Kind; null if nobody has decided,
// or all decisions were taken back. It is a string column, which the first decision makes.
const Column = "decision"

// Columns about the people who decided. A decision in force keeps them in step with the history.
const (
	// string: the names of all who have decided on the node, sorted, with ", " between them; else null
	DecidedByColumn = "decided_by"
	DisputedColumn  = "disputed" // bool: true where people disagree, else null; see the package documentation
)

// Columns that a run writes. An entry keeps what they say of its node, and undoing can remove a score.
const (
	ScoreColumn     = "score"     // single: the chance that the given label is wrong; null if unlabelled
	SuggestedColumn = "suggested" // class: the label to accept
	RunColumn       = "run"       // int: the run that last scored the node
)

// A Kind is a person's statement about the label of a node. The numbers are written to disk.
type Kind uint8

// The kinds of decisions.
const (
	Accept  Kind = 1 // the suggested label becomes the label
	Reject  Kind = 2 // the label is right
	Relabel Kind = 3 // a label that the person names becomes the label
	Unlabel Kind = 4 // the label is removed, the node stays
	Unsure  Kind = 5 // looked at and left as it is
)

// None is the Kind of a node that nobody has decided on.
const None Kind = 0

var decisionWords = [...]string{"", "accept", "reject", "relabel", "unlabel", "unsure"}

// String is the kind as it stands in Column: accept, reject, relabel, unlabel or unsure; empty of None.
func (k Kind) String() string {
	if int(k) < len(decisionWords) {
		return decisionWords[k]
	}
	return fmt.Sprintf("decision kind %d", uint8(k))
}

// isDecision reports whether the kind is one of the five.
func (k Kind) isDecision() bool { return k != None && int(k) < len(decisionWords) }

// ParseKind is the inverse of Kind.String, of the five kinds; ErrOptions for any other word.
func ParseKind(word string) (Kind, error) {
	if k := slices.Index(decisionWords[1:], word); k >= 0 {
		return Kind(k + 1), nil
	}
	return None, fmt.Errorf("decision %q: want accept, reject, relabel, unlabel or unsure: %w", word, ErrOptions)
}

// A Decision is one entry of the history: a decision about one node, or its undo.
type Decision struct {
	Seq  int64 // 1, 2, … without gaps
	Step int64 // 1, 2, …: the number of a Write, or of an Undo of one

	// When the decision was made, in UTC, to the microsecond. It can be before that of an earlier entry.
	Time time.Time

	Node kv.NodeID
	ID   string // the node's external id
	Kind Kind   // of an undo: the kind of the decision that it takes back

	From string // label before; "" is none
	To   string // the label that the decision names: of Reject and Unsure the one that the node has; "" is none

	// Label is the label after the entry: To, unless the node is disputed or more people name another label.
	Label string

	Before, After         Kind // the value of Column before and after
	WasDisputed, Disputed bool // the value of DisputedColumn before and after

	Who, Why string
	Run      int64   // the run that last scored the node; 0: none
	Score    float64 // its score then; NaN: none

	Undoes int64 // Seq of the entry that this one takes back; 0: it is a decision
}

// Action is the name of the entry in the history: the name of its Kind, or undo.
func (d *Decision) Action() string {
	if d.Undoes != 0 {
		return "undo"
	}
	return d.Kind.String()
}

// A Request asks for one decision.
type Request struct {
	Node kv.NodeID
	Kind Kind
	To   string // the label to give, of Relabel only

	// View is the node as the person saw it. If the node has changed since, Write decides nothing. Nil: Write does not
	// compare.
	View *View
}

// View holds the values of a node that a person sees before a decision.
type View struct {
	Label, Suggestion string // "" is none
	Decision          Kind   // in force
	Disputed          bool
	Run               int64 // the run that last scored the node; 0: none
}

// Options says who decides.
type Options struct {
	Who  string    // at most MaxWho bytes of UTF-8, with no control characters but tab and newline
	Why  string    // at most MaxWhy bytes of the same
	Time time.Time // when the decision was made, of a year up to 9999; zero: now
	Last int64     // the step that Undo is to take back; if another one is the last, it returns ErrChanged. 0: any
}

// Limits on the texts of a decision, in bytes.
const (
	MaxWho = 256
	MaxWhy = 4096
)

// withDefaults checks the options, and sets Time.
func (opt Options) withDefaults() (Options, error) {
	if opt.Time.IsZero() {
		opt.Time = time.Now()
	}
	opt.Time = opt.Time.UTC().Truncate(time.Microsecond)
	var err error
	if year := opt.Time.Year(); year < 1 || year > 9999 {
		err = fmt.Errorf("the year of Time is %d, want 1 to 9999: %w", year, ErrOptions)
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
	case strings.ContainsFunc(text, IsControl):
		return fmt.Errorf("%s %q has control characters: %w", what, text, ErrOptions)
	}
	return nil
}

// IsWhy reports whether a text can be Options.Why.
func IsWhy(text string) bool { return checkRemark("Why", text, MaxWhy) == nil }

// IsControl reports whether a character is a control character other than tab and newline. Who and Why must not contain
// any, because not every table format can hold them.
func IsControl(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != '\n' }

// Write writes decisions: labels, Column and history in one step, which Undo takes back as one. All of it is on disk
// when Write returns, or nothing of it has happened. Decisions come back in the order of the requests. Without requests
// no step is written. A node can be decided on again.
//
// If a node differs from View in its request, Write decides nothing about any node. The error is a *ChangedError with
// the changed nodes.
//
// Every other error names the node. Accept of a node without a suggestion returns ErrNoSuggestion; it may give a label
// to an unlabelled node. Reject and Unlabel of an unlabelled node return ErrNoLabel, but Unlabel may repeat what
// somebody else has decided. Relabel to a class that the store does not have returns ErrUnknownClass, so that a typing
// error makes no class. A missing node returns kv.ErrNotFound. Bad requests and options return ErrOptions, and so does
// a node with two requests.
func Write(ctx context.Context, s *kv.Store, reqs []Request, opt Options) ([]Decision, error) {
	return WriteSteps(ctx, s, func(w *StepWriter) error {
		if err := w.Begin(opt); err != nil {
			return err
		}
		for _, req := range reqs {
			if err := w.Add(req); err != nil {
				return err
			}
		}
		return nil
	})
}

// WriteSteps writes decisions of several steps, all or nothing, and returns them in order. It calls name, which adds
// them to a StepWriter. If they do not fit into one transaction, it calls name again, and name must add the same
// decisions.
//
// If they fit, the cost does not depend on the size of the store. Otherwise a kv.Bulk writes them, which rewrites the
// columns, the index on label, and the history. Memory holds the decisions: if they take more than half the budget of
// the store, about, the error is an ErrOptions.
func WriteSteps(ctx context.Context, s *kv.Store, name func(w *StepWriter) error) ([]Decision, error) {
	w, err := writeTogether(ctx, s, name)
	if errors.Is(err, kv.ErrTxTooBig) {
		w, err = writeInBulk(ctx, s, name)
	}
	if err != nil {
		return nil, err
	}
	var made []Decision
	for _, d := range w.drafts {
		made = append(made, d.Decision)
	}
	slices.SortFunc(made, func(a, b Decision) int { return cmp.Compare(a.Seq, b.Seq) })
	return made, nil
}
