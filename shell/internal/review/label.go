package review

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/shell/internal/keyboard"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// relabel gives a node a label of the reviewer's.
func (r *review) relabel(ctx context.Context, e *Subject) (moved bool, err error) {
	listed := r.listClasses(e, e.Choices)
	label, err := r.wordFor("label (Tab completes): ", e.Choices, func(text string) (string, error) {
		switch matches := e.matches(text, listed); len(matches) {
		case 0:
			return "", replyErrorf("no class is named %s%s", query.Quote(text), wording.DidYouMean(text, e.Classes))
		case 1:
			return matches[0], nil
		default:
			listed = r.listClasses(e, matches)
			return "", replyErrorf("%d classes match %s", len(matches), query.Quote(text))
		}
	})
	if err != nil || label == "" {
		return false, err
	}
	if label == e.Label {
		return r.decide(ctx, e, decide.Reject, "")
	}
	return r.decide(ctx, e, decide.Relabel, label)
}

// listedClasses is how many classes are listed at most where a label is asked for.
const listedClasses = 20

// listClasses lists classes that a node could have, with the numbers that pick them. It returns those that are listed.
func (r *review) listClasses(e *Subject, classes []string) (listed []string) {
	listed = classes[:min(len(classes), listedClasses)]
	numbered := false // a class is named as a number
	for i, class := range listed {
		note := ""
		switch class {
		case e.Label:
			note = ", its label"
		case e.Suggestion:
			note = ", suggested"
		}
		r.say("  %2d  %s%s", i+1, print.EscapeControls(class), note)
		_, err := strconv.Atoi(class)
		numbered = numbered || err == nil
	}
	if more := len(classes) - len(listed); more > 0 {
		r.say("  and %d more: type a part of a name", more)
	}
	if numbered {
		r.say("  a number that a class is named by, or that names begin with, is a name")
	}
	return listed
}

// matches are the classes that a text may mean: the one of that name, the one of that place among those that are listed, or those
// that have the text in their names. A text that names begin with is no place.
func (e *Subject) matches(text string, listed []string) []string {
	if slices.Contains(e.Classes, text) {
		return []string{text}
	}
	beginsName := slices.ContainsFunc(e.Classes, func(class string) bool { return strings.HasPrefix(class, text) })
	if place, err := strconv.Atoi(text); err == nil && !beginsName && place >= 1 && place <= len(listed) {
		return listed[place-1 : place]
	}
	matches := keyboard.Matches(e.Choices, text)
	var whole []string
	for _, class := range matches {
		if strings.EqualFold(class, text) {
			whole = append(whole, class)
		}
	}
	if whole != nil {
		return whole
	}
	return matches
}
