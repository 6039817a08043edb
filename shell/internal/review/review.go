// Package review lets a person decide about suspects, one after another: with keys at a terminal, or with lines. It writes each
// decision before it shows the next suspect, and updates the scores at the end. It knows nothing of flags and files, and not how
// suspects are found or scores are computed.
package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// Options says what a review is about, and where it asks.
type Options struct {
	// Do does a step where the store is open. The store may be open for each step anew, and in another process.
	Do func(ctx context.Context, step Step) (Result, error)

	Find Find // which suspects

	// KeepScores leaves the scores as they are, around each decision and at the end.
	KeepScores bool

	// The reviewer answers with keys if In and Out are terminals, else with lines. Out shows suspects and decisions, Err shows
	// questions and remarks.
	In       io.Reader
	Out, Err io.Writer
	Note     func(text string) // takes what steps say beside their answers; nil: Err does
}

// Run shows one suspect after another until there are no more, or no more replies. Then it takes the decisions into the scores. The summary says
// how many suspects were decided, also if Run fails. The end of ctx ends Run, also while it waits for a reply.
func Run(ctx context.Context, opt Options) (summary string, err error) {
	r := &review{Options: opt, counts: make(map[decide.Kind]int), began: time.Now()}
	if err := r.find(ctx); err != nil {
		return r.summary(), err
	}
	switch {
	case len(r.queue) == 0 && opt.Find.Where != "":
		return "no suspect meets the condition of --where", nil
	case len(r.queue) == 0:
		return "no suspects are left", nil
	}
	r.replies = newReplies(ctx, opt)
	err = r.run(ctx)
	return r.summary(), err
}

// find makes the queue.
func (r *review) find(ctx context.Context) error {
	found, err := r.do(ctx, Step{Find: &r.Find})
	r.queue = found.Nodes
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
	at     int        // place in the queue
	beside *kv.NodeID // as in review
	kind   decide.Kind
	id     string // of the node
	step   int64  // of the decision
	skips  int    // 1 of a skip
}

// A review goes through a queue of suspects.
type review struct {
	Options
	replies replies

	began time.Time
	queue []kv.NodeID
	at    int
	past  []pastReply

	beside *kv.NodeID // the node that the reviewer went to; nil: the queue is where it is

	why    string              // of the next decision
	counts map[decide.Kind]int // of decisions
	skips  int
	slow   bool // to bring scores up to date takes longer than a person waits
}

// read reads the node that the reviewer went to, or else the next suspect.
func (r *review) read(ctx context.Context) (*Subject, error) {
	show := &Show{}
	if r.beside != nil {
		show.Node = *r.beside
	} else {
		*show = Show{r.queue[r.at], r.at, len(r.queue)}
	}
	shown, err := r.do(ctx, Step{Show: show})
	return shown.Subject, err
}

// moveOn goes on with the queue after a reply that z takes back.
func (r *review) moveOn(reply pastReply) {
	reply.at, reply.beside = r.at, r.beside
	r.past = append(r.past, reply)
	if r.beside == nil {
		r.at++
	}
	r.beside = nil
}

// say prints a line for the reviewer.
func (r *review) say(format string, args ...any) {
	// Where Err cannot be written to there is nobody to be told.
	_, _ = fmt.Fprintln(r.Err, print.EscapeLines(fmt.Sprintf(format, args...)))
}

// run goes through the queue.
func (r *review) run(ctx context.Context) error {
	for done := false; !done; {
		var err error
		if r.beside == nil && r.at == len(r.queue) {
			done, err = r.close(ctx)
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
	if _, err := r.do(ctx, Step{Finish: true}); err != nil {
		return err
	}
	return r.recount(ctx)
}

// recount has the summary count the suspects that are left by the scores as they are after the decisions.
func (r *review) recount(ctx context.Context) error {
	found, err := r.Do(ctx, Step{Find: &Find{Where: r.Find.Where}})
	if err != nil {
		return err
	}
	shown := make(map[kv.NodeID]bool)
	for _, v := range r.queue[:r.at] {
		shown[v] = true
	}
	left := slices.DeleteFunc(found.Nodes, func(v kv.NodeID) bool { return shown[v] })
	if most := len(r.queue) - r.at; r.Find.Limit > 0 && len(left) > most {
		left = left[:most]
	}
	r.queue = append(r.queue[:r.at], left...)
	return nil
}

// show shows a suspect and takes replies until one moves on, or is the wish to leave: done.
func (r *review) show(ctx context.Context) (done bool, err error) {
	e, err := r.read(ctx)
	if err != nil {
		return false, err
	}
	if r.beside == nil && e.View.Decision != decide.None && e.Decided.EntryTime.After(r.began) && r.replies.forgiving() {
		// Lines are about the suspects in their order; a person sees which one comes.
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
	return r.replied(r.prompt(e), func(a reply) (bool, error) { return r.take(ctx, e, a) })
}

// close lets the last reply be taken back before the review ends.
func (r *review) close(ctx context.Context) (done bool, err error) {
	return r.replied("no suspects are left: [g]o [z] undo [q]uit: ", func(a reply) (bool, error) {
		switch a.key {
		case 'g':
			return r.goTo(ctx, a.text)
		case 'z':
			return r.undo(ctx)
		}
		return false, replyErrorf("no suspects are left: want g, z or q")
	})
}

// replied takes replies until take says that something else is to be shown; done is the wish to leave, or the end of the
// replies.
func (r *review) replied(prompt string, take func(reply) (moved bool, err error)) (done bool, err error) {
	for {
		a, err := r.replies.next(prompt)
		if errors.Is(err, io.EOF) || err == nil && a.key == 'q' {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		moved, err := take(a)
		wrong, ok := errors.AsType[*replyError](err)
		switch {
		case ok && r.replies.forgiving():
			r.say("%s", wrong.msg)
		case errors.Is(err, io.EOF): // where a label or a reason was asked for
			return true, nil
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
	for _, kind := range []decide.Kind{decide.Accept, decide.Reject, decide.Relabel, decide.Unlabel, decide.Unsure} {
		if n := r.counts[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, reviewedWords[kind]))
		}
	}
	if r.skips > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", r.skips))
	}
	if parts == nil {
		parts = []string{"nothing decided"}
	}
	return fmt.Sprintf("%s; %d left", strings.Join(parts, ", "), len(r.queue)-r.at)
}

var reviewedWords = map[decide.Kind]string{
	decide.Accept: "accepted", decide.Reject: "rejected", decide.Relabel: "relabelled",
	decide.Unlabel: "unlabelled", decide.Unsure: "unsure",
}

// prompt asks a person about a suspect.
func (r *review) prompt(e *Subject) string {
	var pieces []string
	if e.canAccept() {
		pieces = append(pieces, "[y] "+e.Suggestion+" ")
	}
	if e.Label != "" {
		pieces = append(pieces, "[n] "+e.Label+" is right ")
	}
	pieces = append(pieces, "[l]abel")
	if e.Label != "" {
		pieces = append(pieces, "[u]nlabel")
	}
	pieces = append(pieces, "[d]on't know", "[s]kip", "[g]o", "[e]xplain", "[z] undo", "[?]", "[q]uit: ")
	for i, piece := range pieces {
		pieces[i] = print.EscapeControls(piece)
	}
	return flow(pieces, print.ScreenOf(r.Out).Width, 0)
}

// canAccept reports whether another label is suggested.
func (e *Subject) canAccept() bool { return e.Suggestion != "" && e.Suggestion != e.Label }

// wants lists the keys that can decide about a node, and the one that skips it.
func (e *Subject) wants() string {
	var keys []string
	if e.canAccept() {
		keys = append(keys, "y")
	}
	if e.Label != "" {
		keys = append(keys, "n", "u")
	}
	return wording.AnyOf(append(keys, "l", "d", "s"))
}

// take does what a reply asks for; moved says that another suspect is to be shown.
func (r *review) take(ctx context.Context, e *Subject, a reply) (moved bool, err error) {
	if (a.key == 'n' || a.key == 'u' && !e.Disputed) && e.Label == "" {
		return false, replyErrorf("node %s has no label: want %s", e.ID, e.wants())
	}
	switch a.key {
	case 'y':
		if !e.canAccept() {
			return false, replyErrorf("node %s: no other label is suggested: want %s", e.ID, e.wants())
		}
		return r.decide(ctx, e, decide.Accept, "")
	case 'n':
		return r.decide(ctx, e, decide.Reject, "")
	case 'l':
		return r.relabel(ctx, e, a.text)
	case 'u':
		return r.decide(ctx, e, decide.Unlabel, "")
	case 'd':
		return r.decide(ctx, e, decide.Unsure, "")
	case 's':
		r.skips++
		r.moveOn(pastReply{skips: 1})
		return true, nil
	case 'g':
		return r.goTo(ctx, a.text)
	case 'z':
		return r.undo(ctx)
	case 'w':
		return false, r.takeReason(a.text)
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
func (r *review) goTo(ctx context.Context, id string) (moved bool, err error) {
	var found Result
	id, err = r.wordFor("id of the node: ", nil, id, func(text string, _ bool) (string, error) {
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
func (r *review) takeReason(why string) (err error) {
	r.why, err = r.wordFor("reason: ", nil, why, func(text string, _ bool) (string, error) {
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

// wordFor asks for a label, an id or a reason. It returns "" if the reviewer gives none. A text that came with its key is the first
// answer. After a slip, wordFor asks a person again, so that the second try does not count as keys. Check returns the meaning of
// a text; asked says that the text answers the prompt.
func (r *review) wordFor(
	prompt string, choices []string, text string, check func(text string, asked bool) (string, error),
) (string, error) {
	for asked := text == ""; ; asked = true {
		if asked {
			var err error
			if text, err = r.replies.word(prompt, choices); err != nil || text == "" {
				return "", err
			}
		}
		meant, err := check(text, asked)
		wrong, ok := errors.AsType[*replyError](err)
		if !ok || !r.replies.forgiving() {
			return meant, err
		}
		r.say("%s: try again, or leave it empty to go back", wrong.msg)
	}
}

// decide writes a decision about the suspect of the card, and moves on. If the store no longer agrees with the card, it decides
// nothing, and a person sees the new card.
func (r *review) decide(ctx context.Context, e *Subject, kind decide.Kind, label string) (moved bool, err error) {
	request := decide.Request{Node: e.Node, Kind: kind, To: label, View: &e.View}
	done, err := r.do(ctx, Step{Decide: &Decide{request, r.why}, KeepScores: r.KeepScores || r.slow})
	if errors.Is(err, decide.ErrChanged) && r.replies.forgiving() {
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
	_, err := fmt.Fprintln(r.Out, print.EscapeControls(fmt.Sprintf("%s %s%s", d.ID, reviewedWords[d.Kind], change)))
	return err
}

// undo takes the last reply back and returns to its suspect.
func (r *review) undo(ctx context.Context) (moved bool, err error) {
	if len(r.past) == 0 {
		return false, replyErrorf("this review has nothing to take back; the statement undo of the shell takes back earlier decisions")
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
		if _, err := fmt.Fprintln(r.Out, print.EscapeControls(fmt.Sprintf("%s %s taken back", last.id, last.kind))); err != nil {
			return false, err
		}
	}
	r.past = r.past[:len(r.past)-1]
	r.at, r.beside = last.at, last.beside
	return true, nil
}
