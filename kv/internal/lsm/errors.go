package lsm

import "errors"

// Errors of databases, beside record.ErrCorrupt and storedir.ErrNoSpace. kv has them, and says what they mean.
var (
	ErrNotStore = errors.New("kv: not a graphcleaner store")
	ErrCrashed  = errors.New("kv: store was not closed properly")
	ErrReadOnly = errors.New("kv: read-only")
	ErrFailed   = errors.New("kv: a write to the disk failed, close the store and open it again")
	ErrTxTooBig = errors.New("kv: transaction too big: write less in one Update, or use Store.NewPatch (nodes, " +
		"edges) or Store.Bulk (columns)")
)
