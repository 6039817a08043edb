package query

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
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

	// Confirm is asked before a decision with a condition, which is about many nodes at once. The first of these nodes
	// go to Notice before. If the answer is no, nothing is decided, and the error is ErrNotConfirmed. If Confirm is
	// nil, nobody is asked.
	Confirm func(ctx context.Context, about Question) (bool, error)
}

// A Question is the argument of Options.Confirm.
type Question struct {
	Text string // such as "Accept the suggested labels of 12 nodes?"

	// Digest is of all the nodes, and of what decide.View has of each. Where the answer comes later, and the statement
	// is run again, it is for the same nodes, as they were, if the digest is the same.
	Digest [sha256.Size]byte
}

// Query answers one statement that reads. For one that writes the error is ErrWrites.
//
// The statement sees what tx sees, and in kv.Store.Update what the transaction has written. Rows are read from tx while
// the caller ranges over them, so neither tx nor ctx must end before. Query never closes tx.
//
// Args are the values of $1, $2 and so on: a bool, int, int32, int64, uint32, float32, float64, string, kv.Value or nil
// each.
//
// A text that is no statement is a *ParseError. A statement that does not fit the store is a *ResolveError. A statement
// that needs scores, where there are none yet, is ErrNotCleaned. The errors of a transaction or a store that was closed
// are kv.ErrClosed.
func Query(ctx context.Context, tx *kv.Tx, opt Options, text string, args ...any) (*Result, error) {
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return s.Query(ctx, tx, opt, args...)
}

// Exec runs one statement that writes: a decision, undo, clean, rescore, or a change of an index. For a statement that
// reads the error is ErrReads. Args and errors are as in Query. If the store was opened for reading only, the error is
// kv.ErrReadOnly.
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
// If the condition after "if" is not true, the error is a *ConditionError. errors.Is says of both that they are
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
		return nil, ErrWrites
	}
	if tx.InUpdate() {
		opt.Workers = 1 // the transaction is for one goroutine
	}
	return s.answer(ctx, tx, nil, opt, args)
}

// Exec runs a parsed statement that writes. See the function Exec.
func (s Statement) Exec(ctx context.Context, store *kv.Store, opt Options, args ...any) (*Result, error) {
	if !s.Writes() {
		return nil, ErrReads
	}
	if store.ReadOnly() {
		return nil, errReadOnly
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
	if err != nil {
		return nil, err
	}
	if err := errors.Join(tx.Err(), ctx.Err()); err != nil {
		return nil, err
	}
	q := newQuery(ctx, tx, opt, values)
	q.store = store
	r, err := s.verb.answer(q, ctx, &s)
	if err == nil {
		err = q.checkArguments()
	}
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
// there. What does not fit is a *ResolveError.
type query struct {
	Options
	tx      *kv.Tx
	store   *kv.Store    // that the statement writes to; nil if it reads only
	run     *cleaner.Run // of newestRun, once it was read
	notices []string

	args      []kv.Value
	used      []bool // of args
	constants []constant

	// columns are the columns of the rows asked about, beside the properties of a node, or in place of
	// them if they are alone.
	columns []ColumnInfo
	alone   bool
	moments string // the one of columns whose texts are from timeText; "" is none

	surroundings *surroundings
	computed     map[string]index.Computed // shares of labels by their spelling

	showsScores bool // the statement speaks of what runs write
	asksScore   bool // its condition has the property score
}

func newQuery(ctx context.Context, tx *kv.Tx, opt Options, args []kv.Value) *query {
	return &query{
		Options: opt, tx: tx, args: args, used: make([]bool, len(args)),
		surroundings: newSurroundings(ctx, tx, opt.MemoryBudget), computed: map[string]index.Computed{},
	}
}

// Errors that statements return.
var (
	// ErrNotCleaned is returned by a statement that needs scores, if the store has never been cleaned.
	ErrNotCleaned = errors.New("the store has no scores yet: run clean first")

	// ErrNoThreshold is returned if no finite threshold gives the guarantee that a statement asks for.
	ErrNoThreshold = errors.New("no finite threshold keeps the guarantee")

	// ErrNotConfirmed is returned by a decision with a condition that nobody has confirmed.
	ErrNotConfirmed = errors.New("not confirmed")

	// ErrWrites is returned by Query for a statement that writes, and ErrReads by Exec for one that reads.
	ErrWrites = errors.New("the statement writes: run it with query.Exec")
	ErrReads  = errors.New("the statement reads: ask it with query.Query")
)

// errReadOnly is kv.ErrReadOnly in words for people.
var errReadOnly error = readOnlyError{}

type readOnlyError struct{}

func (readOnlyError) Error() string { return "the store is open for reading only" }
func (readOnlyError) Unwrap() error { return kv.ErrReadOnly }

// A ParseError is a syntax error with its place, as "1:13: got >=, want a property name".
type ParseError struct {
	Pos        Pos
	Msg        string
	Unfinished bool // the text ends before the statement: more text could complete it
}

func (e *ParseError) Error() string { return e.Pos.String() + ": " + e.Msg }

// A ResolveError says which part of a well-formed statement does not fit the store: an unknown property, a value of the
// wrong type, a node that the store does not have. Err is the cause, and may be nil.
type ResolveError struct {
	Pos Pos
	Msg string
	Err error
}

func (e *ResolveError) Error() string { return e.Pos.String() + ": " + e.Msg }

// Unwrap returns Err.
func (e *ResolveError) Unwrap() error { return e.Err }

// A ConditionError says that nothing was decided, because the condition after "if" is not true of some nodes. It is a
// decide.ErrChanged.
type ConditionError struct {
	IDs []string // of these nodes, in the order of the statement
}

// Is reports that it is a decide.ErrChanged.
func (e *ConditionError) Is(target error) bool { return target == decide.ErrChanged }

// Error reads "the condition behind if is not true of 2 nodes: p17, p20".
func (e *ConditionError) Error() string {
	text := fmt.Sprintf("the condition behind if is not true of %s: %s", wording.Nodes(len(e.IDs)),
		strings.Join(e.IDs[:min(len(e.IDs), maxShown)], ", "))
	if more := len(e.IDs) - maxShown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Position returns the place in the text that a *ParseError or *ResolveError points to; ok is false for other errors.
func Position(err error) (pos Pos, ok bool) {
	if parse, ok := errors.AsType[*ParseError](err); ok {
		return parse.Pos, true
	}
	if resolve, ok := errors.AsType[*ResolveError](err); ok {
		return resolve.Pos, true
	}
	return Pos{}, false
}
