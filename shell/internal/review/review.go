// Package review lets a person decide about suspects, one after another, by lines such as y. It writes each decision
// before it shows the next suspect, and updates the scores at the end. It knows nothing of flags and files, and not how
// suspects are found or scores are computed.
package review

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// Options says what a review is about, and where it asks.
type Options struct {
	// Do does a step where the store is open. The store may be open for each step anew, and in another process.
	Do func(ctx context.Context, step Step) (Result, error)

	Ask func(ctx context.Context, statement string) error // answers a statement on Out

	Find Find // which suspects, or the draws of an audit, which are shown blind

	// KeepScores leaves the scores as they are at the end of a review. Those of an audit follow its last look.
	KeepScores bool

	// In has the replies of the reviewer, a line each: a key, and maybe a label or a reason behind it. nil: there is no
	// terminal. The end of ctx ends its reads.
	In io.Reader

	// Drop, if not nil, drops what was typed before a suspect was shown: it is no reply about it.
	Drop func() error

	// Out shows suspects and decisions, Err shows remarks.
	Out, Err io.Writer
	Note     func(text string) // takes what steps say beside their answers
}

// Keys and AuditKeys say what a reviewer can say.
const (
	others = "d do not know, s skip, z take back the last reply, w TEXT reason of the next decision, ? the keys, q leave"
	Keys   = "y take the suggested label, n the label now is right, l LABEL another label, u remove the label, " +
		"e all the evidence, " + others
	AuditKeys = "1 to 4 this label is right, l LABEL another label, " + others
)

// errNoTerminal says how to decide without keys.
var errNoTerminal = errors.New("want replies, and there is no terminal for them: decide with statements, such as " +
	"accept 'p1', in shell -c or shell -f, or by import --decisions; audit --draws writes the draws of an audit; " +
	"or use review --web")

// A review goes through a queue of suspects.
type review struct {
	Options
	blind   bool // an audit
	replies *bufio.Reader

	began time.Time
	queue []string // ids
	at    int
	past  []pastReply

	why            string // of the next decision
	decided, skips int
}

// A pastReply is one that z takes back.
type pastReply struct {
	at   int   // place in the queue
	step int64 // of the decision; 0 of a skip
}

// Run shows one suspect after another until there are no more, or the reviewer leaves. Then it takes the decisions into
// the scores. The summary says how many suspects were decided, also if Run fails; audit is where an audit stands. The
// end of ctx ends Run, also while it waits for a reply.
func Run(ctx context.Context, opt Options) (summary string, audit *cleaner.Audit, err error) {
	r := &review{Options: opt, blind: opt.Find.Audit != nil, began: time.Now()}
	found, err := r.do(ctx, Step{Find: &r.Find})
	if err != nil {
		return r.summary(), nil, err
	}
	r.queue = found.IDs
	switch {
	case len(r.queue) > 0 && opt.In == nil:
		return r.summary(), nil, errNoTerminal
	case len(r.queue) == 0 && opt.Find.Where != "":
		return "no suspect meets the condition of --where", nil, nil
	case len(r.queue) == 0 && !r.blind:
		return "no suspects are left", nil, nil
	}
	r.replies = bufio.NewReader(opt.In)
	for done := false; !done && err == nil && r.at < len(r.queue); {
		done, err = r.show(ctx)
	}
	if len(r.queue) > 0 {
		summary = r.summary()
	}
	follow := r.decided > 0 && !r.KeepScores
	if err == nil && r.blind {
		if found, err = r.do(ctx, Step{Find: &Find{Audit: &Sample{}}}); err == nil {
			summary = strings.TrimPrefix(summary+"\n"+strings.Join(wording.Audit(found.Audit, "--size"), "\n"), "\n")
			follow = found.Audit.Behind
		}
	}
	if err == nil && follow {
		_, err = r.do(ctx, Step{Finish: true})
	}
	return summary, found.Audit, err
}

// do does a step, and passes on its notices.
func (r *review) do(ctx context.Context, step Step) (Result, error) {
	result, err := r.Do(ctx, step)
	for _, notice := range result.Notices {
		r.Note(notice)
	}
	return result, err
}

// say prints a line for the reviewer.
func (r *review) say(format string, args ...any) {
	// Where Err cannot be written to there is nobody to be told.
	_, _ = fmt.Fprintln(r.Err, print.EscapeLines(fmt.Sprintf(format, args...)))
}

// show shows a suspect and takes replies until one moves on, or is the wish to leave: done.
func (r *review) show(ctx context.Context) (done bool, err error) {
	shown, err := r.do(ctx, Step{Show: r.queue[r.at]})
	if err != nil {
		return false, err
	}
	e := shown.Dossier
	if n := len(e.History); e.Decision != decide.None && n > 0 && e.History[n-1].Time.After(r.began) {
		r.at++
		return r.refuse("%s is decided by %s meanwhile", e.ID, cmp.Or(e.History[n-1].Who, "somebody"))
	}
	_, err = fmt.Fprintf(r.Out, "\n%d of %d: node %s\n%s", r.at+1, len(r.queue), print.EscapeControls(e.ID),
		card(e, r.blind))
	if err == nil && r.Drop != nil {
		r.replies.Reset(r.In)
		err = r.Drop()
	}
	if err != nil {
		return false, err
	}
	for {
		reply, err := r.ask(r.question(e))
		if errors.Is(err, io.EOF) || strings.EqualFold(reply, "q") {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		key, text, _ := strings.Cut(reply, " ")
		if moved, err := r.take(ctx, e, strings.ToLower(key), strings.TrimSpace(text)); moved || err != nil {
			return false, err
		}
	}
}

// ask reads a line. The error is io.EOF after Ctrl-D.
func (r *review) ask(prompt string) (line string, err error) {
	if _, err := fmt.Fprint(r.Err, print.EscapeLines(prompt)); err != nil {
		return "", err
	}
	line, err = r.replies.ReadString('\n')
	if err != nil { // the message of the end stands in a line of its own
		r.say("")
	}
	return strings.TrimSpace(line), err
}

// refuse says what is wrong with a reply.
func (r *review) refuse(format string, args ...any) (moved bool, err error) {
	r.say("%s", print.EscapeControls(fmt.Sprintf(format, args...)))
	return false, nil
}

// question asks about a suspect.
func (r *review) question(e *survey.Dossier) (text string) {
	if r.blind {
		for i, class := range e.BlindOptions() {
			text += fmt.Sprintf("[%d] %s  ", i+1, class)
		}
		return text + "\n[l] another [d]on't know [s]kip [z] undo [?] [q]uit: "
	}
	if canAccept(e) {
		text += "[y] " + e.Suggestion + "  "
	}
	if e.Label != "" {
		text += "[n] " + e.Label + " is right  [u]nlabel"
	}
	return text + "\n[l]abel [d]on't know [s]kip [e]xplain [z] undo [?] [q]uit: "
}

// canAccept reports whether another label is suggested.
func canAccept(e *survey.Dossier) bool { return e.Suggestion != "" && e.Suggestion != e.Label }

// take does what a key asks for, with the text behind it; moved says that another suspect is to be shown.
func (r *review) take(ctx context.Context, e *survey.Dossier, key, text string) (moved bool, err error) {
	keys, hasText := Keys, key == "l" || key == "w"
	if r.blind {
		keys = AuditKeys
	}
	if text != "" && !hasText || r.blind && slices.Contains([]string{"y", "n", "u", "e"}, key) {
		return r.refuse("%s", keys)
	}
	if at, err := strconv.Atoi(key); r.blind && err == nil && at > 0 && at <= len(e.BlindOptions()) {
		return r.decide(ctx, e, decide.Relabel, e.BlindOptions()[at-1])
	}
	switch key {
	case "y":
		if !canAccept(e) {
			return r.refuse("node %s: no other label is suggested", e.ID)
		}
		return r.decide(ctx, e, decide.Accept, "")
	case "n", "u":
		if e.Label == "" && (key == "n" || !e.Disputed) {
			return r.refuse("node %s has no label", e.ID)
		}
		return r.decide(ctx, e, map[string]decide.Kind{"n": decide.Reject, "u": decide.Unlabel}[key], "")
	case "d":
		return r.decide(ctx, e, decide.Unsure, "")
	case "l":
		label, err := r.label(e, text)
		if err != nil || label == "" {
			return false, err
		}
		return r.decide(ctx, e, decide.Relabel, label)
	case "s":
		r.skips++
		r.moveOn(pastReply{})
		return true, nil
	case "z":
		return r.undo(ctx)
	case "w":
		if !decide.IsWhy(text) {
			return r.refuse("the reason is no UTF-8 text, has control characters, or has more than %d bytes", decide.MaxWhy)
		}
		r.why = text
		return false, nil
	case "e":
		return false, r.Ask(ctx, "explain "+query.Quote(e.ID))
	}
	return r.refuse("%s", keys)
}

// listedClasses is how many classes are listed at most where a label is asked for.
const listedClasses = 20

// label finds the label of a name or a part of that, and asks for it where it is missing or wrong. It is empty if the
// reviewer goes back.
func (r *review) label(e *survey.Dossier, text string) (label string, err error) {
	if text == "" {
		listed := e.Choices
		if r.blind { // the order says which label the node has
			listed = slices.Sorted(slices.Values(listed))
		}
		r.say("%s", print.EscapeControls(strings.Join(listed[:min(len(listed), listedClasses)], ", ")))
		text, err = r.ask("label, or a part of it: ")
	}
	for ; err == nil && text != ""; text, err = r.ask("label, or a part of it: ") {
		if label, err = survey.MatchClass(e.Choices, text); err == nil {
			return label, nil
		}
		r.say("%s: try again, or leave it empty to go back", print.EscapeControls(err.Error()))
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return "", err
}

// decide writes a decision about the suspect of the card, and moves on. If the store no longer agrees with the card, it
// decides nothing, and the reviewer sees the new card, or the next draw.
func (r *review) decide(
	ctx context.Context, e *survey.Dossier, kind decide.Kind, label string,
) (moved bool, err error) {
	reply := survey.Reply{ID: e.ID, Kind: kind, Label: label, Why: r.why, Seen: e.View}
	result, err := r.do(ctx, Step{Reply: &reply})
	if errors.Is(err, decide.ErrChanged) {
		said := "nothing is decided: " + err.Error()
		if r.blind {
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
	r.decided++
	r.moveOn(pastReply{step: result.Done.Step})
	if r.blind && label != "" {
		result.Done.Said = e.ID + ": " + label
	}
	return true, r.tell(result)
}

// moveOn goes on with the queue after a reply that z takes back.
func (r *review) moveOn(reply pastReply) {
	reply.at = r.at
	r.past = append(r.past, reply)
	r.at++
}

// tell says what was done, and what an audit tells if it has come to another look, or an undo has taken a look back.
func (r *review) tell(result Result) error {
	if r.blind && result.Told != "" {
		r.say("\n%s", result.Told)
	}
	_, err := fmt.Fprintln(r.Out, print.EscapeControls(result.Done.Said))
	return err
}

// undo takes the last reply back and returns to its suspect.
func (r *review) undo(ctx context.Context) (moved bool, err error) {
	if len(r.past) == 0 {
		return r.refuse("this review has nothing to take back; the statement undo takes back earlier decisions")
	}
	last := r.past[len(r.past)-1]
	if last.step == 0 {
		r.skips--
	} else {
		result, err := r.do(ctx, Step{Undo: last.step})
		if errors.Is(err, decide.ErrChanged) {
			return r.refuse("%s cannot be taken back here: somebody has decided since", r.queue[last.at])
		}
		if err != nil {
			return false, err
		}
		r.decided--
		if err := r.tell(result); err != nil {
			return false, err
		}
	}
	r.past, r.at = r.past[:len(r.past)-1], last.at
	return true, nil
}

// summary says how many nodes were decided on, and not on which label: an audit does not tell that.
func (r *review) summary() string {
	return fmt.Sprintf("%d decided, %d skipped; %d left", r.decided, r.skips, len(r.queue)-r.at)
}
