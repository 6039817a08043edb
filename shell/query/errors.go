package query

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

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

// A ResolveError says which part of a well-formed statement does not fit the store: an unknown property, a value of the wrong type,
// a node that the store does not have. Err is the cause, and may be nil.
type ResolveError struct {
	Pos Pos
	Msg string
	Err error
}

func (e *ResolveError) Error() string { return e.Pos.String() + ": " + e.Msg }

// Unwrap returns Err.
func (e *ResolveError) Unwrap() error { return e.Err }

// A ConditionError says that nothing was decided, because the condition behind "if" is not true of some nodes. It is a
// decide.ErrChanged.
type ConditionError struct {
	Nodes []NodeView // in the order of the statement
}

// A NodeView is a node as the statement found it.
type NodeView struct {
	ID string
	decide.View
}

// Is reports that it is a decide.ErrChanged.
func (e *ConditionError) Is(target error) bool { return target == decide.ErrChanged }

// Error reads "the condition behind if is not true of 1 node: p17 (label Theory, suggested none, decision relabel)".
func (e *ConditionError) Error() string {
	text := fmt.Sprintf("the condition behind if is not true of %s: ", wording.Nodes(int64(len(e.Nodes))))
	for i, n := range e.Nodes[:min(len(e.Nodes), maxShown)] {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s (label %s, suggested %s, decision %s)", n.ID,
			cmp.Or(n.Label, "none"), cmp.Or(n.Suggestion, "none"), cmp.Or(n.Decision.String(), "none"))
	}
	if more := len(e.Nodes) - maxShown; more > 0 {
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
