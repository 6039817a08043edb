package query

import (
	"context"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Query answers one statement of the language that the package documentation describes. Args are the values of $1, $2 and so on: a
// bool, int, int32, int64, uint32, float32, float64, string or kv.Value each.
//
// The rows are read from one snapshot of the store while the caller ranges over them, and ctx must not end before. A text that is no
// statement is a *ParseError. A statement that does not fit the store is a *ResolveError. A statement that needs scores, where there
// are none yet, is ErrNotCleaned.
//
// The writes of a statement are on disk when Query returns. Nobody is asked to confirm them. Where a node changes while it is being
// decided on, nothing is decided, and the error is a *decide.ChangedError.
func Query(ctx context.Context, s *kv.Store, text string, args ...any) (*Result, error) {
	e := Engine{Store: s, Yes: true}
	return e.Query(ctx, text, args...)
}

// An Engine answers statements about one store. Its fields are options, apart from Store.
type Engine struct {
	Store        *kv.Store
	Workers      int         // how many goroutines a statement may compute with; 0 means GOMAXPROCS
	MemoryBudget int64       // how many bytes a statement may compute with; 0 leaves it to the statement
	Progress     kv.Progress // learns how far a statement is; may be nil
	ReadOnly     bool        // refuse statements that write

	// Notice learns what people should know while a statement is being answered, a line at a time, such as a warning of clean. Where
	// Notice is nil, warnings are among the notices of the Result.
	Notice func(line string)

	Who string           // who makes decisions; "" means UserName
	Now func() time.Time // the clock of decisions; nil means time.Now

	// A decision with a condition is about many nodes at once, and must be confirmed. Yes confirms every such
	// decision. Without Yes, the first nodes go to Notice, and Confirm is called. Without Confirm, the statement fails with
	// ErrNotConfirmed.
	Yes     bool
	Confirm func(ctx context.Context, question string) (bool, error)
}

// Query answers one statement. See the function Query, which answers with Yes.
func (e *Engine) Query(ctx context.Context, text string, args ...any) (*Result, error) {
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return e.Run(ctx, s, args...)
}

// Run answers a parsed statement. The Results of suspects, nodes, neighbors and history hold a snapshot of the store until they are
// closed. Other Results hold no snapshot.
func (e *Engine) Run(ctx context.Context, parsed Statement, args ...any) (*Result, error) {
	values, err := arguments(args)
	if err != nil {
		return nil, err
	}
	tx := e.Store.Begin()
	if err := tx.Err(); err != nil {
		return nil, err
	}
	q := &query{engine: e, resolver: newResolver(tx, values)}
	r, err := q.answer(ctx, parsed.of)
	if err == nil {
		err = q.checkArguments()
	}
	if err != nil {
		if r != nil {
			r.Close()
		}
		tx.Close()
		return nil, err
	}
	if r.reads {
		r.release = tx.Close
	} else {
		tx.Close()
	}
	r.notices = append(q.remarks(), r.notices...)
	return r, nil
}

// A query answers one statement in one snapshot.
type query struct {
	engine *Engine
	*resolver
}

func (q *query) answer(ctx context.Context, s statement) (*Result, error) {
	switch s := s.(type) {
	case *suspectsStatement, *nodesStatement:
		return q.list(ctx, s)
	case *countStatement:
		return q.count(ctx, s)
	case *planStatement:
		return q.explainPlan(ctx, s.of)
	case *nodeStatement:
		return q.describeNode(s)
	case *neighborsStatement:
		return q.neighbors(ctx, s)
	case *explainStatement:
		return q.explainScore(ctx, s)
	case *cleanStatement:
		return q.clean(ctx, s)
	case *decideStatement:
		return q.decide(ctx, s)
	case *rescoreStatement:
		return q.rescore(ctx)
	case *undoStatement:
		return q.undo(ctx, s)
	case *historyStatement:
		return q.history(ctx, s)
	case *indexStatement:
		return q.index(ctx, s)
	case *wordStatement:
		switch s.word {
		case "classes":
			return q.classes(ctx)
		case "noise":
			return q.noise()
		case "runs":
			return q.runs()
		case "stats":
			return q.stats(ctx)
		}
	}
	panic(fmt.Sprintf("query: no answer to the statement %T", s)) // the parser makes no other
}
