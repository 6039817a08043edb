package query

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"math"
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

// decisionColumns are what is told of decisions just made.
var decisionColumns = []string{"id", "decision", "from", "to", "score"}

// decide answers accept, reject, relabel, unlabel and unsure with the decisions made. They are about what the snapshot of
// the query shows: if a node has changed since, nothing is decided.
func (q *query) decide(ctx context.Context, s *decideStatement) (*Result, error) {
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
	if err := q.checkArguments(); err != nil {
		return nil, err
	}
	targets, err := q.targets(ctx, nodes)
	if err != nil {
		return nil, err
	}
	below, err := q.belowThreshold(ctx, s)
	if err != nil {
		return nil, err
	}
	more, err := q.remarkBelow(s, below, false)
	if err != nil {
		return nil, err
	}
	if s.where != nil && q.Confirm != nil {
		targets = kept(targets)
		if err := q.confirm(ctx, s.kind, class, targets, more); err != nil {
			return nil, err
		}
	}
	var refused int64
	entries, err := decide.WriteSteps(ctx, q.store, func(w *decide.StepWriter) error {
		if err := w.Begin(opt); err != nil {
			return err
		}
		for t, err := range targets {
			if err != nil {
				return err
			}
			err = w.Add(decide.Request{Node: t.node, Kind: s.kind, To: class, View: &t.shown})
			if err != nil {
				return err
			}
			if s.kind == decide.Reject && t.hasTaken() {
				refused++
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, undecided(err)
	case entries.Len() > 0:
		q.notices = append(q.notices, fmt.Sprintf("%s: undo takes it back", decidedText(s.kind, entries.Len())))
		if refused > 0 {
			q.notices = append(q.notices, keptSuggestion(refused))
		}
		if more != "" {
			q.notices = append(q.notices, more)
		}
		if entries.Disputed > 0 {
			q.notices = append(q.notices, wording.Disputed(entries.Disputed))
		}
	case s.all:
		q.notices = append(q.notices, "the condition is true of no node: nothing is decided")
	default:
		none, err := q.remarkBelow(s, below, true)
		if err != nil {
			return nil, err
		}
		q.notices = append(q.notices, none)
	}
	r := q.entriesTable(ctx, entries, decisionColumns)
	r.entries = entries
	return r, nil
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
	opt := decide.Options{Who: q.Who, Now: q.Now}
	if opt.Who == "" {
		opt.Who = UserName()
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
	class := value.String()
	if l.kind != literalParam {
		class = l.text // of a number, as it was written
	}
	if classes := q.tx.Classes(); value.IsNull() || !slices.Contains(classes, class) {
		return "", &ResolveError{Pos: l.pos, Msg: fmt.Sprintf("no class is named %s%s", Quote(class), wording.DidYouMean(class, classes))}
	}
	return class, nil
}

// A nodeSequence yields nodes, the same each time.
type nodeSequence func(ctx context.Context) iter.Seq2[kv.NodeID, error]

// decidedNodes finds the nodes that a decision is about, each once.
func (q *query) decidedNodes(s *decideStatement) (nodeSequence, error) {
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
	nodes := make([]kv.NodeID, len(s.ids))
	for i, id := range s.ids {
		v, err := q.findNode(id)
		if errors.Is(err, kv.ErrNotFound) && id.kind == literalWord && strings.EqualFold(id.text, "all") {
			return nil, fmt.Errorf("%w; all wants a condition: %s all where …", err, s.name())
		}
		if err != nil {
			return nil, err
		}
		if slices.Contains(nodes[:i], v) {
			return nil, &ResolveError{Pos: id.pos, Msg: fmt.Sprintf("node %s is named twice", id)}
		}
		nodes[i] = v
	}
	return func(context.Context) iter.Seq2[kv.NodeID, error] { return eachNode(nodes) }, nil
}

// decisionQuery says which nodes a decision with a condition is about: the suspects that it is true of, whatever it says
// of score and decision. With all these are all scored nodes, and of relabel and unlabel, which need no score, all nodes;
// those that somebody has decided on are among them if the condition speaks of decision, of who has decided, or of disputes. Disputed
// nodes that the condition asks for are among the suspects too. Nodes without what the decision is about, a suggestion or a label,
// are left out. With a limit, these are the first of them in the order of suspects.
func (q *query) decisionQuery(s *decideStatement) (index.Query, error) {
	needsScore := s.kind != decide.Relabel && s.kind != decide.Unlabel
	var run *cleaner.Run
	var err error
	if !s.all || needsScore {
		if run, err = LastRun(q.tx); err != nil {
			return index.Query{}, err
		}
	}
	find, err := q.query(clauses{where: s.where})
	if err != nil {
		return find, err
	}
	var terms []index.Predicate
	if s.all {
		undecided := unlessSpoken(find.Where, decide.Column, index.IsNull{Property: decide.Column})
		if needsScore {
			undecided = index.And{Terms: []index.Predicate{undecided, hasValue(cleaner.ScoreColumn)}}
		}
		terms = append(terms, orDecided(undecided, find.Where, decide.DisputedColumn, decide.DecidedByColumn))
	} else {
		suspects := index.And{Terms: []index.Predicate{find.Where, cleaner.Suspects(run.Threshold)}}
		terms = append(terms, orDecided(suspects, find.Where, decide.DisputedColumn))
	}
	switch s.kind {
	case decide.Accept:
		terms = append(terms, hasValue(cleaner.SuggestedColumn))
	case decide.Reject, decide.Unlabel:
		terms = append(terms, hasValue(kv.LabelColumn))
	}
	find.Where = index.And{Terms: terms}
	if s.limit != nil {
		find.Order = suspectOrder
		if find.Limit, err = q.whole(*s.limit, "a limit", 0, math.MaxInt); err == nil && find.Limit == 0 {
			err = &ResolveError{Pos: s.limit.pos, Msg: "got a limit of 0 nodes, want 1 or more"}
		}
	}
	return find, err
}

// checkProviso returns a *ConditionError if a condition is not true of each of some nodes.
func (q *query) checkProviso(ctx context.Context, proviso expression, nodes nodeSequence) error {
	condition, err := q.predicate(proviso)
	if err != nil {
		return err
	}
	holds, err := index.Holds(q.tx, condition, q.computed)
	if err != nil {
		return q.locate(err)
	}
	var fails []kv.NodeID
	for v, err := range nodes(ctx) {
		if err != nil {
			return err
		}
		ok, err := holds(func(property string) (kv.Value, error) { return q.valueOf(v, property) })
		if err != nil {
			return err
		}
		if !ok {
			fails = append(fails, v)
		}
	}
	if fails == nil {
		return nil
	}
	targets, err := q.targets(ctx, func(context.Context) iter.Seq2[kv.NodeID, error] { return eachNode(fails) })
	if err != nil {
		return err
	}
	var failure ConditionError
	for t, err := range targets {
		if err != nil {
			return err
		}
		failure.Nodes = append(failure.Nodes, NodeView{t.id, t.shown})
	}
	return &failure
}

// valueOf is the value of a property of a node, null if the store has no such property.
func (r *resolver) valueOf(v kv.NodeID, property string) (kv.Value, error) {
	if c, ok := r.computed[property]; ok {
		return c.At(v)
	}
	value, err := r.tx.Value(v, property)
	if errors.Is(err, kv.ErrNoColumn) {
		return kv.Value{}, nil
	}
	return value, err
}

// A target is a node to decide on, as the snapshot of the query shows it.
type target struct {
	node  kv.NodeID
	id    string
	score kv.Value
	shown decide.View
}

// targets reads nodes as they are shown, a batch at a time.
func (q *query) targets(ctx context.Context, nodes nodeSequence) (iter.Seq2[target, error], error) {
	columns := []string{"id", cleaner.ScoreColumn, kv.LabelColumn, cleaner.SuggestedColumn, decide.Column, cleaner.RunColumn, decide.DisputedColumn}
	f, err := NewFetcher(q.tx, columns, q.Workers)
	if err != nil {
		return nil, err
	}
	return func(yield func(target, error) bool) {
		var batch []kv.NodeID
		size := firstBatch
		flush := func() bool {
			rows, err := f.Fetch(ctx, batch)
			if err != nil {
				yield(target{}, err)
				return false
			}
			for i, values := range rows {
				t := target{node: batch[i], id: values[0].String(), score: values[1]}
				t.shown = decide.View{Label: values[2].Str(), Suggestion: values[3].Str(), Run: values[5].Int(), Disputed: values[6].Bool()}
				if !values[4].IsNull() {
					if t.shown.Decision, err = decide.ParseKind(values[4].Str()); err != nil {
						yield(target{}, fmt.Errorf("node %s: %w", t.id, err))
						return false
					}
				}
				if !yield(t, nil) {
					return false
				}
			}
			batch, size = batch[:0], min(2*size, lastBatch)
			return true
		}
		for v, err := range nodes(ctx) {
			if err != nil {
				yield(target{}, err)
				return
			}
			if batch = append(batch, v); len(batch) == size && !flush() {
				return
			}
		}
		flush()
	}, nil
}

// mostKept is how many targets are kept between the question and the decision. More are looked for once more.
const mostKept = 10_000

// kept yields what targets yields, which are the same each time, and keeps them if they are not too many.
func kept(targets iter.Seq2[target, error]) iter.Seq2[target, error] {
	var all []target
	known := false
	return func(yield func(target, error) bool) {
		if known {
			for _, t := range all {
				if !yield(t, nil) {
					return
				}
			}
			return
		}
		all = nil
		count := 0
		for t, err := range targets {
			if !yield(t, err) || err != nil {
				return
			}
			if count++; count <= mostKept {
				all = append(all, t)
			}
		}
		if known = count <= mostKept; !known {
			all = nil
		}
	}
}

// maxShown is how many of the nodes of a condition are shown before the question whether to decide on them.
const maxShown = 10

// confirm shows how many nodes a decision is about, the first of them, and what is said of more nodes, and asks whether
// to decide on them. Of no nodes there is nothing to ask.
func (q *query) confirm(
	ctx context.Context, kind decide.Kind, class string, targets iter.Seq2[target, error], beyond string,
) error {
	about := Question{Kind: kind, Class: class}
	sum := sha256.New()
	var lines []string
	for t, err := range targets {
		if err != nil {
			return err
		}
		if about.Nodes++; about.Nodes <= maxShown {
			lines = append(lines, "  "+t.text(kind, class))
		}
		fmt.Fprintf(sum, "%d %q %q %d %t %d\n", t.node, t.shown.Label, t.shown.Suggestion, t.shown.Decision, t.shown.Disputed, t.shown.Run)
	}
	if about.Nodes == 0 {
		return nil
	}
	sum.Sum(about.Digest[:0])
	about.Text = wording.Sentence(decisionText(kind, about.Nodes, class)) + "?"
	if q.Notice != nil {
		if more := about.Nodes - int64(len(lines)); more > 0 {
			lines = append(lines, fmt.Sprintf("  and %d more", more))
		}
		if beyond != "" {
			lines = append(lines, beyond)
		}
		for _, line := range lines {
			q.Notice(line)
		}
	}
	yes, err := q.Confirm(ctx, about)
	if err == nil && !yes {
		err = fmt.Errorf("nothing is decided: %w", ErrNotConfirmed)
	}
	return err
}
