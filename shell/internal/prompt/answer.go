package prompt

import (
	"context"
	"crypto/sha256"
	"io"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A Store answers the statements of a session. It may be open for each statement anew, and in another process.
type Store interface {
	Answer(ctx context.Context, q Question, to Listener) (Outcome, error)
}

// A Question is a statement, and the form of its answer.
type Question struct {
	Step   query.Step
	Format print.Format
	Screen print.Screen // that shows the answer

	// A decision about many nodes that asks is not done, and the error is an *UnconfirmedError, unless its question has
	// been confirmed: that with this digest.
	Asks      bool
	Confirmed [sha256.Size]byte

	parsed *query.Statement // of Step; nil in a Question from another process
}

// Statement parses the step, once in a process. Errors point into the text of the script.
func (q *Question) Statement() (query.Statement, error) {
	if q.parsed == nil {
		parsed, err := q.Step.Parse()
		if err != nil {
			return parsed, err
		}
		q.parsed = &parsed
	}
	return *q.parsed, nil
}

// A Listener receives the answer to a question.
type Listener struct {
	Out    io.Writer
	Notice func(line string) // what people should know, before the answer
}

// An UnconfirmedError has the question to which a decision needs a yes.
type UnconfirmedError struct{ query.Question }

func (e *UnconfirmedError) Error() string { return e.Text }

// An Outcome has the number of rows of an answer, and the facts to tell beside.
type Outcome struct {
	Rows   int64
	Listed bool // the rows are a list, and their number says something
	Cut    bool // a value did not fit the screen
	Took   time.Duration
}

// Open is a store that is open in this process.
type Open struct {
	Store   *kv.Store
	Options query.Options // without Notice and Confirm
}

// Answer answers a question.
func (o *Open) Answer(ctx context.Context, q Question, to Listener) (outcome Outcome, err error) {
	began := time.Now()
	statement, err := q.Statement()
	if err != nil {
		return outcome, err
	}
	opt := o.Options
	if q.Asks {
		opt.Confirm = func(_ context.Context, about query.Question) (bool, error) {
			if about.Digest != q.Confirmed {
				return false, &UnconfirmedError{about}
			}
			return true, nil
		}
	}
	opt.Notice = func(line string) { to.Notice(print.EscapeControls(line)) }
	if statement.Writes() {
		result, err := statement.Exec(ctx, o.Store, opt)
		if err != nil {
			return outcome, err
		}
		return q.print(result, to, began)
	}
	err = o.Store.View(func(tx *kv.Tx) error {
		result, err := statement.Query(ctx, tx, opt)
		if err == nil {
			outcome, err = q.print(result, to, began)
		}
		return err
	})
	return outcome, err
}

// print prints the answer to a question that came at a time.
func (q *Question) print(result *query.Result, to Listener, began time.Time) (Outcome, error) {
	for _, notice := range result.Notices() {
		to.Notice(notice)
	}
	on := q.Screen
	rows, err := print.Render(to.Out, result, q.Format, &on)
	return Outcome{
		Rows: rows, Listed: !result.Record && !result.Bare && result.Sections == nil, Cut: on.Cut,
		Took: time.Since(began),
	}, err
}
