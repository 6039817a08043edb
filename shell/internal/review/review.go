// Package review lets a person decide about suspects with keys, one after another. It writes each decision before it
// shows the next suspect, and updates the scores at the end. It knows nothing of flags and files, and not how suspects
// are found or scores are computed.
package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
)

// Options says what a review is about, and where it asks.
type Options struct {
	// Do does a step where the store is open. The store may be open for each step anew, and in another process.
	Do func(ctx context.Context, step Step) (Result, error)

	Find Find // which suspects, or the draws of an audit, which are shown blind

	// KeepScores leaves the scores as they are, around each decision and at the end.
	KeepScores bool

	Replies Replies // nil: there is no terminal

	// Out shows suspects and decisions, Err shows remarks.
	Out, Err io.Writer
	Note     func(text string) // takes what steps say beside their answers; nil: Err does
}

// Run shows one suspect after another until there are no more, or the reviewer leaves. Then it takes the decisions into
// the scores. The summary says how many suspects were decided, also if Run fails. The end of ctx ends Run, also while
// it waits for a reply.
func Run(ctx context.Context, opt Options) (summary string, err error) {
	r := &review{Options: opt, counts: make(map[decide.Kind]int), began: time.Now()}
	if err := r.find(ctx); err != nil {
		return r.summary(), err
	}
	switch {
	case opt.Find.Audit != nil && len(r.queue) == 0:
		return r.standing(ctx)
	case len(r.queue) == 0 && opt.Find.Where != "":
		return "no suspect meets the condition of --where", nil
	case len(r.queue) == 0:
		return "no suspects are left", nil
	case opt.Replies == nil && opt.Find.Audit != nil:
		return r.summary(), errNoTerminalForAudit
	case opt.Replies == nil:
		return r.summary(), errNoTerminal
	}
	err = r.run(ctx)
	if err == nil && opt.Find.Audit != nil {
		standing, err := r.standing(ctx)
		return r.summary() + "\n" + standing, err
	}
	return r.summary(), err
}

// standing says where the audit stands.
func (r *review) standing(ctx context.Context) (string, error) {
	told, err := r.do(ctx, Step{Find: &Find{Audit: &Sample{}}})
	if err != nil || told.Audit == nil {
		return "", err
	}
	return strings.Join(wording.Audit(told.Audit, "--size"), "\n"), nil
}

// find makes the queue.
func (r *review) find(ctx context.Context) error {
	found, err := r.do(ctx, Step{Find: &r.Find})
	if r.queue = found.Nodes; found.Audit != nil {
		r.look = found.Audit.Look
	}
	return err
}

// do does a step, and passes on its notices.
func (r *review) do(ctx context.Context, step Step) (Result, error) {
	result, err := r.Do(ctx, step)
	for _, notice := range result.Notices {
		if r.Note != nil {
			r.Note(notice)
		} else {
			r.say("%s", notice)
		}
	}
	return result, err
}

// A pastReply is one that z takes back.
type pastReply struct {
	at   int // place in the queue
	kind decide.Kind
	id   string // of the node
	step int64  // of the decision; 0 of a skip
}

// A review goes through a queue of suspects.
type review struct {
	Options

	began time.Time
	queue []kv.NodeID
	at    int
	past  []pastReply

	why    string              // of the next decision
	counts map[decide.Kind]int // of decisions
	skips  int
	look   int  // of an audit, that the reviewer has heard of
	slow   bool // to bring scores up to date takes longer than a person waits
}

// read reads the next suspect.
func (r *review) read(ctx context.Context) (*Subject, error) {
	shown, err := r.do(ctx, Step{Show: &Show{Node: r.queue[r.at], At: r.at, Long: len(r.queue), Blind: r.Find.Audit != nil}})
	return shown.Subject, err
}

// moveOn goes on with the queue after a reply that z takes back.
func (r *review) moveOn(reply pastReply) {
	reply.at = r.at
	r.past = append(r.past, reply)
	r.at++
}

// say prints a line for the reviewer.
func (r *review) say(format string, args ...any) {
	// Where Err cannot be written to there is nobody to be told.
	_, _ = fmt.Fprintln(r.Err, print.EscapeLines(fmt.Sprintf(format, args...)))
}

// run goes through the queue. At its end the last reply can be taken back.
func (r *review) run(ctx context.Context) error {
	for done := false; !done; {
		err := r.tellLook(ctx)
		if err != nil {
			return err
		}
		if r.at == len(r.queue) {
			left := "no suspects are left"
			if r.Find.Audit != nil {
				left = "no draws are left, and audit --size draws more"
			}
			done, err = r.replied(left+": [z] undo [q]uit: ", func(key rune) (bool, error) {
				if key == 'z' {
					return r.undo(ctx)
				}
				return false, replyErrorf("%s: want z or q", left)
			})
		} else {
			done, err = r.show(ctx)
		}
		if err != nil {
			return err
		}
	}
	if len(r.counts) == 0 || r.KeepScores {
		return nil
	}
	_, err := r.do(ctx, Step{Finish: true})
	return err
}

// tellLook says what an audit tells, if it has come to another look since the last card, or an undo has taken a look
// back.
func (r *review) tellLook(ctx context.Context) error {
	if r.Find.Audit == nil {
		return nil
	}
	now, err := r.do(ctx, Step{Look: true})
	if err != nil || now.Look == r.look {
		return err
	}
	r.look = now.Look
	told, err := r.do(ctx, Step{Find: &Find{Audit: &Sample{}}})
	if err == nil {
		r.say("\n%s", wording.HowMany(told.Audit))
	}
	return err
}

// show shows a suspect and takes replies until one moves on, or is the wish to leave: done.
func (r *review) show(ctx context.Context) (done bool, err error) {
	e, err := r.read(ctx)
	if err != nil {
		return false, err
	}
	if e.View.Decision != decide.None && e.Decided.EntryTime.After(r.began) {
		r.say("%s", print.EscapeControls(fmt.Sprintf("%s is decided by %s meanwhile", e.ID, cmp.Or(e.Decided.Who, "somebody"))))
		r.at++
		return false, nil
	}
	width := print.ScreenOf(r.Out).Width
	for line := range strings.Lines(e.Card) {
		if _, err := io.WriteString(r.Out, flow(strings.Split(line, " "), width, valueAt)); err != nil {
			return false, err
		}
	}
	return r.replied(r.prompt(e), func(key rune) (bool, error) { return r.take(ctx, e, key) })
}

// replied takes replies until take says that something else is to be shown; done is the wish to leave.
func (r *review) replied(prompt string, take func(key rune) (moved bool, err error)) (done bool, err error) {
	for {
		key, err := r.Replies.Choose(prompt, r.keys())
		if errors.Is(err, io.EOF) || err == nil && key == 'q' {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		moved, err := take(key)
		wrong, ok := errors.AsType[*replyError](err)
		switch {
		case ok:
			r.say("%s", wrong.msg)
		case err != nil:
			return false, err
		case moved:
			return false, nil
		}
	}
}

// summary says what was decided.
func (r *review) summary() string {
	var parts []string
	answered := 0
	for _, kind := range []decide.Kind{decide.Accept, decide.Reject, decide.Relabel, decide.Unlabel, decide.Unsure} {
		if n := r.counts[kind]; r.Find.Audit != nil { // an audit does not tell which labels the draws had
			answered += n
		} else if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, wording.Decided(kind)))
		}
	}
	if answered > 0 {
		parts = append(parts, fmt.Sprintf("%d answered", answered))
	}
	if r.skips > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", r.skips))
	}
	if parts == nil {
		parts = []string{"nothing decided"}
	}
	return fmt.Sprintf("%s; %d left", strings.Join(parts, ", "), len(r.queue)-r.at)
}

// prompt asks about a suspect.
func (r *review) prompt(e *Subject) string {
	var pieces []string
	if e.Options != nil {
		for i, class := range e.Options {
			pieces = append(pieces, fmt.Sprintf("[%d] %s ", i+1, class))
		}
		pieces = append(pieces, "[l] another", "[d]on't know", "[s]kip", "[z] undo", "[?]", "[q]uit: ")
		for i, piece := range pieces {
			pieces[i] = print.EscapeControls(piece)
		}
		return flow(pieces, print.ScreenOf(r.Out).Width, 0)
	}
	if e.canAccept() {
		pieces = append(pieces, "[y] "+e.Suggestion+" ")
	}
	if e.Label != "" {
		pieces = append(pieces, "[n] "+e.Label+" is right ", "[u]nlabel")
	}
	pieces = append(pieces, "[l]abel", "[d]on't know", "[s]kip", "[e]xplain", "[z] undo", "[?]", "[q]uit: ")
	for i, piece := range pieces {
		pieces[i] = print.EscapeControls(piece)
	}
	return flow(pieces, print.ScreenOf(r.Out).Width, 0)
}

// canAccept reports whether another label is suggested.
func (e *Subject) canAccept() bool { return e.Suggestion != "" && e.Suggestion != e.Label }
