package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// decide answers accept, reject, relabel, unlabel and unsure with the decisions made. They are about what the snapshot
// of the query shows: if a node has changed since, nothing is decided.
func (q *query) decide(ctx context.Context, s *Statement) (*Result, error) {
	opt, err := q.decideOptions(s.why)
	if err != nil {
		return nil, err
	}
	class, err := q.chosenClass(s.label)
	if err != nil {
		return nil, err
	}
	nodes, err := q.decidedNodes(s)
	if err != nil {
		return nil, err
	}
	if s.proviso != nil {
		if err := q.checkProviso(ctx, s.proviso, nodes); err != nil {
			return nil, undecided(err)
		}
	}
	targets, err := q.targets(ctx, nodes)
	if err != nil {
		return nil, err
	}
	if s.where != nil && q.Confirm != nil {
		if err := q.confirm(ctx, s.kind, class, targets); err != nil {
			return nil, err
		}
	}
	made, err := decide.WriteSteps(ctx, q.store, func(w *decide.StepWriter) error {
		if err := w.Begin(opt); err != nil {
			return err
		}
		for t, err := range targets {
			if err == nil {
				err = w.Add(decide.Request{Node: t.node, Kind: s.kind, To: class, View: &t.shown})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, undecided(err)
	}
	if len(made) > 0 {
		q.note(wording.Nodes(int64(len(made))) + " " + wording.Decided(s.kind) + ": undo takes it back")
	} else {
		q.note("nothing is decided: the condition finds no node")
	}
	if s.where != nil && !s.all && (q.asksScore || len(made) == 0) {
		run, err := q.newestRun()
		if err != nil {
			return nil, err
		}
		q.note(fmt.Sprintf(
			"a condition takes suspects above the threshold %.4g only; with all where, it takes other nodes too", run.Threshold))
	}
	disputed := int64(0)
	for _, d := range made {
		if d.Disputed {
			disputed++
		}
	}
	if disputed > 0 {
		q.note(wording.Disputed(disputed))
	}
	return q.madeTable(made, "id", "decision", "from", "to", "score")
}

// undecided returns the error of a decision. It says that nothing is decided, unless the decisions were committed.
func undecided(err error) error {
	if errors.Is(err, kv.ErrCommitted) {
		return err
	}
	return fmt.Errorf("nothing is decided: %w", err)
}

// decideOptions says who decides, when, and why.
func (q *query) decideOptions(why *literal) (decide.Options, error) {
	opt := decide.Options{Who: q.Who}
	if q.Now != nil {
		opt.Time = q.Now()
	}
	if opt.Who == "" {
		opt.Who = UserName()
	}
	if why != nil {
		value, err := q.value(*why)
		if err != nil {
			return opt, err
		}
		if value.Kind() != kv.KindString {
			return opt, faultAt(why.pos, "got %s for %s, want a reason in single quotes", describe(value), why)
		}
		opt.Why = value.Str()
	}
	return opt, nil
}

// UserName returns the name of the user that the process runs as, "" if the system does not tell.
func UserName() string {
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
	class := numberText(value, *l)
	if value.IsNull() || !slices.Contains(q.tx.Classes(), class) {
		return "", faultAt(l.pos, "no class is named %s", Quote(class))
	}
	return class, nil
}

// A nodeSequence yields nodes, the same each time.
type nodeSequence func(ctx context.Context) iter.Seq2[kv.NodeID, error]

// decidedNodes finds the nodes that a decision is about, each once.
func (q *query) decidedNodes(s *Statement) (nodeSequence, error) {
	if s.where != nil {
		find, err := q.decisionQuery(s)
		if err != nil {
			return nil, err
		}
		plan, err := index.NewPlan(q.tx, find)
		if err != nil {
			return nil, q.locate(err)
		}
		return plan.Rows, nil
	}
	nodes, err := q.findNodes(s.ids)
	if err != nil {
		return nil, err
	}
	for i, id := range s.ids {
		if slices.Contains(nodes[:i], nodes[i]) {
			return nil, faultAt(id.pos, "node %s is named twice", id)
		}
	}
	return func(context.Context) iter.Seq2[kv.NodeID, error] { return eachOf(nodes) }, nil
}

// decisionQuery says which nodes a decision with a condition is about: the suspects that it is true of, whatever it
// says of score and decision. With all these are all scored nodes, and of relabel and unlabel, which need no score, all
// nodes; those that somebody has decided on are among them if the condition has decision, or who has decided, or
// disputes. Disputed nodes that the condition asks for are among the suspects too. Nodes without the suggestion or the
// label that the decision is about are left out.
func (q *query) decisionQuery(s *Statement) (index.Query, error) {
	find, err := q.query(clauses{where: s.where})
	if err != nil {
		return find, err
	}
	needsScore := s.kind != decide.Relabel && s.kind != decide.Unlabel
	var run *cleaner.Run
	if !s.all || needsScore {
		if run, err = q.newestRun(); err != nil {
			return find, err
		}
	}
	asked, decided := []index.Predicate{find.Where}, []string{decide.DisputedColumn}
	switch {
	case !s.all:
		asked = append(asked, cleaner.Suspects(run.Threshold))
	case needsScore:
		asked = append(asked, hasValue(cleaner.ScoreColumn))
	}
	if s.all {
		decided = append(decided, decide.DecidedByColumn)
		if !speaksOf(find.Where, decide.Column) {
			asked = append(asked, index.IsNull{Property: decide.Column})
		}
	}
	terms := []index.Predicate{orDecided(index.And{Terms: asked}, find.Where, decided...)}
	switch s.kind {
	case decide.Accept:
		terms = append(terms, hasValue(cleaner.SuggestedColumn))
	case decide.Reject, decide.Unlabel:
		terms = append(terms, hasValue(kv.LabelColumn))
	}
	find.Where = index.And{Terms: terms}
	return find, nil
}

// checkProviso returns a decide.ErrChanged if a condition is not true of each of some nodes. It names the first ones.
func (q *query) checkProviso(ctx context.Context, proviso *expression, nodes nodeSequence) error {
	condition, err := q.predicate(proviso)
	if err != nil {
		return err
	}
	holds, err := index.Holds(q.tx, condition, q.computed)
	if err != nil {
		return q.locate(err)
	}
	names := append([]string{"id"}, index.Properties(condition)...)
	f, err := q.fetcher(names)
	if err != nil {
		return err
	}
	var failing []string
	for row, err := range f.rows(ctx, nodes(ctx)) {
		if err != nil {
			return err
		}
		ok, err := holds(func(property string) (kv.Value, error) { return row[slices.Index(names, property)], nil })
		if err != nil {
			return err
		}
		if !ok {
			failing = append(failing, row[0].String())
		}
	}
	if failing == nil {
		return nil
	}
	text := fmt.Sprintf("the condition behind if is not true of %s: %s", wording.Nodes(len(failing)),
		strings.Join(failing[:min(len(failing), maxShown)], ", "))
	if more := len(failing) - maxShown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return wording.Reworded(decide.ErrChanged, text)
}

// undo answers undo with the decisions that it takes back.
func (q *query) undo(ctx context.Context, _ *Statement) (*Result, error) {
	opt, err := q.decideOptions(nil)
	if err != nil {
		return nil, err
	}
	made, err := cleaner.Undo(ctx, q.store, opt)
	if err != nil {
		return nil, err
	}
	q.note("taken back: 1 step, " + wording.Count(int64(len(made)), "decision", "decisions"))
	return q.madeTable(made, "id", "decision", "from", "to", "undoes")
}
