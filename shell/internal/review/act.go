package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// take does what a reply asks for; moved says that another suspect is to be shown.
func (r *review) take(ctx context.Context, e *Subject, key rune) (moved bool, err error) {
	if (key == 'n' || key == 'u' && !e.Disputed) && e.Label == "" {
		return false, replyErrorf("node %s has no label: want %s", e.ID, e.wants())
	}
	switch key {
	case 'y':
		if !e.canAccept() {
			return false, replyErrorf("node %s: no other label is suggested: want %s", e.ID, e.wants())
		}
		return r.decide(ctx, e, decide.Accept, "")
	case 'n':
		return r.decide(ctx, e, decide.Reject, "")
	case 'l':
		return r.relabel(ctx, e)
	case 'u':
		return r.decide(ctx, e, decide.Unlabel, "")
	case 'd':
		return r.decide(ctx, e, decide.Unsure, "")
	case 's':
		r.skips++
		r.moveOn(pastReply{skips: 1})
		return true, nil
	case 'g':
		return r.goTo(ctx)
	case 'z':
		return r.undo(ctx)
	case 'w':
		return false, r.takeReason()
	case 'e':
		explained, err := r.do(ctx, Step{Explain: e.ID})
		if err == nil {
			_, err = io.WriteString(r.Out, explained.Text)
		}
		return false, err
	default:
		for _, k := range keys {
			r.say("  %c  %-8s %s", k.Key, k.Word, k.Help)
		}
		return false, nil
	}
}

// goTo shows the node with an id next. The queue stays where it is.
func (r *review) goTo(ctx context.Context) (moved bool, err error) {
	var found Result
	id, err := r.wordFor("id of the node: ", nil, func(text string) (string, error) {
		var err error
		if found, err = r.do(ctx, Step{Locate: text}); err == nil && len(found.Nodes) == 0 {
			err = replyErrorf("no node has the id %s", query.Quote(text))
		}
		return text, err
	})
	if err != nil || id == "" {
		return false, err
	}
	r.past = append(r.past, pastReply{at: r.at, beside: r.beside})
	r.beside = &found.Nodes[0]
	return true, nil
}

// takeReason takes the reason of the next decision.
func (r *review) takeReason() (err error) {
	r.why, err = r.wordFor("reason: ", nil, func(text string) (string, error) {
		switch {
		case !utf8.ValidString(text):
			return "", replyErrorf("the reason %q is no UTF-8 text", wording.Short(text))
		case strings.ContainsFunc(text, decide.IsControl):
			return "", replyErrorf("the reason %q has control characters, want none but tab and newline", wording.Short(text))
		case len(text) > decide.MaxWhy:
			return "", replyErrorf("the reason has %d bytes, want at most %d", len(text), decide.MaxWhy)
		}
		return text, nil
	})
	return err
}

// wordFor asks for a label, an id or a reason. It returns "" if the reviewer gives none. After a slip it asks again, so that the second
// try does not count as keys. Check returns the meaning of a text.
func (r *review) wordFor(prompt string, choices []string, check func(text string) (string, error)) (string, error) {
	for {
		text, err := r.Replies.Word(prompt, choices)
		if err != nil || text == "" {
			return "", err
		}
		meant, err := check(text)
		wrong, ok := errors.AsType[*replyError](err)
		if !ok {
			return meant, err
		}
		r.say("%s: try again, or leave it empty to go back", wrong.msg)
	}
}

// decide writes a decision about the suspect of the card, and moves on. If the store no longer agrees with the card, it
// decides nothing, and the reviewer sees the new card.
func (r *review) decide(ctx context.Context, e *Subject, kind decide.Kind, label string) (moved bool, err error) {
	request := decide.Request{Node: e.Node, Kind: kind, To: label, View: &e.View}
	done, err := r.do(ctx, Step{Decide: &Decide{request, r.why}, KeepScores: r.KeepScores || r.slow})
	if errors.Is(err, decide.ErrChanged) {
		r.say("%s", print.EscapeControls("nothing is decided: "+err.Error()))
		return true, nil
	}
	if err != nil {
		return false, err
	}
	r.why = ""
	r.counts[kind]++
	r.moveOn(pastReply{kind: kind, id: done.Decision.ID, step: done.Decision.Step})
	r.noteSlow(done)
	return true, r.report(done.Decision)
}

// noteSlow says once that the scores around decisions wait for the end of the review.
func (r *review) noteSlow(done Result) {
	if done.Slow && !r.slow {
		r.slow = true
		r.say("the scores around decisions are brought up to date at the end: here that takes long")
	}
}

// report says what was decided.
func (r *review) report(d decide.Decision) error {
	change := ""
	switch to := cmp.Or(d.To, "no label"); {
	case d.Disputed:
		change = fmt.Sprintf(": disputed, the label stays %s", cmp.Or(d.Label, "none"))
	case d.Label != d.To:
		change = fmt.Sprintf(": more people say %s, which stays", cmp.Or(d.Label, "no label"))
	case d.From != d.To:
		change = fmt.Sprintf(": %s → %s", d.From, to)
	}
	_, err := fmt.Fprintln(r.Out, print.EscapeControls(fmt.Sprintf("%s %s%s", d.ID, wording.Decided(d.Kind), change)))
	return err
}

// undo takes the last reply back and returns to its suspect.
func (r *review) undo(ctx context.Context) (moved bool, err error) {
	if len(r.past) == 0 {
		return false, replyErrorf("this review has nothing to take back; the statement undo of the shell takes back " +
			"earlier decisions")
	}
	last := r.past[len(r.past)-1]
	r.skips -= last.skips
	if last.kind != decide.None {
		done, err := r.do(ctx, Step{Undo: last.step, KeepScores: r.KeepScores || r.slow})
		if errors.Is(err, decide.ErrChanged) {
			return false, replyErrorf("%s cannot be taken back here: somebody has decided since, or has taken it back", last.id)
		}
		if err != nil {
			return false, err
		}
		r.noteSlow(done)
		r.counts[last.kind]--
		if _, err := fmt.Fprintln(r.Out, print.EscapeControls(fmt.Sprintf("%s %s taken back", last.id,
			last.kind))); err != nil {
			return false, err
		}
	}
	r.past = r.past[:len(r.past)-1]
	r.at, r.beside = last.at, last.beside
	return true, nil
}
