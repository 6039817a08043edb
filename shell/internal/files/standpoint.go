package files

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

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
	// when the person's last decision about the node was made, taken back or not; zero where there is none
	last time.Time
	word *decide.Decision // of the person; nil: none
	// the file names no person: all that the store has decided counts as said by the one who takes it
	isOfNode bool
	others   bool     // others have decided on the node
	labels   []string // that the node had by the decisions
}

// of is the standpoint of who made a decision of a file, "" if the file does not say; then who takes it makes it. If it
// is not the first about the node that is taken, others have decided.
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

// isThere reports whether a decision is the one of the file. Accept, reject and relabel come to the same: that the
// label is right.
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
