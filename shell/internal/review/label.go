package review

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// relabel gives a node a label of the reviewer's. After a wrong name it asks again, so that the second try does not
// count as keys.
func (r *review) relabel(ctx context.Context, e *Subject) (moved bool, err error) {
	choices := e.Choices
	if e.Options != nil { // the order says which label the node has
		choices = slices.Sorted(slices.Values(choices))
	}
	listed := r.listClasses(e, choices)
	for {
		text, err := r.Replies.Word("label, or a part of it: ")
		if err != nil || text == "" {
			return false, err
		}
		switch matches := e.matches(text, listed); {
		case len(matches) == 1:
			return r.name(ctx, e, matches[0])
		case len(matches) == 0:
			r.say("no class is named %s%s: try again, or leave it empty to go back", query.Quote(text), wording.DidYouMean(text, e.Classes))
		default:
			listed = r.listClasses(e, matches)
			r.say("%d classes match %s: try again, or leave it empty to go back", len(matches), query.Quote(text))
		}
	}
}

// listedClasses is how many classes are listed at most where a label is asked for.
const listedClasses = 20

// listClasses lists classes that a node could have, with the numbers that pick them. It returns those that are listed.
func (r *review) listClasses(e *Subject, classes []string) (listed []string) {
	listed = classes[:min(len(classes), listedClasses)]
	for i, class := range listed {
		note := ""
		switch {
		case e.Options != nil:
		case class == e.Label:
			note = ", its label"
		case class == e.Suggestion:
			note = ", suggested"
		}
		r.say("  %2d  %s%s", i+1, print.EscapeControls(class), note)
	}
	if more := len(classes) - len(listed); more > 0 {
		r.say("  and %d more: type a part of a name", more)
	}
	return listed
}

// matches are the classes that a text may mean: the one of that name, the one of that place among those that are
// listed, or those that have the text in their names. A text that names begin with is no place.
func (e *Subject) matches(text string, listed []string) []string {
	if slices.Contains(e.Classes, text) {
		return []string{text}
	}
	beginsName := slices.ContainsFunc(e.Classes, func(class string) bool { return strings.HasPrefix(class, text) })
	if place, err := strconv.Atoi(text); err == nil && !beginsName && place >= 1 && place <= len(listed) {
		return listed[place-1 : place]
	}
	matches := matchesOf(e.Choices, text)
	isWhole := func(class string) bool { return strings.EqualFold(class, text) }
	if slices.ContainsFunc(matches, isWhole) {
		matches = slices.DeleteFunc(matches, func(class string) bool { return !isWhole(class) })
	}
	return matches
}

// matchesOf are the choices that begin with a text or, if none does, those that have it anywhere. Upper and lower case
// are alike.
func matchesOf(choices []string, text string) (matches []string) {
	text = strings.ToLower(text)
	for _, has := range []func(s, part string) bool{strings.HasPrefix, strings.Contains} {
		for _, choice := range choices {
			if has(strings.ToLower(choice), text) {
				matches = append(matches, choice)
			}
		}
		if matches != nil {
			break
		}
	}
	return matches
}
