package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// header takes the header from the copy of the catalogue if it cannot be read. It returns a *VersionError for a store
// of another format.
func (r *repair) header(context.Context) error {
	damage := r.s.readHeader()
	if !errors.Is(damage, ErrCorrupt) && !errors.Is(damage, ErrNotStore) {
		return damage
	}
	m := Correction{Where: "header", What: "it cannot be read", Done: "taken from the file " + lsm.CatalogName}
	if r.s.header = r.copied.Header; r.s.header.ID == "" {
		r.s.header = newHeader()
		m.Done = "rebuilt: the store is another one to its backups"
		m.Lost = Losses{{Kind: "identity of the store", Count: 1}}
	}
	return errors.Join(r.s.setMessage(headerKey(), r.s.header), r.tell(m))
}

// catalogue takes the catalogue from its copy if that is later, or the catalogue cannot be read, and opens the packs.
func (r *repair) catalogue(context.Context) error {
	if r.copied.Catalog != nil {
		if err := r.rollForward(r.copied); err != nil {
			return err
		}
	}
	err := r.s.openPacks()
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
	case damage == nil && version >= copied.Version && counted >= copied.Version:
		return nil
	case damage == nil && version >= copied.Version:
		damage = fmt.Errorf("its counts are those of commit %d, and later ones are lost", counted)
	case damage == nil:
		damage = fmt.Errorf("it is that of commit %d, and a later one is lost", version)
	case !errors.Is(damage, ErrCorrupt):
		return damage
	}
	var lost Losses
	switch held := r.s.commits; {
	case copied.Version > held:
		lost.Add(Loss{Kind: "commit", Count: int64(copied.Version - held), AtMost: true})
		r.s.commits = copied.Version
	case len(r.lost) == 0:
		lost.Add(Loss{Kind: "commit", Count: UnknownCount}) // what took the catalogue may have taken more
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
