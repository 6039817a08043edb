package review

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A Step is all that a review wants of a store at a time. One of its fields is set. Between two steps the review needs
// no store.
type Step struct {
	Find   *Find
	Show   string // the id of a node whose dossier is wanted
	Reply  *survey.Reply
	Undo   int64 // the step of a decision that is to be taken back
	Finish bool  // the scores are updated
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

// A Result is a store's reply to a step.
type Result struct {
	IDs     []string        // of Find
	Audit   *cleaner.Audit  // of Find, where it wants draws; nil before the first draw
	Dossier *survey.Dossier // of Show
	Done    survey.Done     // of Reply and Undo
	Told    string          // of Reply and Undo: what the audit tells, if it has come to another look
	Notices []string        // for the reviewer
}

// Writes reports whether a step changes the store.
func (s *Step) Writes() bool {
	return s.Reply != nil || s.Undo != 0 || s.Finish || s.Find != nil && s.Find.Audit != nil && s.Find.Audit.Writes()
}

// Writes reports whether drawing changes the store.
func (s *Sample) Writes() bool { return s.Size+s.First > 0 || s.For != nil }

// Do does a step on an open store. The options say who decides.
func (s *Step) Do(ctx context.Context, store *kv.Store, opt query.Options) (r Result, err error) {
	switch {
	case s.Find != nil:
		return s.Find.do(ctx, store, opt.Who)
	case s.Show != "":
		err = store.View(func(tx *kv.Tx) error {
			v, err := tx.Node(s.Show)
			if err == nil {
				r.Dossier, err = survey.Read(ctx, tx, v, opt)
			}
			return err
		})
	case s.Reply != nil:
		err = r.decide(ctx, store, func() (survey.Done, error) { return s.Reply.Write(ctx, store, opt) })
	case s.Undo != 0:
		err = r.decide(ctx, store, func() (survey.Done, error) { return survey.Undo(ctx, store, opt, s.Undo) })
	case s.Finish:
		means := cleaner.RescoreOptions{Workers: opt.Workers, MemoryBudget: opt.MemoryBudget}
		if done, failed := cleaner.Rescore(ctx, store, means); failed == nil {
			r.Notices = wording.Rescored(done)
		} else if !errors.Is(failed, cleaner.ErrNoModel) {
			err = failed
		}
	}
	return r, err
}

// decide calls fn, which decides or takes back, and says what the audit tells if that brings it to another look.
func (r *Result) decide(ctx context.Context, store *kv.Store, fn func() (survey.Done, error)) (err error) {
	look := func() (look int, err error) {
		err = store.View(func(tx *kv.Tx) (err error) {
			look, _, err = cleaner.ReadLook(ctx, tx)
			return err
		})
		return look, err
	}
	before, err := look()
	if err != nil {
		return err
	}
	if r.Done, err = fn(); err != nil {
		return err
	}
	after, err := look()
	if err != nil || after == before {
		return err
	}
	return store.View(func(tx *kv.Tx) error {
		audit, err := cleaner.ReadAudit(ctx, tx)
		r.Told = wording.HowMany(audit)
		return err
	})
}

// do finds nodes in the order of a person.
func (f *Find) do(ctx context.Context, store *kv.Store, who string) (r Result, err error) {
	if f.Audit != nil {
		if r.Audit, err = f.Audit.Draw(ctx, store); err != nil {
			return r, err
		}
	}
	err = store.View(func(tx *kv.Tx) error {
		var nodes []kv.NodeID
		switch {
		case f.Audit == nil:
			nodes, r.Notices, err = query.Suspects(ctx, tx, f.Where, 0)
			if _, ok := query.Position(err); ok {
				return fmt.Errorf("--where: %w", err)
			}
		case r.Audit != nil:
			for _, d := range r.Audit.Open(who) {
				nodes = append(nodes, d.Node)
			}
		}
		for _, v := range nodes {
			id, err := tx.ID(v)
			if err != nil {
				return err
			}
			r.IDs = append(r.IDs, id)
		}
		return err
	})
	return r, err
}

// Draw draws, and tells where the audit stands; nil if nothing is drawn yet.
func (s *Sample) Draw(ctx context.Context, store *kv.Store) (audit *cleaner.Audit, err error) {
	switch {
	case s.For != nil:
		err = cleaner.DrawList(ctx, store, *s.For, s.Size)
	case s.Size > 0:
		err = cleaner.DrawAudit(ctx, store, s.Size, s.Seed)
	}
	if err == nil {
		err = store.View(func(tx *kv.Tx) (err error) {
			audit, err = cleaner.ReadAudit(ctx, tx)
			return err
		})
	}
	if err == nil && audit == nil && s.First > 0 {
		return (&Sample{Size: s.First, Seed: s.Seed}).Draw(ctx, store)
	}
	return audit, err
}
