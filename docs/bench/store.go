package main

import (
	"errors"
	"io"

	"github.com/graphcleaner/graphcleaner/kv"
)

// storeFlags are those of commands that measure a store.
type storeFlags struct {
	DB     string   `arg:"" name:"DB" help:"Directory of the store."`
	Memory byteSize `default:"1GiB" help:"Memory budget of the store."`
}

// report opens the store for reading and prints the measurements.
func (f *storeFlags) report(out io.Writer, measure func(tx *kv.Tx) (any, error)) (err error) {
	store, err := kv.Open(f.DB, kv.Options{MemoryBudget: int64(f.Memory), ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return store.View(func(tx *kv.Tx) error {
		report, err := measure(tx)
		if err != nil {
			return err
		}
		return printJSON(out, report)
	})
}
