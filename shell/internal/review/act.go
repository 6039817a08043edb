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
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
)

// take does what a reply asks for; moved says that another suspect is to be shown.
func (r *review) take(ctx context.Context, e *Subject, key rune) (moved bool, err error) {
	if (key == 'n' || key == 'u' && !e.Disputed) && e.Label == "" {
		return false, replyErrorf("node %s has no label", e.ID)
	}
	if at := int(key - '1'); at >= 0 && at < survey.BlindOptions {
		if at >= len(e.Options) {
			return false, replyErrorf("want 1 to %d, or another key", len(e.Options))
		}
		return r.name(ctx, e, e.Options[at])
	}
	switch key {
	case 'y':
		if !e.canAccept() {
			return false, replyErrorf("node %s: no other label is suggested", e.ID)
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
		r.moveOn(pastReply{})
		return true, nil
	case 'z':
		return r.undo(ctx)
	case 'w':
		why, err := r.Replies.Word("reason: ")
		if len(why) > decide.MaxWhy || !utf8.ValidString(why) || strings.ContainsFunc(why, decide.IsControl) {
			return false, replyErrorf("the reason is no UTF-8 text, has control characters, or has more than %d bytes", decide.MaxWhy)
		}
		r.why = why
		return false, err
	case 'e':
		explained, err := r.do(ctx, Step{Explain: e.ID})
		if err == nil {
			_, err = io.WriteString(r.Out, explained.Text)
		}
		return false, err
	default:
		keys := r.keys()
		if e.Options != nil {
			r.say("  1  to %-5d %s", len(e.Options), keys[0].Help)
			keys = keys[survey.BlindOptions:]
		}
		for _, k := range keys {
			r.say("  %c  %-8s %s", k.Key, k.Word, k.Help)
		}
		return false, nil
	}
}

// name decides that a label is right: the one that the node has, or another.
func (r *review) name(ctx context.Context, e *Subject, label string) (moved bool, err error) {
	if label == e.Label {
		return r.decide(ctx, e, decide.Reject, "")
	}
	return r.decide(ctx, e, decide.Relabel, label)
}

// decide writes a decision about the suspect of the card, and moves on. If the store no longer agrees with the card, it
// decides nothing, and the reviewer sees the new card, or the next draw.
func (r *review) decide(ctx context.Context, e *Subject, kind decide.Kind, label string) (moved bool, err error) {
	request := decide.Request{Node: e.Node, Kind: kind, To: label, View: &e.View}
	done, err := r.do(ctx, Step{Decide: &Decide{request, r.why}, KeepScores: r.KeepScores || r.slow})
	if errors.Is(err, decide.ErrChanged) {
		said := "nothing is decided: " + err.Error()
		if e.Options != nil {
			said = wording.Overtaken(e.ID)
			r.at++ // another card would say it again
		}
		r.say("%s", print.EscapeControls(said))
		return true, nil
	}
	if err != nil {
		return false, err
	}
	r.why = ""
	r.counts[kind]++
	r.moveOn(pastReply{kind: kind, id: done.Decision.ID, step: done.Decision.Step})
	r.noteSlow(done)
	if e.Options != nil && kind != decide.Unsure {
		return true, r.tell("%s: %s", e.ID, cmp.Or(label, e.Label))
	}
	return true, r.tell("%s", told(done.Decision))
}

// tell prints a line of the review itself.
func (r *review) tell(format string, args ...any) error {
	_, err := fmt.Fprintln(r.Out, print.EscapeControls(fmt.Sprintf(format, args...)))
	return err
}

// noteSlow says once that the scores around decisions wait for the end of the review.
func (r *review) noteSlow(done Result) {
	if done.Slow && !r.slow {
		r.slow = true
		r.say("the scores around decisions are brought up to date at the end: here that takes long")
	}
}

// told says what was decided.
func told(d decide.Decision) string {
	said := d.ID + " " + wording.Decided(d.Kind)
	switch to := cmp.Or(d.To, "no label"); {
	case d.Disputed:
		said += ": disputed, the label stays " + cmp.Or(d.Label, "none")
	case d.Label != d.To:
		said += fmt.Sprintf(": more people say %s, which stays", cmp.Or(d.Label, "no label"))
	case d.From != d.To:
		said += fmt.Sprintf(": %s → %s", d.From, to)
	}
	return said
}

// undo takes the last reply back and returns to its suspect.
func (r *review) undo(ctx context.Context) (moved bool, err error) {
	if len(r.past) == 0 {
		return false, replyErrorf("this review has nothing to take back; the statement undo of the shell takes back earlier decisions")
	}
	last := r.past[len(r.past)-1]
	if last.step == 0 {
		r.skips--
	} else {
		done, err := r.do(ctx, Step{Undo: last.step, KeepScores: r.KeepScores || r.slow})
		if errors.Is(err, decide.ErrChanged) {
			return false, replyErrorf("%s cannot be taken back here: somebody has decided since, or has taken it back", last.id)
		}
		if err != nil {
			return false, err
		}
		r.noteSlow(done)
		r.counts[last.kind]--
		what := " " + last.kind.String()
		if r.Find.Audit != nil {
			what = "" // a draw does not tell which label it had
		}
		if err := r.tell("%s%s taken back", last.id, what); err != nil {
			return false, err
		}
	}
	r.past, r.at = r.past[:len(r.past)-1], last.at
	return true, nil
}
