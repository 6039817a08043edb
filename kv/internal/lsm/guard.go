package lsm

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/dgraph-io/badger/v4"

	"github.com/graphcleaner/graphcleaner/internal/mapped"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// guard turns a panic while Badger reads a damaged table into the error it should have been. A table is mapped: if its
// file is cut short meanwhile, or the disk cannot read a page of it, that is such a panic too.
func guard(key []byte, read func() error) (err error) {
	defer mapped.Watch()()
	defer func() {
		if p := recover(); p != nil {
			if fault := mapped.FaultOf(p); fault != nil {
				p = fault
			} else if _, ok := p.(runtime.Error); ok { // which means nothing to a reader
				p = "it is damaged"
			}
			err = record.Corrupt(key, fmt.Sprintf("its table cannot be read: %v", p))
		}
	}()
	return read()
}

// wrapBadger turns Badger's errors into ours, so that no other room depends on Badger's.
func wrapBadger(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, badger.ErrTxnTooBig):
		return ErrTxTooBig
	case errors.Is(err, badger.ErrReadOnlyTxn):
		return ErrReadOnly
	case errors.Is(err, badger.ErrDiscardedTxn), errors.Is(err, badger.ErrDBClosed),
		errors.Is(err, badger.ErrBlockedWrites):
		return record.ErrClosed
	case errors.Is(err, badger.ErrKeyNotFound):
		return record.ErrNotFound
	}
	return storedir.WrapFull(err)
}
