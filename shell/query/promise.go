package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// trustedColumns are what labels returns if the statement does not say.
var trustedColumns = []string{"id", "label"}

// ParsePromise reads what follows for in audit draw for: fdr 0.1 or trusted fdr 0.05. An error is a *ParseError.
func ParsePromise(text string) (cleaner.Promise, error) {
	p := newParser(text, startOfText)
	asked, err := p.promise()
	if err == nil && p.current.kind != tokenEnd {
		p.wants = append(p.wants, want{label: "nothing more"})
		err = p.fail()
	}
	if err != nil {
		return cleaner.Promise{}, err
	}
	return newResolver(context.Background(), nil, Options{}, nil).promise(asked)
}

// promise resolves a promise.
func (r *resolver) promise(asked *promise) (cleaner.Promise, error) {
	share, err := r.share(asked.share, "a share")
	if err == nil && (share < cleaner.LeastListShare || share > cleaner.MostListShare) {
		err = &ResolveError{Pos: asked.share.pos, Msg: fmt.Sprintf("got %v for a share, want a number from %v to %v",
			share, cleaner.LeastListShare, cleaner.MostListShare)}
	}
	return cleaner.Promise{Kind: asked.kind, Share: share}, err
}

// nodeQuery resolves a nodesStatement. Of a list it finds the nodes that have a label.
func (q *query) nodeQuery(ctx context.Context, s *nodesStatement) (index.Query, error) {
	find, err := q.query(s.clauses)
	if err != nil || s.promise == nil {
		return find, err
	}
	listed, err := q.promised(ctx, s.promise, s.clauses)
	if err != nil {
		return find, err
	}
	terms := []index.Predicate{listed, hasValue(kv.LabelColumn)}
	if find.Where != nil {
		terms = append(terms, find.Where)
	}
	find.Where = index.And{Terms: terms}
	return find, nil
}

// promised is true of the nodes of the list that keeps a promise. A notice tells the promise, and an error what is to do where
// there is no such list.
func (q *query) promised(ctx context.Context, asked *promise, c clauses) (index.Predicate, error) {
	p, err := q.promise(asked)
	if err != nil {
		return nil, err
	}
	a, err := LastAudit(ctx, q.tx)
	if err != nil {
		return nil, err
	}
	told, l := wording.List(a, p)
	if l == nil {
		return nil, errors.New(told)
	}
	if c.where != nil || c.sample != nil || c.limit != nil || c.offset != nil {
		told += "; the promise is of all these labels, not of a part of them"
	}
	if p.Kind == cleaner.ListSuspects {
		told += "; those that are decided are not listed again"
	}
	q.notices = append(q.notices, told)
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

// drawList answers audit draw for.
func (q *query) drawList(ctx context.Context, s *auditStatement) (*Result, error) {
	p, err := q.promise(s.promise)
	if err != nil {
		return nil, err
	}
	size := 0
	if s.size != nil {
		if size, err = q.whole(*s.size, "the number of labels", 1, cleaner.MostListDraws); err != nil {
			return nil, err
		}
	}
	if err := q.checkArguments(); err != nil {
		return nil, err
	}
	if err := cleaner.DrawList(ctx, q.store, p, size); err != nil {
		return nil, wording.AdviseList(err)
	}
	return q.auditNow(ctx)
}
