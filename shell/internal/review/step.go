package review

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A Step is all that a review wants of a store at a time. One of its fields is set. Between two steps the review needs
// no store.
type Step struct {
	Find    *Find
	Show    *Show
	Decide  *Decide
	Undo    int64  // the step of a decision that is to be taken back
	Explain string // the id of a node
	Finish  bool   // the scores are updated
	Look    bool   // how far the audit is looked at, which takes less than Find

	KeepScores bool // of Decide and Undo: the scores around the decision stay as they are
}

// Find wants the suspects, or the open draws of the audit.
type Find struct {
	Where string // a condition, as in the statement suspects
	Limit int    // 0: all
	Audit *Sample
}

// A Sample says what an audit draws; of size zero, nothing more. First is the size of the first draw where Size is
// zero. With a promise, labels of a list are drawn: Size of them, or as many as the list wants.
type Sample struct {
	Size, First int
	Seed        uint64
	For         *cleaner.Promise
}

// Show wants a suspect.
type Show struct {
	Node     kv.NodeID
	At, Long int  // its place in the queue from 0, and the length of the queue
	Blind    bool // without score and suggestion
}

// Decide wants a decision to be written.
type Decide struct {
	decide.Request
	Why string
}

// A Result is what a store has to say to a step.
type Result struct {
	Nodes    []kv.NodeID     // of Find
	IDs      []string        // of the nodes, where they are draws
	IDKind   kv.Kind         // of all ids of the store, with them
	Audit    *cleaner.Audit  // of Find, where it wants draws
	Look     int             // of Look: Audit.Look
	Subject  *Subject        // of Show
	Decision decide.Decision // of Decide
	Text     string          // of Explain
	Notices  []string        // for the reviewer
	Slow     bool            // of Decide and Undo: to bring the scores around the decision up to date takes too long
}

// A Subject is the node that is shown.
type Subject struct {
	Node kv.NodeID
	ID   string
	decide.View
	Decided decide.Decision // the last entry about the node, if there is one
	Card    string
	Classes []string // of the store
	Choices []string // the classes the node could have, the most likely first, the one it has last
	Options []string // of a blind card: the label and the likeliest others, in mixed order
}

// Writes reports whether a step changes the store.
func (s *Step) Writes() bool {
	draws := s.Find != nil && s.Find.Audit != nil && (s.Find.Audit.Size+s.Find.Audit.First > 0 || s.Find.Audit.For != nil)
	return s.Decide != nil || s.Undo != 0 || s.Finish || draws
}

// Do does a step on an open store. The options say who decides.
func (s *Step) Do(ctx context.Context, store *kv.Store, opt query.Options) (r Result, err error) {
	switch {
	case s.Find != nil && s.Find.Audit != nil:
		return s.Find.Audit.draw(ctx, store, opt.Who)
	case s.Find != nil:
		return s.Find.do(ctx, store)
	case s.Show != nil:
		r.Subject, err = s.Show.do(ctx, store, opt)
	case s.Decide != nil:
		var decisions []decide.Decision
		decisions, err = decide.Write(ctx, store, []decide.Request{s.Decide.Request}, decide.Options{Who: opt.Who, Why: s.Decide.Why})
		if err == nil {
			r.Decision = decisions[0]
			r.Slow, err = s.rescoreAround(ctx, store, opt)
		}
	case s.Undo != 0:
		if err = s.undo(ctx, store, opt.Who); err == nil {
			r.Slow, err = s.rescoreAround(ctx, store, opt)
		}
	case s.Look:
		err = store.View(func(tx *kv.Tx) (err error) {
			r.Look, _, err = cleaner.ReadLook(ctx, tx)
			return err
		})
	case s.Finish:
		var done *cleaner.Rescoring
		done, err = cleaner.Rescore(ctx, store, rescoreOptions(opt))
		if errors.Is(err, cleaner.ErrNoModel) {
			return r, nil
		}
		if err == nil {
			r.Notices = wording.Rescored(done)
		}
	default:
		r.Text, err = s.explain(ctx, store, opt)
	}
	return r, err
}

// undo takes a step back if it is the last one of the reviewer.
func (s *Step) undo(ctx context.Context, store *kv.Store, who string) error {
	_, err := cleaner.Undo(ctx, store, 1, decide.Options{Who: who, Last: s.Undo})
	if errors.Is(err, decide.ErrNothingToUndo) {
		return decide.ErrChanged
	}
	return err
}

// explain tells all that is stored of a node, and all that speaks for its label and against it.
func (s *Step) explain(ctx context.Context, store *kv.Store, opt query.Options) (string, error) {
	var text strings.Builder
	err := store.View(func(tx *kv.Tx) error {
		for _, statement := range []string{"node $1", "explain $1"} {
			result, err := query.Query(ctx, tx, opt, statement, s.Explain)
			if err != nil {
				return err
			}
			text.WriteString("\n")
			if _, err := print.Render(&text, result, print.FormatTable); err != nil {
				return err
			}
		}
		return nil
	})
	return text.String(), err
}

func (f *Find) do(ctx context.Context, store *kv.Store) (r Result, err error) {
	where, err := query.ParseCondition(f.Where)
	if err != nil {
		return r, fmt.Errorf("--where: %w", err)
	}
	tx := store.Begin()
	defer tx.Close()
	r.Nodes, r.Notices, err = query.Suspects(ctx, tx, where, f.Limit)
	if _, ok := query.Position(err); ok {
		err = fmt.Errorf("--where: %w", err)
	}
	return r, err
}

// rescoreAround brings the scores around a decision up to date, unless that takes longer than the options allow.
func (s *Step) rescoreAround(ctx context.Context, store *kv.Store, opt query.Options) (slow bool, err error) {
	if opt.RescoreWithin == 0 || s.KeepScores {
		return false, nil
	}
	ok, err := cleaner.RescoreWithin(ctx, store, opt.RescoreWithin, rescoreOptions(opt))
	return !ok, err
}

func rescoreOptions(opt query.Options) cleaner.RescoreOptions {
	return cleaner.RescoreOptions{Workers: opt.Workers, MemoryBudget: opt.MemoryBudget}
}
