package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// ErrNotConfirmed is returned by a decision on the nodes of a condition that nobody has confirmed.
var ErrNotConfirmed = errors.New("not confirmed")

// decisionColumns are what is told of decisions just made.
var decisionColumns = []string{"id", "decision", "from", "to", "score"}

// decide answers accept, reject, relabel, unlabel and unsure with the decisions made.
func (q *query) decide(ctx context.Context, s *decideStatement) (*Result, error) {
	if err := q.writable(s.kind.String()); err != nil {
		return nil, err
	}
	opt, err := q.decideOptions(s.why)
	if err != nil {
		return nil, err
	}
	class, err := q.chosenClass(s.label)
	if err != nil {
		return nil, err
	}
	nodes, err := q.decidedNodes(ctx, s)
	if err != nil {
		return nil, err
	}
	requests := make([]cleaner.DecisionRequest, len(nodes))
	for i, v := range nodes {
		requests[i] = cleaner.DecisionRequest{Node: v, Kind: s.kind, To: class}
	}
	if s.where != nil && len(nodes) > 0 {
		if err := q.confirm(ctx, decisionText(s.kind, len(nodes), class)); err != nil {
			return nil, err
		}
	}
	var made []cleaner.Decision
	if len(requests) > 0 { // a condition may be true of no node
		if made, err = cleaner.Decide(ctx, q.engine.store, requests, opt); err != nil {
			return nil, fmt.Errorf("nothing is decided: %w", err)
		}
	}
	q.notices = append(q.notices, fmt.Sprintf("%s: undo takes it back", decidedText(s.kind, len(made))))
	if len(made) == 0 {
		q.notices[len(q.notices)-1] = "the condition is true of no node: nothing is decided"
	}
	return q.decisions(made, decisionColumns), nil
}

// writable refuses a statement that writes where the store is only read.
func (q *query) writable(statement string) error {
	if q.engine.readOnly || q.engine.store.ReadOnly() {
		return fmt.Errorf("%s: the store is open for reading only", statement)
	}
	return nil
}

// decideOptions says who decides, when, and why.
func (q *query) decideOptions(why *literal) (cleaner.DecideOptions, error) {
	opt := cleaner.DecideOptions{Who: q.engine.who, Now: q.engine.now}
	if opt.Who == "" {
		opt.Who = userName()
	}
	if why != nil {
		value, err := q.value(*why)
		if err != nil {
			return opt, err
		}
		if value.Kind() != kv.KindString {
			return opt, &ResolveError{Pos: why.pos, Msg: fmt.Sprintf("got %s for %s, want a reason in single quotes", describe(value), why)}
		}
		opt.Why = value.Str()
	}
	return opt, nil
}

// userName is who is logged in, "" where the system does not tell.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}

// chosenClass resolves the class of relabel, which the store must have; "" of none.
func (q *query) chosenClass(l *literal) (string, error) {
	if l == nil {
		return "", nil
	}
	value, err := q.value(*l)
	if err != nil {
		return "", err
	}
	class := value.String()
	if l.kind != literalParam {
		class = l.text // of a number, as it was written
	}
	if classes := q.tx.Classes(); value.IsNull() || !slices.Contains(classes, class) {
		return "", &ResolveError{Pos: l.pos, Msg: fmt.Sprintf("no class is named %s%s", quoteString(class), didYouMean(class, classes))}
	}
	return class, nil
}

// decidedNodes finds the nodes that a decision is about, each once.
func (q *query) decidedNodes(ctx context.Context, s *decideStatement) ([]kv.NodeID, error) {
	if s.where != nil {
		return q.nodesWhere(ctx, s)
	}
	nodes := make([]kv.NodeID, len(s.ids))
	for i, id := range s.ids {
		v, err := q.findNode(id)
		if err != nil {
			return nil, err
		}
		if slices.Contains(nodes[:i], v) {
			return nil, &ResolveError{Pos: id.pos, Msg: fmt.Sprintf("node %s is named twice", id)}
		}
		nodes[i] = v
	}
	return nodes, nil
}

// nodesWhere finds the nodes that the condition of a decision is true of: suspects, where the decision is about a
// suggestion, and else all nodes that are undecided, unless the condition speaks of decision. Those without what the
// decision is about, a suggestion or a label, are left out.
func (q *query) nodesWhere(ctx context.Context, s *decideStatement) ([]kv.NodeID, error) {
	var find index.Query
	var err error
	switch s.kind {
	case cleaner.Relabel, cleaner.Unlabel:
		if find, err = q.query(clauses{where: s.where}); err == nil {
			find.Where = index.And{Terms: append([]index.Predicate{find.Where}, undecided(find.Where)...)}
		}
	default:
		find, err = q.suspectQuery(&suspectsStatement{clauses: clauses{where: s.where}})
	}
	if err != nil {
		return nil, err
	}
	switch s.kind {
	case cleaner.Accept:
		find.Where = index.And{Terms: []index.Predicate{find.Where, hasValue(cleaner.SuggestedColumn)}}
	case cleaner.Reject, cleaner.Unlabel:
		find.Where = index.And{Terms: []index.Predicate{find.Where, hasValue(kv.LabelColumn)}}
	}
	find.Order = nil // of the node file
	plan, err := index.NewPlan(q.tx, find)
	if err != nil {
		return nil, q.located(err)
	}
	var nodes []kv.NodeID
	for v, err := range plan.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, v)
	}
	return nodes, nil
}

// confirm asks whether to do what a text says; without anybody to ask it refuses.
func (q *query) confirm(ctx context.Context, what string) error {
	switch {
	case q.engine.yes:
		return nil
	case q.engine.confirm == nil:
		return fmt.Errorf("this would %s: %w: there is no terminal to ask at, and --yes was not given", what, ErrNotConfirmed)
	}
	yes, err := q.engine.confirm(ctx, sentence(what)+"?")
	if err == nil && !yes {
		err = fmt.Errorf("nothing is decided: %w", ErrNotConfirmed)
	}
	return err
}

// ask asks the person at the prompt.
func (s *session) ask(ctx context.Context, question string) (bool, error) {
	s.clearProgress()
	if in, ok := s.opt.In.(*os.File); ok && isTerminal(in) {
		return askTerminal(ctx, in, s.opt.Err, question)
	}
	if _, err := fmt.Fprint(s.opt.Err, question+" [y/N] "); err != nil {
		return false, err
	}
	line, err := s.typed.ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil // the end of the input is a no
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", err
}

// askTerminal asks a question that the key y affirms and any other denies.
func askTerminal(ctx context.Context, in *os.File, out io.Writer, question string) (yes bool, err error) {
	keys := newKeyboard(ctx, in, out)
	err = keys.whileRaw(func() error {
		if err := keys.prompt(escapeControls(question) + " [y/N] "); err != nil {
			return err
		}
		key, err := keys.key()
		yes = err == nil && (key == 'y' || key == 'Y')
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return nil // Ctrl-C, as a key, and the end of the input are a no
	})
	answer := "no"
	if yes {
		answer = "yes"
	}
	return yes, errors.Join(err, printed(out, answer))
}

func printed(out io.Writer, line string) error {
	_, err := fmt.Fprintln(out, line)
	return err
}

// decisionText says what a decision is, such as "relabel 12 nodes as 'Theory'".
func decisionText(kind cleaner.DecisionKind, n int, class string) string {
	switch kind {
	case cleaner.Accept:
		return "accept the suggested labels of " + nodesText(n)
	case cleaner.Reject:
		return "reject the suggested labels of " + nodesText(n)
	case cleaner.Relabel:
		return "relabel " + nodesText(n) + " as " + quoteString(class)
	case cleaner.Unlabel:
		return "remove the labels of " + nodesText(n)
	default:
		return "put " + nodesText(n) + " aside as unsure"
	}
}

// decidedText says what was decided, such as "12 nodes relabelled".
func decidedText(kind cleaner.DecisionKind, n int) string {
	done := map[cleaner.DecisionKind]string{
		cleaner.Accept: "accepted", cleaner.Reject: "rejected", cleaner.Relabel: "relabelled",
		cleaner.Unlabel: "unlabelled", cleaner.Unsure: "put aside as unsure",
	}
	return nodesText(n) + " " + done[kind]
}

func nodesText(n int) string { return countText(n, "node", "nodes") }

func countText(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// undo answers undo with the decisions that were taken back.
func (q *query) undo(ctx context.Context, s *undoStatement) (*Result, error) {
	if err := q.writable("undo"); err != nil {
		return nil, err
	}
	steps := 1
	if s.steps != nil {
		var err error
		if steps, err = q.whole(*s.steps, "steps", 1<<31-1); err != nil {
			return nil, err
		}
		if steps == 0 {
			return nil, &ResolveError{Pos: s.steps.pos, Msg: "got 0 steps, want 1 or more"}
		}
	}
	opt, err := q.decideOptions(nil)
	if err != nil {
		return nil, err
	}
	made, err := cleaner.Undo(ctx, q.engine.store, steps, opt)
	if err != nil {
		return nil, err
	}
	unscored := 0
	for i := range made {
		if made[i].Unscored {
			unscored++
		}
	}
	if unscored > 0 {
		q.notices = append(q.notices, nodesText(unscored)+" scored under the label that was taken back: without a score until the next clean")
	}
	q.notices = append(q.notices, "taken back: "+countText(steps, "step", "steps")+", "+countText(len(made), "decision", "decisions"))
	return q.decisions(made, []string{"id", "decision", "from", "to", "undoes"}), nil
}
