package query

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// Options say how a statement is answered, and who decides. The zero value works.
type Options struct {
	Workers      int         // how many goroutines a statement may compute with; 0 means GOMAXPROCS
	MemoryBudget int64       // how many bytes a statement may compute with; 0 leaves it to the statement
	Progress     kv.Progress // learns how far a statement is; may be nil
	Name         string      // what answers call the store; "" means its directory

	// Notice learns what people should know while a statement is being answered, a line at a time, such as a warning of
	// clean. If Notice is nil, warnings are among the notices of the Result.
	Notice func(line string)

	// Rescores has a decision or an undo bring the scores around it up to date, as cleaner.RescoreDecided does. If that
	// takes too long, a notice says so.
	Rescores bool

	Who string           // who makes decisions; "" means UserName
	Now func() time.Time // the clock of decisions; nil means time.Now

	// Confirm is asked before a decision with a condition, which is about many nodes at once. If the answer is no,
	// nothing is decided, and the error is ErrNotConfirmed. If Confirm is nil, nobody is asked.
	Confirm func(ctx context.Context, about Question) (bool, error)
}

// A Question is the argument of Options.Confirm.
type Question struct {
	Text  string   // such as "Accept the suggested labels of 12 nodes?"
	First []string // what would become of the first of the nodes, a line each

	// Digest is of the decision, all the nodes, and what decide.View has of each. Where the answer comes later, and the
	// statement is run again, it is for the same nodes, as they were, if the digest is the same.
	Digest [sha256.Size]byte
}

// Query answers one statement that reads, and refuses one that writes.
//
// The statement sees what tx sees, and in kv.Store.Update what the transaction has written. Rows are read from tx while
// the caller ranges over them, so neither tx nor ctx must end before. Query never closes tx.
//
// Args are the values of $1, $2 and so on: a bool, integer, float, string, kv.Value or nil each.
//
// A text that is no statement, or a statement that does not fit the store, is a *TextError. A statement that needs
// scores, where there are none yet, is cleaner.ErrNotCleaned. The errors of a transaction or a store that was closed
// are kv.ErrClosed.
func Query(ctx context.Context, tx *kv.Tx, opt Options, text string, args ...any) (*Result, error) {
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return s.Query(ctx, tx, opt, args...)
}

// Exec runs one statement that writes: a decision, undo, clean, rescore, or a change of an index. It refuses one that
// reads. Args and errors are as in Query. If the store was opened for reading only, the error is kv.ErrReadOnly.
//
// A decision, undo, clean, or a change of an index writes all or nothing, and it is on disk when Exec returns. A
// rescore writes in several steps; one that fails leaves the steps that are done. The rows of the Result say what was
// done. They need not be read.
//
// A decision is about the nodes as they are when Exec begins. If one of them has changed when the decision is written,
// nothing is decided, and the error is a *decide.ChangedError. To decide only if a node is as a person saw it, say so
// in the statement:
//
//	query.Exec(ctx, store, opt, "accept $1 if label = $2 and suggested = $3", id, "Systems", "Theory")
//
// If the condition after "if" is not true, the error names the nodes. errors.Is says of both that they are
// decide.ErrChanged.
//
// Do not call Exec in a function of kv.Store.Update: it would wait for ever.
func Exec(ctx context.Context, store *kv.Store, opt Options, text string, args ...any) (*Result, error) {
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return s.Exec(ctx, store, opt, args...)
}

// Query answers a parsed statement that reads. See the function Query.
func (s Statement) Query(ctx context.Context, tx *kv.Tx, opt Options, args ...any) (*Result, error) {
	if s.Writes() {
		return nil, errors.New("the statement writes: run it with query.Exec")
	}
	if tx.InUpdate() {
		opt.Workers = 1 // the transaction is for one goroutine
	}
	return s.answer(ctx, tx, nil, opt, args)
}

// Exec runs a parsed statement that writes. See the function Exec.
func (s Statement) Exec(ctx context.Context, store *kv.Store, opt Options, args ...any) (*Result, error) {
	if !s.Writes() {
		return nil, errors.New("the statement reads: ask it with query.Query")
	}
	if store.ReadOnly() {
		return nil, wording.Reworded(kv.ErrReadOnly, "the store is open for reading only")
	}
	tx := store.Begin()
	defer tx.Close()
	return s.answer(ctx, tx, store, opt, args)
}

// answer answers the statement from a snapshot. Store is nil if the statement reads only.
func (s Statement) answer(ctx context.Context, tx *kv.Tx, store *kv.Store, opt Options, args []any) (*Result, error) {
	if s.verb.answer == nil {
		return nil, errors.New("query: the zero Statement asks nothing: want one of Parse")
	}
	values, err := arguments(args)
	for i := range args {
		if err == nil && !s.params[i+1] {
			err = fmt.Errorf("argument %d of %d is not used: the statement does not name $%[1]d", i+1, len(args))
		}
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(tx.Err(), ctx.Err()); err != nil {
		return nil, err
	}
	q := newQuery(ctx, tx, opt, values)
	q.store = store
	r, err := s.verb.answer(q, ctx, &s)
	if err == nil && (s.kind != decide.None || s.name == "undo") {
		var said string
		said, err = RescoreDecided(ctx, store, opt)
		q.note(said)
	}
	if err == nil && store == nil {
		err = q.remarkStale(ctx)
	}
	if err != nil {
		return nil, err
	}
	r.notices = append(q.notices, r.notices...)
	return r, nil
}

// A query answers one statement in one snapshot. It gives the names, parameters and ids of the statement their meaning
// there. What does not fit is a *TextError.
type query struct {
	Options
	tx      *kv.Tx
	store   *kv.Store    // that the statement writes to; nil if it reads only
	run     *cleaner.Run // of newestRun, once it was read
	notices []string

	args      []kv.Value
	constants []constant

	// columns are the columns of the rows asked about, beside the properties of a node, or in place of
	// them if they are alone.
	columns []ColumnInfo
	alone   bool // they are those of the history

	surroundings *surroundings
	computed     map[string]index.Computed // shares of labels by their spelling

	showsScores bool // the statement speaks of what runs write
	asksScore   bool // its condition has the property score
}

func newQuery(ctx context.Context, tx *kv.Tx, opt Options, args []kv.Value) *query {
	return &query{
		Options: opt, tx: tx, args: args,
		surroundings: newSurroundings(ctx, tx, opt.MemoryBudget), computed: map[string]index.Computed{},
	}
}

// ErrNotConfirmed is returned by a decision with a condition that nobody has confirmed.
var ErrNotConfirmed = errors.New("not confirmed")

// A TextError says which part of a text is at fault: one that the grammar does not have there, as "1:13: got >=, want a
// property name", or one that does not fit the store, such as an unknown property or a value of the wrong type. Err
// says why, without the place.
type TextError struct {
	Pos        Pos
	Err        error
	Unfinished bool // the text ends before the statement: more text could complete it
}

func (e *TextError) Error() string { return e.Pos.String() + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *TextError) Unwrap() error { return e.Err }

// faultAt is a TextError whose Err is that of fmt.Errorf.
func faultAt(pos Pos, format string, args ...any) *TextError {
	return &TextError{Pos: pos, Err: fmt.Errorf(format, args...)}
}

// Position returns the place in the text that a *TextError points to; ok is false for other errors.
func Position(err error) (pos Pos, ok bool) {
	if wrong, ok := errors.AsType[*TextError](err); ok {
		return wrong.Pos, true
	}
	return Pos{}, false
}
