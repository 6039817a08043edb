package decide

import "errors"

// Errors of decisions.
var (
	// ErrOptions is returned for bad requests and options.
	ErrOptions = errors.New("cleaner: bad options")

	// ErrUnknownClass is returned for a label that is no class of the store.
	ErrUnknownClass = errors.New("cleaner: the store has no such class")

	// ErrNoSuggestion is returned if Accept names a node without a suggestion.
	ErrNoSuggestion = errors.New("no suggested label")

	// ErrNoLabel is returned if Reject or Unlabel names a node without a label.
	ErrNoLabel = errors.New("no label")

	// ErrNothingToUndo is returned if there is no step to take back.
	ErrNothingToUndo = errors.New("nothing to undo")

	// ErrChanged is returned if something has changed since it was shown.
	ErrChanged = errors.New("cleaner: changed since it was shown")
)
