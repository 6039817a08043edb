package review

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// relabel gives a suspect a label of the reviewer's.
func (r *review) relabel(ctx context.Context, e *Subject, label string) (moved bool, err error) {
	if label == "" {
		r.listClasses(e)
	}
	label, err = r.wordFor("label (Tab completes): ", e.Choices, label, e.class)
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

// listClasses lists the classes that a suspect could have, with the numbers that pick them.
func (r *review) listClasses(e *Subject) {
	if !r.replies.forgiving() {
		return
	}
	choices := e.Choices
	numbered := false // a class is named as a number
	for i, class := range choices[:min(len(choices), listedClasses)] {
		note := ""
		if class == e.Label {
			note = ", its label"
		}
		r.say("  %2d  %s%s", i+1, print.EscapeControls(class), note)
		_, err := strconv.Atoi(class)
		numbered = numbered || err == nil
	}
	if more := len(choices) - listedClasses; more > 0 {
		r.say("  and %d more: type the beginning of one", more)
	}
	if numbered {
		r.say("  a number that a class is named by, or that names begin with, is a name")
	}
}

// class is the class that a text means: the one of that name or, where the text answers the list of classes, the one of
// that place in it. A text that names begin with is no place.
func (e *Subject) class(text string, listed bool) (string, error) {
	if slices.Contains(e.Classes, text) {
		return text, nil
	}
	beginsName := slices.ContainsFunc(e.Classes, func(class string) bool { return strings.HasPrefix(class, text) })
	place, err := strconv.Atoi(text)
	if choices := e.Choices; listed && err == nil && !beginsName && place >= 1 && place <= min(len(choices), listedClasses) {
		return choices[place-1], nil
	}
	return "", replyErrorf("no class is named %s%s", query.Quote(text), wording.DidYouMean(text, e.Classes))
}

// choices are the classes a suspect could have, the most likely first, the one it has last.
func choices(e *cleaner.Explanation, classes []string) []string {
	var choices []string
	for _, c := range e.TopClasses {
		choices = append(choices, c.Class)
	}
	for _, class := range classes {
		if len(choices) < len(classes) && !slices.Contains(choices, class) {
			choices = append(choices, class)
		}
	}
	if i := slices.Index(choices, e.Label); i >= 0 {
		choices = append(slices.Delete(choices, i, i+1), e.Label)
	}
	return choices
}
