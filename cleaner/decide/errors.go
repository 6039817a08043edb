package decide

import "errors"

// Errors of decisions.
var (
	// ErrOptions is returned for requests and options that are no decision.
	ErrOptions = errors.New("cleaner: bad options")

	// ErrUnknownClass is returned for a label that is no class of the store.
	ErrUnknownClass = errors.New("cleaner: the store has no such class")

	// ErrNoSuggestion is returned when a suggestion is accepted that the store does not have.
	ErrNoSuggestion = errors.New("cleaner: node has no suggested label")

	// ErrUnlabelled is returned when a label is confirmed or removed that the node does not have.
	ErrUnlabelled = errors.New("cleaner: node has no label")

	// ErrDecidedTwice is returned when one step would decide twice about a node.
	ErrDecidedTwice = errors.New("cleaner: node is decided on twice in one step")

	// ErrNothingToUndo is returned when there are fewer steps to take back than asked for.
	ErrNothingToUndo = errors.New("cleaner: nothing left to undo")

	// ErrChanged is returned when what a decision was about is no longer what was shown.
	ErrChanged = errors.New("cleaner: changed since it was shown")
)
