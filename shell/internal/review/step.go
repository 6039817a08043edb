package review

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A Step is all that a review wants of a store at a time. One of its fields is set. Between two steps the review needs
// no store.
type Step struct {
	Find    *Find
	Show    *Show
	Reply   *survey.Reply
	Undo    int64  // the step of a decision that is to be taken back
	Explain string // the id of a node
	Finish  bool   // the scores are updated
}

// Find wants the suspects, or the open draws of the audit.
type Find struct {
	Where string // a condition, as in the statement suspects
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
	ID    string
	Blind bool // without score and suggestion
}

// A Result is a store's reply to a step.
type Result struct {
	IDs     []string       // of Find
	IDKind  kv.Kind        // of all ids of the store, with those of draws
	Audit   *cleaner.Audit // of Find, where it wants draws; nil before the first draw
	Subject *Subject       // of Show
	Done    survey.Done    // of Reply and Undo
	Look    int            // of Reply and Undo: Audit.Look now
	Text    string         // of Explain
	Notices []string       // for the reviewer
}

// Writes reports whether a step changes the store.
func (s *Step) Writes() bool {
	if s.Find != nil && s.Find.Audit != nil {
		return s.Find.Audit.Size+s.Find.Audit.First > 0 || s.Find.Audit.For != nil
	}
	return s.Reply != nil || s.Undo != 0 || s.Finish
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
	case s.Reply != nil:
		r.Done, err = s.Reply.Write(ctx, store, opt)
	case s.Undo != 0:
		r.Done, err = survey.Undo(ctx, store, opt, s.Undo)
	case s.Finish:
		var done *cleaner.Rescoring
		by := cleaner.RescoreOptions{Workers: opt.Workers, MemoryBudget: opt.MemoryBudget}
		done, err = cleaner.Rescore(ctx, store, by)
		if errors.Is(err, cleaner.ErrNoModel) {
			return r, nil
		}
		if err == nil {
			r.Notices = wording.Rescored(done)
		}
	default:
		var text strings.Builder
		err = store.View(func(tx *kv.Tx) error {
			result, err := query.Query(ctx, tx, opt, "explain $1", s.Explain)
			if err == nil {
				_, err = print.Render(&text, result, print.FormatTable)
			}
			return err
		})
		r.Text = text.String()
	}
	if err == nil && (s.Reply != nil || s.Undo != 0) {
		err = store.View(func(tx *kv.Tx) (err error) {
			r.Look, _, err = cleaner.ReadLook(ctx, tx)
			return err
		})
	}
	return r, err
}

func (f *Find) do(ctx context.Context, store *kv.Store) (r Result, err error) {
	tx := store.Begin()
	defer tx.Close()
	nodes, notices, err := query.Suspects(ctx, tx, f.Where, 0)
	if _, ok := query.Position(err); ok {
		err = fmt.Errorf("--where: %w", err)
	}
	if err != nil {
		return r, err
	}
	r.Notices = notices
	return r, r.addIDs(tx, nodes)
}

func (r *Result) addIDs(tx *kv.Tx, nodes []kv.NodeID) error {
	for _, v := range nodes {
		id, err := tx.ID(v)
		if err != nil {
			return err
		}
		r.IDs = append(r.IDs, id)
	}
	return nil
}

// draw draws, and tells where the audit stands: its open draws, in the order of a person.
func (s *Sample) draw(ctx context.Context, store *kv.Store, who string) (r Result, err error) {
	switch {
	case s.For != nil:
		if err := cleaner.DrawList(ctx, store, *s.For, s.Size); err != nil {
			return r, wording.AdviseList(err)
		}
	case s.Size > 0:
		if err := cleaner.DrawAudit(ctx, store, s.Size, s.Seed); err != nil {
			return r, wording.AdviseAudit(err)
		}
	}
	tx := store.Begin()
	defer tx.Close()
	if r.Audit, err = query.LastAudit(ctx, tx); err != nil {
		return r, err
	}
	switch {
	case r.Audit == nil && s.First > 0:
		return (&Sample{Size: s.First, Seed: s.Seed}).draw(ctx, store, who)
	case r.Audit == nil:
		return r, nil
	}
	if id, ok := tx.Column("id"); ok {
		r.IDKind = id.Kind
	}
	var open []kv.NodeID
	for _, d := range r.Audit.Open(who) {
		open = append(open, d.Node)
	}
	return r, r.addIDs(tx, open)
}

func (s *Show) do(ctx context.Context, store *kv.Store, opt query.Options) (*Subject, error) {
	tx := store.Begin()
	defer tx.Close()
	v, err := tx.Node(s.ID)
	if err != nil {
		return nil, err
	}
	by := ops.Options{Workers: opt.Workers, MemoryBudget: opt.MemoryBudget}
	d, err := survey.Read(ctx, tx, v, survey.Guess(tx), by)
	if err != nil {
		return nil, err
	}
	e := &Subject{ID: d.ID, View: d.View, Choices: d.Choices, Card: card(d, s.Blind)}
	if n := len(d.History); n > 0 {
		e.Decided = d.History[n-1]
	}
	if s.Blind {
		e.Options = d.BlindOptions()
	}
	return e, nil
}
