package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// audit answers audit: a row about all labels, and one for each class of the draws that the rate rests on. Before that
// it draws, if the statement says so: for a list that keeps a promise, or among all labels.
func (q *query) audit(ctx context.Context, s *Statement) (r *Result, err error) {
	most, p := cleaner.MostAuditDraws, cleaner.Promise{}
	if s.bound != nil {
		most = cleaner.MostListDraws
		p, err = q.promise(s.bound)
	}
	size, wrong := q.whole(s.size, "the number of labels", 1, most, 0)
	seed, failure := q.whole(s.seed, "the seed", 0, math.MaxInt32, DefaultSeed)
	if err := cmp.Or(err, wrong, failure); err != nil {
		return nil, err
	}
	switch {
	case !s.writes:
		return q.auditTable(ctx, q.tx)
	case s.bound != nil:
		err = cleaner.DrawList(ctx, q.store, p, size)
	default:
		err = cleaner.DrawAudit(ctx, q.store, size, uint64(seed))
	}
	if err != nil {
		return nil, err
	}
	err = q.store.View(func(tx *kv.Tx) (err error) { // after the draw
		r, err = q.auditTable(ctx, tx)
		return err
	})
	return r, err
}

func (q *query) auditTable(ctx context.Context, tx *kv.Tx) (*Result, error) {
	a, err := cleaner.ReadAudit(ctx, tx)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, errors.New("audit: nothing is drawn yet; audit draw 50 draws labels to look at")
	}
	if q.note(wording.Audit(a, "audit draw")...); a.Behind {
		q.note(wording.Behind)
	}
	var rates []cleaner.AuditedClass // of all classes together first
	if a.Look > 0 {
		rates = append(rates, cleaner.AuditedClass{Right: a.Right, Wrong: a.Wrong, Rate: a.Rate, Low: a.Low, High: a.High})
	}
	return NewTable(tableOf(append(rates, a.Classes...), func(c cleaner.AuditedClass) []field {
		return []field{
			{"class", kv.KindString, orNull(c.Class)}, {"right", kv.KindInt, kv.ValueOf(c.Right)},
			{"wrong", kv.KindInt, kv.ValueOf(c.Wrong)}, {"rate", kv.KindFloat, kv.ValueOf(c.Rate)},
			{"low", kv.KindFloat, kv.ValueOf(c.Low)}, {"high", kv.KindFloat, kv.ValueOf(c.High)},
		}
	})), nil
}

// ParsePromise reads what follows for in audit draw for: fdr 0.1 or trusted fdr 0.05. An error is a *TextError.
func ParsePromise(text string) (cleaner.Promise, error) {
	var asked *bound
	err := caught(func() {
		p := newParser(text, startOfText)
		asked = p.promise()
		p.end("nothing more")
	})
	if err != nil {
		return cleaner.Promise{}, err
	}
	return newQuery(context.Background(), nil, Options{}, nil).promise(asked)
}

// promise resolves a promise.
func (q *query) promise(asked *bound) (cleaner.Promise, error) {
	kind := cleaner.ListSuspects
	if asked.kind == "trusted" {
		kind = cleaner.ListTrusted
	}
	share, err := q.share(*asked.share, "a share")
	if err == nil && (share < cleaner.LeastListShare || share > cleaner.MostListShare) {
		err = faultAt(asked.share.pos, "got %v for a share, want a number from %v to %v", share, cleaner.LeastListShare,
			cleaner.MostListShare)
	}
	return cleaner.Promise{Kind: kind, Share: share}, err
}

// restrictToList leaves those nodes of a query that are of a list, and have a label.
func (q *query) restrictToList(ctx context.Context, s *Statement, find *index.Query) error {
	listed, err := q.promised(ctx, s)
	find.Where = index.And{Terms: []index.Predicate{listed, hasValue(kv.LabelColumn), conditionOf(find)}}
	return err
}

// promised is true of the nodes of the list that keeps a promise. A notice tells the promise, and an error what is to
// do where there is no such list.
func (q *query) promised(ctx context.Context, s *Statement) (index.Predicate, error) {
	p, err := q.promise(s.bound)
	if err != nil {
		return nil, err
	}
	a, err := cleaner.ReadAudit(ctx, q.tx)
	if err != nil {
		return nil, err
	}
	told, l := wording.List(a, p)
	if l == nil {
		return nil, errors.New(told)
	}
	if s.where != nil || s.size != nil || s.limit != nil {
		told += "; the promise is of all these labels, not of a part of them"
	}
	if p.Kind == cleaner.ListSuspects {
		told += "; those that are decided are not listed again"
	}
	q.note(told)
	nodes, err := l.Nodes(q.tx)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("listed(%s)", wording.Promise(p))
	q.computed[name] = index.Computed{Kind: kv.KindBool, At: func(v kv.NodeID) (kv.Value, error) {
		return kv.ValueOf(nodes.Has(v)), nil
	}}
	return index.Compare{Property: name, Op: index.Eq, Value: kv.ValueOf(true)}, nil
}
