package decide

import (
	"context"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Words returns the last word of each person, the oldest first, of the entries about a node: their last decisions that
// were not taken back. Where a dispute was settled with a reason, the words from before it do not count any more, and
// are left out. Disputed reports whether the words differ, so that the label of the node waits for another one.
func Words(entries []Decision) (words []Decision, disputed bool) {
	for _, d := range standing(entries) {
		if disputed && d.Why != "" && d.Kind != Unsure {
			words = nil // the reason settles the dispute
		}
		words = slices.DeleteFunc(words, func(earlier Decision) bool { return earlier.Who == d.Who })
		words = append(words, d)
		_, _, disputed = mostSaid(words)
	}
	return words, disputed
}

// Standing returns the decisions about a node that were not taken back, the oldest first.
func Standing(ctx context.Context, tx *kv.Tx, node kv.NodeID) ([]Decision, error) {
	entries, err := entriesOf(ctx, tx, node)
	return standing(entries), err
}

// standing are the decisions among the entries about a node that were not taken back.
func standing(entries []Decision) (stands []Decision) {
	for _, d := range entries {
		if d.Undoes == 0 {
			stands = append(stands, d)
		} else {
			stands = slices.DeleteFunc(stands, func(earlier Decision) bool { return earlier.Seq == d.Undoes })
		}
	}
	return stands
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

// decidedBy is the value in DecidedByColumn after the entries about a node.
func decidedBy(entries []Decision) kv.Value {
	var names []string
	for _, d := range standing(entries) {
		if !slices.Contains(names, d.Who) {
			names = append(names, d.Who)
		}
	}
	if names == nil {
		return kv.Value{}
	}
	slices.Sort(names)
	return kv.ValueOf(strings.Join(names, ", "))
}

// settle says what the node gets by a decision, which is the last of the entries about it.
func (d *Decision) settle(entries []Decision) {
	words, disputed := Words(entries)
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
