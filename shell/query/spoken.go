package query

import (
	"slices"

	"github.com/graphcleaner/graphcleaner/index"
)

// unlessSpoken joins a condition with a term that is meant wherever the condition does not speak of a property. Of
// alternatives joined by or each is taken by itself: with the term score > 0.9,
//
//	label = 'A'                     is   label = 'A' and score > 0.9
//	score > 0.5                     is   score > 0.5
//	label = 'A' or score > 0.99     is   label = 'A' and score > 0.9 or score > 0.99
//
// so that an alternative that says nothing of score finds no more for standing beside one that does.
func unlessSpoken(condition index.Predicate, property string, term index.Predicate) index.Predicate {
	spoken, all := speaking(condition, property)
	switch {
	case all:
		return condition
	case spoken == nil:
		return index.And{Terms: []index.Predicate{condition, term}}
	}
	return index.Or{Terms: []index.Predicate{index.And{Terms: []index.Predicate{condition, term}}, spoken}}
}

// speaking is what is left of a condition, its Nots pushed to the leaves, without the alternatives that do not speak of a
// property; nil if none does, and all if each does.
func speaking(condition index.Predicate, property string) (spoken index.Predicate, all bool) {
	switch p := condition.(type) {
	case index.And:
		return speakingTogether(p.Terms, property)
	case index.Or:
		return speakingApart(p.Terms, property)
	case index.Not:
		switch inner := p.Term.(type) {
		case index.Not:
			return speaking(inner.Term, property)
		case index.And:
			return speakingApart(negatedTerms(inner.Terms), property)
		case index.Or:
			return speakingTogether(negatedTerms(inner.Terms), property)
		}
	}
	if slices.Contains(index.Properties(condition), property) {
		return condition, true
	}
	return nil, false
}

// speakingTogether is speaking of the And of terms: one term that speaks of the property does so for the others. Its alternatives stand
// in its place, so that alternatives of the And that do not speak are not joined with ones that do.
func speakingTogether(terms []index.Predicate, property string) (spoken index.Predicate, all bool) {
	var some []index.Predicate
	for i, term := range terms {
		of, always := speaking(term, property)
		if always {
			return index.And{Terms: terms}, true
		}
		if of != nil {
			with := slices.Clone(terms)
			with[i] = of
			some = append(some, index.And{Terms: with})
		}
	}
	if some == nil {
		return nil, false
	}
	return index.Or{Terms: some}, false
}

// speakingApart is speaking of the Or of terms.
func speakingApart(terms []index.Predicate, property string) (spoken index.Predicate, all bool) {
	var some []index.Predicate
	all = len(terms) > 0
	for _, term := range terms {
		of, always := speaking(term, property)
		all = all && always
		if of != nil {
			some = append(some, of)
		}
	}
	if some == nil {
		return nil, false
	}
	return index.Or{Terms: some}, all
}

func negatedTerms(terms []index.Predicate) []index.Predicate {
	negations := make([]index.Predicate, len(terms))
	for i, term := range terms {
		negations[i] = index.Not{Term: term}
	}
	return negations
}
