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
// Where a node that it decides on changes meanwhile, nothing is decided, and the error is a *decide.ChangedError.
func Query(ctx context.Context, s *kv.Store, text string, args ...any) (*Result, error) {
	parsed, err := parse(text, startOfText)
	if err != nil {
		return nil, err
	}
	e := engine{store: s, yes: true}
	return e.run(ctx, parsed, args...)
}

// An engine answers statements about one store.
type engine struct {
	store    *kv.Store
	workers  int
	memory   int64 // bytes; 0 leaves it to the operators
	progress kv.Progress
	notice   func(string) // may be nil
	readOnly bool

	// Of decisions: who makes them and when, and the answer to whether to decide on all nodes of a condition.
	who     string           // "" is the user's name
	now     func() time.Time // nil is time.Now
	yes     bool
	confirm func(ctx context.Context, question string) (bool, error)
}

// run answers a statement. The Result of one that lists what it reads holds a snapshot until it is closed; the others, of
// which nobody may want the rows, hold none.
func (e *engine) run(ctx context.Context, s statement, args ...any) (*Result, error) {
	values, err := arguments(args)
	if err != nil {
		return nil, err
	}
	tx := e.store.Begin()
	if err := tx.Err(); err != nil {
		return nil, err
	}
	q := &query{engine: e, resolver: newResolver(tx, values)}
	r, err := q.answer(ctx, s)
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
	engine *engine
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
