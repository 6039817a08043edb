package decide

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Words returns the last word of each person about a node, the oldest first: their last decisions that were not taken
// back. Where a dispute was settled with a reason, the words from before it do not count any more, and are left out.
// Disputed reports whether the words differ, so that the label of the node waits for another one.
func Words(ctx context.Context, tx *kv.Tx, node kv.NodeID) (words []Decision, disputed bool, err error) {
	entries, err := entriesOf(ctx, tx, node)
	if err != nil {
		return nil, false, err
	}
	words, disputed = newStanding(entries).words()
	return words, disputed, nil
}

// Standing returns the decisions about a node that were not taken back, the oldest first.
func Standing(ctx context.Context, tx *kv.Tx, node kv.NodeID) ([]Decision, error) {
	entries, err := entriesOf(ctx, tx, node)
	return newStanding(entries).decisions, err
}

// A standing holds the decisions about a node that were not taken back.
type standing struct {
	decisions []Decision // the oldest first
	last      Decision   // the newest entry about the node, also one that takes a decision back

	// What words returns, of the first so many decisions.
	folded    int
	lastWords []Decision
	disputed  bool
}

// newStanding takes the entries about a node, the oldest first.
func newStanding(entries []Decision) *standing {
	s := &standing{}
	for _, d := range entries {
		s.add(d)
	}
	return s
}

// add adds an entry.
func (s *standing) add(d Decision) {
	s.last = d
	if d.Undoes == 0 {
		s.decisions = append(s.decisions, d)
		return
	}
	i, found := slices.BinarySearchFunc(s.decisions, d.Undoes,
		func(d Decision, seq int64) int { return cmp.Compare(d.Seq, seq) })
	if found {
		s.decisions = slices.Delete(s.decisions, i, i+1)
		s.folded, s.lastWords, s.disputed = 0, nil, false
	}
}

// words are the last words of people, the oldest first, and whether they differ.
func (s *standing) words() (words []Decision, disputed bool) {
	for _, d := range s.decisions[s.folded:] {
		if s.disputed && d.Why != "" && d.Kind != Unsure {
			s.lastWords = nil // the reason settles the dispute
		}
		s.lastWords = slices.DeleteFunc(s.lastWords, func(earlier Decision) bool { return earlier.Who == d.Who })
		s.lastWords = append(s.lastWords, d)
		_, _, s.disputed = mostSaid(s.lastWords)
	}
	s.folded = len(s.decisions)
	return s.lastWords, s.disputed
}

// mostSaid is the label that more people say than any other, and the kind of the last word for it; Unsure if nobody
// names a label. If there is a tie, it is disputed.
func mostSaid(words []Decision) (label string, kind Kind, disputed bool) {
	counts := map[string]int{}
	for _, d := range words {
		if d.Kind != Unsure {
			counts[d.To]++
		}
	}
	kind, most := Unsure, 0
	for said, n := range counts {
		switch {
		case n > most:
			label, most, disputed = said, n, false
		case n == most:
			disputed = true
		}
	}
	for _, d := range words {
		if d.Kind != Unsure && d.To == label {
			kind = d.Kind
		}
	}
	return label, kind, disputed
}

// hasOthers reports whether somebody else has decided.
func (s *standing) hasOthers(who string) bool {
	return slices.ContainsFunc(s.decisions, func(d Decision) bool { return d.Who != who })
}

// decidedBy is the value in DecidedByColumn.
func (s *standing) decidedBy() kv.Value {
	if len(s.decisions) == 0 {
		return kv.Value{}
	}
	var names []string
	for _, d := range s.decisions {
		if !slices.Contains(names, d.Who) {
			names = append(names, d.Who)
		}
	}
	slices.Sort(names)
	return kv.ValueOf(strings.Join(names, ", "))
}

// settle says what the node gets by a decision, which is the last of the standing ones.
func (d *Decision) settle(s *standing) {
	words, disputed := s.words()
	label, kind, _ := mostSaid(words)
	d.Label, d.After, d.Disputed = d.From, d.Before, disputed
	switch isInForce := d.Before != None && d.Before != Unsure; {
	case len(words) == 1:
		d.Label, d.After = d.To, d.Kind
	case disputed && !isInForce:
		d.After = d.Kind
	case disputed || isInForce && kind != Unsure && label == d.From:
	case kind == Unsure:
		d.After = Unsure
	default:
		d.Label, d.After = label, kind
	}
}
