package query

import (
	"errors"
)

// Errors that statements return.
var (
	// ErrNotCleaned is returned by a statement that needs scores, if the store has never been cleaned.
	ErrNotCleaned = errors.New("the store has no scores yet: run clean first")

	// ErrNoThreshold is returned if no finite threshold gives the guarantee that a statement asks for.
	ErrNoThreshold = errors.New("no finite threshold keeps the guarantee")

	// ErrNotConfirmed is returned by a decision with a condition that nobody has confirmed.
	ErrNotConfirmed = errors.New("not confirmed")
)

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
