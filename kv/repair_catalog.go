package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// catalogue takes the catalogue from its copy if that is later, or the catalogue cannot be read, and opens the packs.
func (r *repair) catalogue(context.Context) error {
	copied, err := r.s.parseCatalogCopy(r.copied)
	if err != nil {
		return err
	}
	if copied.Catalog != nil {
		if err := r.rollForward(copied); err != nil {
			return err
		}
	}
	err = r.s.openPacks()
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNotFound) {
		return nil // the catalogue is damaged, of which more is told next
	}
	return err
}

// rollForward takes the catalogue from its copy, unless the store has one that can be read and is not earlier.
func (r *repair) rollForward(copied catalogCopy) error {
	version, err := r.s.versionOf(record.PartKey(catalogKey(), 0))
	if err != nil {
		return err
	}
	counted, err := r.s.versionOf(countsKey())
	if err != nil {
		return err
	}
	_, damage := r.catalog()
	switch {
	case damage == nil && version >= copied.Version:
		return nil
	case damage == nil:
		damage = fmt.Errorf("it is that of commit %d, and a later one is lost", version)
	case !errors.Is(damage, ErrCorrupt):
		return damage
	}
	var lost Losses
	switch held := r.s.commits; {
	case copied.Version > held:
		lost.add(Loss{Kind: "commit", Count: int64(copied.Version - held), AtMost: true})
		r.s.commits = copied.Version
	case len(r.lost) == 0:
		lost.add(Loss{Kind: "commit", Count: UnknownCount}) // what took the catalogue may have taken more
	}
	body, err := msgpack.Marshal(copied.Catalog)
	if err == nil {
		_, err = record.PutParts(r.s.setRecord, catalogKey(), body)
	}
	if err == nil && counted < copied.Version {
		err = r.s.setMessage(countsKey(), copied.Counts)
	}
	if err != nil {
		return err
	}
	done := fmt.Sprintf("that of commit %d is taken from the file %s", copied.Version, lsm.CatalogName)
	return r.tell(Correction{Where: "catalogue", What: damage.Error(), Done: done, Lost: lost})
}
