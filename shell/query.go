package shell

import (
	"context"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Query answers one statement of the language described in the package documentation. Args are the values
// of $1, $2 …: bool, int, int32, int64, uint32, float32, float64, string or kv.Value.
//
// The answer is read from one snapshot of the store while its Rows are ranged over, under the same ctx. A
// text that is no statement is a *ParseError, one that does not fit the store a *ResolveError; scores that
// are not there yet are ErrNotCleaned. What a statement writes is on disk when Query returns; nobody is asked to confirm.
// Where a node that it decides on changes meanwhile, nothing is decided, and the error is a *cleaner.ChangedError.
func Query(ctx context.Context, s *kv.Store, text string, args ...any) (*Result, error) {
	e := Engine{Store: s, Yes: true}
	return e.Query(ctx, text, args...)
}

// An Engine answers statements about one store, in the way that its fields ask for. Only Store is needed.
type Engine struct {
	Store    *kv.Store
	Workers  int         // goroutines that a statement may compute with; 0 means GOMAXPROCS
	MemoryBudget   int64       // bytes that a statement may compute with; 0 leaves it to the statement
	Progress kv.Progress // is told how far a statement is; may be nil
	ReadOnly bool        // refuses statements that write

	// Notice is given a line for people while a statement is being answered, such as a warning of clean. May be nil: warnings
	// are then among the notices of the Result.
	Notice func(line string)

	Who string           // makes decisions; "" is the name of the user of the process
	Now func() time.Time // is the time of decisions; nil is time.Now

	// A decision with a condition is about many nodes at once and has to be confirmed. Yes confirms every decision. Without Yes,
	// Notice is given the first nodes, and Confirm is asked. Without Confirm the decision is refused with ErrNotConfirmed.
	Yes     bool
	Confirm func(ctx context.Context, question string) (bool, error)
}

// Query answers one statement, as the function Query does.
func (e *Engine) Query(ctx context.Context, text string, args ...any) (*Result, error) {
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return e.Run(ctx, s, args...)
}

// Run answers a parsed statement, as Query does its text. The Result of a statement that lists what it reads holds a snapshot of
// the store until it is closed. Other Results, whose rows nobody may want, hold none.
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
		err = q.allUsed()
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
	panic(fmt.Sprintf("shell: no answer to the statement %s", s)) // the parser makes no other
}
