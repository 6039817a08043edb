package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// reviewCommand shows suspects one at a time and takes decisions about them.
type reviewCommand struct {
	DB    string   `arg:"" name:"DB" help:"Directory of the store."`
	Where string   `placeholder:"EXPR" help:"Only suspects that meet this condition, as in the statement suspects."`
	Limit positive `placeholder:"N" help:"Stop after N suspects. Default: all."`
	Who   string   `placeholder:"NAME" help:"Who decides. Default: your user name."`
	resources
}

func (*reviewCommand) Help() string {
	return `Shows the suspects one at a time, highest score first, each with its evidence, and takes a key: ` + reviewKeysText() + `.

Every decision is on disk before the next suspect appears. A decided suspect does not come again. So you can leave a review at any time and continue ` +
		`later. At the end, review updates the scores, as rescore does. Skipped suspects come again in the next review. To find the unsure ones, ask: suspects where decision = 'unsure'.

After l, the classes are listed. Type a name, its beginning, or its number in the list. A number that is also a name, or the beginning of a name, is read ` +
		`as a name. After a wrong name, review asks again. Keys count one at a time. Pasted text, and keys typed before a suspect appears, do not count.

If standard input or output is no terminal, each line of input is a key or its word. l is followed by the label, w by the reason. A line with no meaning ends the review.

    graphcleaner review my.graph
    graphcleaner review my.graph --where "label = 'Theory' and degree > 3" --limit 50
    printf 'y\nn\nl Theory\nz\nq\n' | graphcleaner review my.graph`
}

// A reviewKey is what a reviewer can say.
type reviewKey struct {
	key  rune
	word string // for lines
	help string
}

var reviewKeys = []reviewKey{
	{'y', "accept", "take the suggested label"},
	{'n', "reject", "the label is right"},
	{'l', "relabel", "another label"},
	{'u', "unlabel", "remove the label"},
	{'d', "unsure", "do not know"},
	{'s', "skip", "skip"},
	{'z', "undo", "take back the last reply"},
	{'w', "why", "reason of the next decision"},
	{'e', "explain", "all the evidence"},
	{'?', "help", "the keys"},
	{'q', "quit", "leave"},
}

// takesText reports whether a label or a reason belongs to the key.
func (k reviewKey) takesText() bool { return k.key == 'l' || k.key == 'w' }

// replyOf finds what a key says.
func replyOf(key rune) (known reviewKey, ok bool) {
	i := slices.IndexFunc(reviewKeys, func(k reviewKey) bool { return k.key == unicode.ToLower(key) })
	if i < 0 {
		return known, false
	}
	return reviewKeys[i], true
}

func reviewKeysText() string {
	parts := make([]string, len(reviewKeys))
	for i, k := range reviewKeys {
		parts[i] = fmt.Sprintf("%c %s", k.key, k.help)
	}
	return strings.Join(parts, ", ")
}

func (c *reviewCommand) Run(ctx context.Context, s *streams) error {
	if err := cmp.Or(c.apply(), checkWho(c.Who)); err != nil {
		return err
	}
	where, err := query.ParseCondition(c.Where)
	if err != nil {
		return usagef("--where: %v", err)
	}
	if c.Who == "" {
		c.Who = query.UserName()
	}
	r := &review{s: s, who: c.Who, decided: make(map[decide.Kind]int)}
	err = withStore(c.DB, kv.Options{MemoryBudget: c.store()}, func(store *kv.Store) error {
		r.engine = query.Engine{Store: store, Workers: c.Threads, MemoryBudget: c.work()}
		if err := r.find(ctx, where, int(c.Limit)); err != nil {
			return err
		}
		r.replies = newReplies(ctx, s)
		return r.run(ctx)
	})
	if err != nil {
		return leaving(c.inFlags(err), "%s", r.summary())
	}
	return nil
}

// A reply is what a reviewer says about a suspect.
type reply struct {
	key  rune   // of reviewKeys
	text string // that came with it: a label or a reason
}

// replies are where a review takes what the reviewer says from.
type replies interface {
	// next waits for a reply to what is shown; io.EOF when there are no more. Prompt is for a person.
	next(prompt string) (reply, error)

	// word waits for a label or a reason that did not come with its key; choices, if any, complete it. It is empty where the
	// reviewer thinks better of it.
	word(prompt string, choices []string) (string, error)

	// forgiving reports whether there is somebody to be told that a reply cannot be meant.
	forgiving() bool
}

// A pastReply is one that z takes back.
type pastReply struct {
	at   int // place in the queue
	kind decide.Kind
	id   string // of the node
	step int64  // of the decision
}

// A review goes through a queue of suspects.
type review struct {
	s       *streams
	engine  query.Engine
	who     string
	replies replies

	queue []kv.NodeID
	at    int
	past  []pastReply

	why     string // of the next decision
	decided map[decide.Kind]int
	skipped int
}

// find lists the suspects, a limit of 0 being none.
func (r *review) find(ctx context.Context, where query.Condition, limit int) error {
	suspects, notices, err := r.engine.Suspects(ctx, where, limit)
	if _, ok := query.Position(err); ok {
		return fmt.Errorf("--where: %w", err)
	}
	if err != nil {
		return err
	}
	for _, notice := range notices {
		r.s.say("%s", notice)
	}
	r.queue = suspects
	return nil
}

// run shows one suspect after another until there are no more, or no more replies.
func (r *review) run(ctx context.Context) error {
	if len(r.queue) == 0 {
		r.s.say("no suspects are left")
		return nil
	}
	for done := false; !done; {
		var err error
		if r.at == len(r.queue) {
			done, err = r.close(ctx)
		} else {
			done, err = r.show(ctx)
		}
		if err != nil {
			return err
		}
	}
	if err := r.rescore(ctx); err != nil {
		return err
	}
	r.s.say("%s", r.summary())
	return nil
}

// show shows the suspect whose turn it is and takes replies until one moves on, or is the wish to leave: done.
func (r *review) show(ctx context.Context) (done bool, err error) {
	e, err := r.read(ctx)
	if err != nil {
		return false, err
	}
	if _, err := io.WriteString(r.s.out, r.card(e)); err != nil {
		return false, err
	}
	return r.replied(r.prompt(e), func(a reply) (bool, error) { return r.take(ctx, e, a) })
}

// close lets the last reply be taken back before the review ends.
func (r *review) close(ctx context.Context) (done bool, err error) {
	return r.replied("no suspects are left: [z] undo [q]uit: ", func(a reply) (bool, error) {
		if a.key != 'z' {
			return false, replyErrorf("no suspects are left: want z or q")
		}
		return r.undo(ctx)
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
			r.s.say("%s", wrong.msg)
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
		if n := r.decided[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, reviewedWords[kind]))
		}
	}
	if r.skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", r.skipped))
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

// A replyError is what is wrong with a reply.
type replyError struct{ msg string }

func (e *replyError) Error() string { return e.msg }

func replyErrorf(format string, args ...any) error { return &replyError{fmt.Sprintf(format, args...)} }

// prompt asks a person about a suspect.
func (r *review) prompt(e *subject) string {
	accept := ""
	if e.Suggestion != "" && e.Suggestion != e.Label {
		accept = "[y] " + e.Suggestion + "  "
	}
	return print.EscapeControls(fmt.Sprintf("%s[n] %s is right  [l]abel [u]nlabel [d]on't know [s]kip [z] undo [?] [q]uit: ", accept, e.Label))
}

// take does what a reply asks for; moved says that another suspect is to be shown.
func (r *review) take(ctx context.Context, e *subject, a reply) (moved bool, err error) {
	if (a.key == 'n' || a.key == 'u') && e.Label == "" {
		return false, replyErrorf("node %s has no label: want y, l, d or s", e.ID)
	}
	switch a.key {
	case 'y':
		if e.Suggestion == "" || e.Suggestion == e.Label {
			return false, replyErrorf("node %s: no other label is suggested: want n, l, u, d or s", e.ID)
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
		r.past = append(r.past, pastReply{at: r.at})
		r.skipped++
		r.at++
		return true, nil
	case 'z':
		return r.undo(ctx)
	case 'w':
		return false, r.explain(a.text)
	case 'e':
		result, err := r.engine.Query(ctx, "explain $1", e.ID)
		if err == nil {
			_, err = print.Render(r.s.out, result, print.FormatTable)
		}
		return false, err
	default:
		for _, k := range reviewKeys {
			r.s.say("  %c  %-8s %s", k.key, k.word, k.help)
		}
		return false, nil
	}
}

// relabel gives a suspect a label of the reviewer's.
func (r *review) relabel(ctx context.Context, e *subject, label string) (moved bool, err error) {
	if label == "" {
		r.listClasses(e)
	}
	label, err = r.wordFor("label (Tab completes): ", e.choices(), label, e.class)
	if err != nil || label == "" {
		return false, err
	}
	if label == e.Label {
		return r.decide(ctx, e, decide.Reject, "")
	}
	return r.decide(ctx, e, decide.Relabel, label)
}

// explain takes the reason of the next decision.
func (r *review) explain(why string) (err error) {
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

// wordFor asks for a label or a reason until it is one, or the reviewer thinks better of it: empty. A text that came with
// its key is the first answer. Whoever is told of a slip is still asked for the same, so that a second try is not taken for
// keys. Check returns what a text means; asked says that it answers the prompt.
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
		r.s.say("%s: try again, or leave it empty to go back", wrong.msg)
	}
}

// listedClasses is how many classes are listed at most where a label is asked for.
const listedClasses = 20

// listClasses lists the classes that a suspect could have, with the numbers that pick them.
func (r *review) listClasses(e *subject) {
	if !r.replies.forgiving() {
		return
	}
	choices := e.choices()
	numbered := false // a class is named as a number
	for i, class := range choices[:min(len(choices), listedClasses)] {
		note := ""
		if class == e.Label {
			note = ", its label"
		}
		r.s.say("  %2d  %s%s", i+1, print.EscapeControls(class), note)
		_, err := strconv.Atoi(class)
		numbered = numbered || err == nil
	}
	if more := len(choices) - listedClasses; more > 0 {
		r.s.say("  and %d more: type the beginning of one", more)
	}
	if numbered {
		r.s.say("  a number that a class is named by, or that names begin with, is a name")
	}
}

// class is the class that a text means: the one of that name or, where the text answers the list of classes, the one of
// that place in it. A text that names begin with is no place.
func (e *subject) class(text string, listed bool) (string, error) {
	if slices.Contains(e.classes, text) {
		return text, nil
	}
	beginsName := slices.ContainsFunc(e.classes, func(class string) bool { return strings.HasPrefix(class, text) })
	place, err := strconv.Atoi(text)
	if choices := e.choices(); listed && err == nil && !beginsName && place >= 1 && place <= min(len(choices), listedClasses) {
		return choices[place-1], nil
	}
	return "", replyErrorf("no class is named %s%s", query.Quote(text), wording.DidYouMean(text, e.classes))
}

// choices are the classes a suspect could have, the most likely first, the one it has last.
func (e *subject) choices() []string {
	var choices []string
	for _, c := range e.TopClasses {
		choices = append(choices, c.Class)
	}
	for _, class := range e.classes {
		if len(choices) < len(e.classes) && !slices.Contains(choices, class) {
			choices = append(choices, class)
		}
	}
	if i := slices.Index(choices, e.Label); i >= 0 {
		choices = append(slices.Delete(choices, i, i+1), e.Label)
	}
	return choices
}

// decide writes a decision about what the card shows, and moves on. Where that is no longer so nothing is decided, and a
// person is shown the card again.
func (r *review) decide(ctx context.Context, e *subject, kind decide.Kind, label string) (moved bool, err error) {
	request := decide.Request{Node: e.Node, Kind: kind, To: label, View: &decide.View{
		Label: e.Label, Suggestion: e.Suggestion, Decision: e.Decision, Run: e.Run,
	}}
	made, err := decide.Write(ctx, r.engine.Store, []decide.Request{request}, decide.Options{Who: r.who, Why: r.why})
	if errors.Is(err, decide.ErrChanged) && r.replies.forgiving() {
		r.s.say("%s", print.EscapeControls("nothing is decided: "+err.Error()))
		return true, nil
	}
	if err != nil {
		return false, err
	}
	r.why = ""
	r.decided[kind]++
	r.past = append(r.past, pastReply{at: r.at, kind: kind, id: made[0].ID, step: made[0].Step})
	r.at++
	return true, r.report(made[0])
}

// report says what was decided.
func (r *review) report(d decide.Decision) error {
	change := ""
	if d.From != d.To {
		to := d.To
		if to == "" {
			to = "no label"
		}
		change = fmt.Sprintf(": %s → %s", d.From, to)
	}
	_, err := fmt.Fprintln(r.s.out, print.EscapeControls(fmt.Sprintf("%s %s%s", d.ID, reviewedWords[d.Kind], change)))
	return err
}

// undo takes the last reply back and shows what it was about again.
func (r *review) undo(ctx context.Context) (moved bool, err error) {
	if len(r.past) == 0 {
		return false, replyErrorf("this review has nothing to take back; the statement undo of the shell takes back earlier decisions")
	}
	last := r.past[len(r.past)-1]
	if last.kind == decide.None {
		r.skipped--
	} else {
		_, err := cleaner.UndoStep(ctx, r.engine.Store, last.step, decide.Options{Who: r.who})
		if errors.Is(err, decide.ErrChanged) {
			return false, replyErrorf("%s cannot be taken back here: somebody has decided since, or has taken it back", last.id)
		}
		if err != nil {
			return false, err
		}
		r.decided[last.kind]--
		if _, err := fmt.Fprintln(r.s.out, print.EscapeControls(fmt.Sprintf("%s %s taken back", last.id, last.kind))); err != nil {
			return false, err
		}
	}
	r.past = r.past[:len(r.past)-1]
	r.at = last.at
	return true, nil
}

// newReplies reads keys from a terminal, and lines from everything else.
func newReplies(ctx context.Context, s *streams) replies {
	in, ok := s.in.(*os.File)
	if ok && print.IsTerminal(in) && print.IsTerminal(s.out) && os.Getenv("TERM") != "dumb" {
		return newKeyboard(ctx, in, s.err)
	}
	return newReplyLines(stream.NewReader(ctx, s.in), s.err, ok && print.IsTerminal(in))
}
