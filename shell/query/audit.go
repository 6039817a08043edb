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
		var r *Result
		err = q.store.View(func(tx *kv.Tx) (err error) {
			r, err = q.auditTable(ctx, tx)
			return err
		})
		return r, err
	}
	if err := q.checkArguments(); err != nil {
		return nil, err
	}
	return q.auditTable(ctx, q.tx)
}

func (q *query) auditTable(ctx context.Context, tx *kv.Tx) (*Result, error) {
	a, err := cleaner.ReadAudit(ctx, tx)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, errors.New("audit: nothing is drawn yet; audit draw 50 draws labels to look at")
	}
	if err != nil {
		return nil, err
	}
	q.notices = append(q.notices, wording.Audit(a, "audit draw")...)
	columns := []ColumnInfo{
		{"class", kv.KindString}, {"decided", kv.KindInt}, {"wrong", kv.KindInt},
		{"rate", kv.KindFloat}, {"low", kv.KindFloat}, {"high", kv.KindFloat},
	}
	row := func(class kv.Value, decided, wrong int, rate, low, high float64) []kv.Value {
		return []kv.Value{class, kv.IntValue(int64(decided)), kv.IntValue(int64(wrong)), number(rate), number(low), number(high)}
	}
	var rows [][]kv.Value
	if a.Look > 0 {
		rows = append(rows, row(kv.Value{}, a.Right+a.Wrong, a.Wrong, a.Rate, a.Low, a.High))
	}
	for _, c := range a.Classes {
		rows = append(rows, row(kv.StringValue(c.Class), c.Decided, c.Wrong, c.Rate, c.Low, c.High))
	}
	return NewTable(columns, rows), nil
}

// audit = "audit" [ "draw" number [ "seed" number ] ] .
func (p *parser) audit() (statement, error) {
	s := &auditStatement{}
	if !p.accept("draw") {
		return s, nil
	}
	drawn, err := p.sample()
	if err != nil {
		return nil, err
	}
	s.size, s.seed = drawn.size, drawn.seed
	return s, nil
}
