package lsm

import (
	"fmt"
	"slices"
	"strings"
)

// A Correction is a kv.Correction.
type Correction struct {
	Where string `json:"where"`
	What  string `json:"what"`
	Done  string `json:"done"`
	Lost  Losses `json:"lost,omitempty"`
}

func (c Correction) String() string { return c.Where + ": " + c.What + ": " + c.Done }

// UnknownCount is the Count of a Loss if nobody knows how many things were lost.
const UnknownCount = -1

// A Loss is a kv.Loss.
type Loss struct {
	Kind   string `json:"kind"`    // such as "label", "id", "edge", "row of matrix m"
	Count  int64  `json:"count"`   // UnknownCount: nobody knows how many
	AtMost bool   `json:"at_most"` // Count is a bound
}

// Losses are kv.Losses.
type Losses []Loss

// Add adds a loss to that of the same kind. A sum with an unknown number is unknown. A loss of nothing is none.
func (l *Losses) Add(loss Loss) {
	if loss.Count == 0 {
		return
	}
	for i := range *l {
		sum := &(*l)[i]
		if sum.Kind != loss.Kind {
			continue
		}
		if sum.Count == UnknownCount || loss.Count == UnknownCount {
			sum.Count = UnknownCount
		} else {
			sum.Count += loss.Count
		}
		sum.AtMost = sum.AtMost || loss.AtMost
		return
	}
	*l = append(*l, loss)
}

// AddAll adds other losses.
func (l *Losses) AddAll(others Losses) {
	for _, loss := range others {
		l.Add(loss)
	}
}

// Has says whether losses of one of the kinds are among them.
func (l Losses) Has(kinds ...string) bool {
	return slices.ContainsFunc(l, func(loss Loss) bool { return slices.Contains(kinds, loss.Kind) })
}

// String is such as "12 labels, at most 40 edges, an unknown number of commits"; "nothing" if there are none.
func (l Losses) String() string {
	if len(l) == 0 {
		return "nothing"
	}
	var parts []string
	for _, loss := range l {
		parts = append(parts, loss.String())
	}
	return strings.Join(parts, ", ")
}

func (l Loss) String() string {
	what := l.Kind
	if l.Count != 1 {
		what = plural(what)
	}
	switch {
	case l.Count == UnknownCount:
		return "an unknown number of " + what
	case l.AtMost:
		return fmt.Sprintf("at most %d %s", l.Count, what)
	}
	return fmt.Sprintf("%d %s", l.Count, what)
}

// plural is the plural of a kind, the noun of which stands before the first " of ".
func plural(kind string) string {
	noun, rest, of := strings.Cut(kind, " of ")
	if strings.HasSuffix(noun, "y") {
		noun = strings.TrimSuffix(noun, "y") + "ies"
	} else {
		noun += "s"
	}
	if of {
		return noun + " of " + rest
	}
	return noun
}
