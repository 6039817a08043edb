package files

import (
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
)

// A standpoint has the store's decisions by the person who makes a decision of a file, and by others.
type standpoint struct {
	word   *decide.Decision // the person's last decision about the node; nil: none
	others bool             // others have decided on the node
	labels []string         // that the node had by the decisions
}

// standpointOf is that of who made a decision, where decisions of the store stand.
func standpointOf(d *filedDecision, stands []decide.Decision, others bool) standpoint {
	s := standpoint{others: others}
	for i, earlier := range stands {
		s.labels = append(s.labels, earlier.From, earlier.To)
		if earlier.Who == d.Who {
			s.word = &stands[i]
		} else {
			s.others = true
		}
	}
	return s
}

// against is the kind of request that makes a decision about a node of the store, which had the labels passed by the
// file. It is None where the decision is not taken, which is counted.
func (a *adopter) against(d *filedDecision, now decide.View, labels []string, of standpoint) decide.Kind {
	if d.Kind == decide.Accept && !d.HasTo && now.Suggestion != "" {
		d.To, d.HasTo = now.Suggestion, true
	}
	isLost := d.Kind == decide.Accept && !d.HasTo // there is no suggestion
	if !d.HasTo {
		d.To = now.Label
	}
	switch isKnown := func(label string) bool { return slices.Contains(labels, label) }; {
	case isLost:
		a.Other.add(d.ID)
	case of.word != nil && d.isThere(of.word.Kind, of.word.To):
		a.There++
	case of.word != nil && of.word.Kind == decide.Unsure && d.Kind == decide.Unsure && of.others:
		a.There++ // whatever label the others have given meanwhile
	case !d.Time.IsZero() && of.word != nil && of.word.Time.After(d.Time):
		a.Older.add(d.ID)
	case d.HasFrom && !isKnown(now.Label) && !slices.ContainsFunc(of.labels, isKnown):
		a.Other.add(d.ID)
	case d.Kind == decide.Accept && !d.HasFrom && now.Suggestion != "" && d.To != now.Suggestion && d.To != now.Label:
		a.Other.add(d.ID)
	case d.Kind == decide.Unsure && (d.To == now.Label || of.others):
		return decide.Unsure
	case d.To == "" && now.Label == "" && !of.others:
		a.There++ // there is no label to remove, and none that could be right
	case d.To == "":
		return decide.Unlabel
	case d.To == now.Suggestion && (d.Kind == decide.Accept || d.Kind != decide.Relabel && d.To != now.Label):
		return decide.Accept
	case d.To == now.Label && d.Kind != decide.Relabel:
		return decide.Reject
	default:
		return decide.Relabel
	}
	return decide.None
}

// whateverLabel is the kind of request that makes the decision where the label is another meanwhile.
func (d *filedDecision) whateverLabel() decide.Kind {
	switch {
	case d.Kind == decide.Unsure:
		return decide.Unsure
	case d.To == "":
		return decide.Unlabel
	}
	return decide.Relabel
}

func (d *filedDecision) request(kind decide.Kind) decide.Request {
	if kind == decide.Relabel {
		return decide.Request{Node: d.Node, Kind: kind, To: d.To}
	}
	return decide.Request{Node: d.Node, Kind: kind}
}

// isThere reports whether a decision is the one of the file. Accept, reject and relabel come to the same: that the
// label is right.
func (d *filedDecision) isThere(is decide.Kind, label string) bool {
	return is != decide.None && label == d.To && (is == decide.Unsure) == (d.Kind == decide.Unsure)
}
