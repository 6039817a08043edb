package query

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// audit answers audit: a row about all labels, and one for each class of the draws that the rate rests on. Before that it
// draws, if the statement says so.
func (q *query) audit(ctx context.Context, s *auditStatement) (*Result, error) {
	if s.promise != nil {
		return q.drawList(ctx, s)
	}
	if s.size != nil {
		size, err := q.whole(*s.size, "the number of labels", 1, cleaner.MostAuditDraws)
		if err != nil {
			return nil, err
		}
		seed := DefaultSeed
		if s.seed != nil {
			if seed, err = q.whole(*s.seed, "the seed", 0, 1<<31-1); err != nil {
				return nil, err
			}
		}
		if err := q.checkArguments(); err != nil {
			return nil, err
		}
		if err := cleaner.DrawAudit(ctx, q.store, size, uint64(seed)); err != nil {
			return nil, wording.AdviseAudit(err)
		}
		return q.auditNow(ctx)
	}
	if err := q.checkArguments(); err != nil {
		return nil, err
	}
	return q.auditTable(ctx, q.tx)
}

// auditNow is auditTable of the store as it is after a draw.
func (q *query) auditNow(ctx context.Context) (r *Result, err error) {
	err = q.store.View(func(tx *kv.Tx) (err error) {
		r, err = q.auditTable(ctx, tx)
		return err
	})
	return r, err
}

// LastAudit is where the audit of a store stands, nil before the first draw.
func LastAudit(ctx context.Context, tx *kv.Tx) (*cleaner.Audit, error) {
	a, err := cleaner.ReadAudit(ctx, tx)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	return a, err
}

func (q *query) auditTable(ctx context.Context, tx *kv.Tx) (*Result, error) {
	a, err := LastAudit(ctx, tx)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, errors.New("audit: nothing is drawn yet; audit draw 50 draws labels to look at")
	}
	if q.notices = append(q.notices, wording.Audit(a, "audit draw")...); a.Behind {
		q.notices = append(q.notices, wording.Behind)
	}
	columns := []ColumnInfo{
		{"class", kv.KindString}, {"right", kv.KindInt}, {"wrong", kv.KindInt},
		{"rate", kv.KindFloat}, {"low", kv.KindFloat}, {"high", kv.KindFloat},
	}
	row := func(class kv.Value, right, wrong int, rate, low, high float64) []kv.Value {
		return []kv.Value{class, kv.ValueOf(int64(right)), kv.ValueOf(int64(wrong)), number(rate), number(low), number(high)}
	}
	var rows [][]kv.Value
	if a.Look > 0 {
		rows = append(rows, row(kv.Value{}, a.Right, a.Wrong, a.Rate, a.Low, a.High))
	}
	for _, c := range a.Classes {
		rows = append(rows, row(kv.ValueOf(c.Class), c.Right, c.Wrong, c.Rate, c.Low, c.High))
	}
	return NewTable(columns, rows), nil
}

// audit = "audit" [ "draw" ( "for" promise | number [ "for" promise | "seed" number ] ) ] .
func (p *parser) audit() (s *auditStatement, err error) {
	s = &auditStatement{}
	if !p.accept("draw") {
		return s, nil
	}
	if !p.accept("for") {
		size, err := p.number("a number of labels")
		if err != nil {
			return nil, err
		}
		s.size = &size
		if p.accept("seed") {
			seed, err := p.number("a whole number")
			s.seed = &seed
			return s, err
		}
		if !p.accept("for") {
			return s, nil
		}
	}
	s.promise, err = p.promise()
	return s, err
}

// promise = fdr | trusted .
func (p *parser) promise() (*promise, error) {
	if p.accept("fdr") {
		return p.promised(cleaner.ListSuspects)
	}
	return p.trusted()
}
