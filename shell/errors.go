package shell

import (
	"errors"
)

// Errors returned by statements.
var (
	// ErrNotCleaned is returned by what needs scores when the store has never been cleaned.
	ErrNotCleaned = errors.New("the store has no scores yet: run clean first")

	// ErrNoThreshold is returned when no finite threshold keeps the guarantee that was asked for.
	ErrNoThreshold = errors.New("no finite threshold keeps the guarantee")
)

// A ParseError says where a text stops being a statement, as "1:13: got >=, want a property name".
type ParseError struct {
	Pos   Pos
	Msg   string
	Unfinished bool // more text could help
}

func (e *ParseError) Error() string { return e.Pos.String() + ": " + e.Msg }

// A ResolveError says which part of a well-formed statement does not fit the store it is asked of: an
// unknown property, a value of the wrong type, a node that is not there. Err, where not nil, is the
// error it was made of.
type ResolveError struct {
	Pos Pos
	Msg string
	Err error
}

func (e *ResolveError) Error() string { return e.Pos.String() + ": " + e.Msg }

// Unwrap returns Err.
func (e *ResolveError) Unwrap() error { return e.Err }

// Position returns where in the query an error points, if it does.
func Position(err error) (Pos, bool) {
	if parse, ok := errors.AsType[*ParseError](err); ok {
		return parse.Pos, true
	}
	if resolve, ok := errors.AsType[*ResolveError](err); ok {
		return resolve.Pos, true
	}
	return Pos{}, false
}
