package kv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// What a repair reads of the store has no damaged record any more: some are missing, and in the place of some there are
// earlier ones.

// header takes the header from the copy of the catalogue if it is missing. It returns ErrVersion for a store of
// another format.
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
	r.tell(m)
	return r.s.setMessage(headerKey(), r.s.header)
}

// catalogue takes the catalogue from its copy if that is later, or the catalogue cannot be read, and opens the packs.
func (r *repair) catalogue(context.Context) error {
	version, err := r.s.versionOf(record.PartKey(catalogKey(), 0))
	counted, err2 := r.s.versionOf(countsKey())
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	_, damage := r.catalog()
	switch held := min(version, counted); {
	case damage == nil && held >= r.copied.Version:
		return r.s.openPacks()
	case damage == nil:
		damage = fmt.Errorf("it, or its counts, are those of commit %d, and later ones are lost", held)
	case !errors.Is(damage, ErrCorrupt):
		return damage
	case r.copied.Catalog == nil:
		return fmt.Errorf("%w; it cannot be rebuilt: restore a backup", damage)
	}
	copied := r.copied
	var lost Losses
	switch held := r.s.commits; {
	case copied.Version > held:
		lost.Add(lsm.Loss{Kind: "commit", Count: int64(copied.Version - held), AtMost: true})
		r.s.commits = copied.Version
	case len(r.lost) == 0:
		lost.Add(lsm.Loss{Kind: "commit", Count: UnknownCount}) // what took the catalogue may have taken more
	}
	if err := r.setCatalog(copied.Catalog); err != nil {
		return err
	}
	if counted < copied.Version {
		r.uncounted = true // later ones may be lost
		if err := r.s.setMessage(countsKey(), copied.Counts); err != nil {
			return err
		}
	}
	done := fmt.Sprintf("that of commit %d is taken from the file %s", copied.Version, lsm.CatalogName)
	r.tell(Correction{Where: "catalogue", What: damage.Error(), Done: done, Lost: lost})
	return r.s.openPacks()
}

// records makes the records of a store agree with each other. What does not is written again under a new generation,
// all of it at once.
func (r *repair) records(ctx context.Context) error {
	tx := r.s.beginBare(false, nil)
	defer tx.end()
	var err error
	if tx.cat, err = r.catalog(); err != nil {
		return err
	}
	tx.cat.Next = math.MaxUint32 // the counts may be lost
	found, err := tx.scan(ctx, r.progress, func(_ []byte, damage error) error { return damage })
	if err != nil {
		return err
	}
	if err := r.documents(ctx, tx); err != nil {
		return err
	}
	if err := r.counts(tx, found); err != nil {
		return err
	}
	if err := r.s.sweep(); err != nil {
		return err
	}
	defer func() {
		if r.bulk != nil {
			r.bulk.Abort()
		}
	}()
	if r.tx = r.s.Begin(); r.tx.err != nil {
		return r.tx.err
	}
	defer r.tx.Close()
	r.check = newChecker(r.tx, r.progress, nil)
	r.check.scan = found
	if r.check.removed, err = r.tx.Removed(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{r.graph, r.properties, r.changes} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if r.bulk == nil {
		return nil
	}
	return r.bulk.Commit(func(tx *Tx) error {
		if len(r.lost) > 0 {
			tx.cat.ChangesFrom = r.s.commits + 1 // this commit
		}
		return nil
	})
}

// changes has the store forget what changed if that is damaged, or if something else is lost: no commit tells of that
// change.
func (r *repair) changes(ctx context.Context) error {
	const where, done = "changes of commits", "forgotten"
	damage, err := r.problem(ctx, (*checker).changes)
	if err != nil || damage == nil && len(r.lost) == 0 {
		return err
	}
	if len(r.lost) > 0 {
		r.done(where, "they do not tell of what is lost", done)
	} else {
		r.lose(lsm.Loss{Kind: "history of changes", Count: 1}, where, damage.What, done)
	}
	_, err = r.rewriter(ctx) // a commit
	return err
}

// rewriter writes again what the store has, all of it visible at once in the end, and reports what is lost.
func (r *repair) rewriter(ctx context.Context) (*rewriter, error) {
	if r.bulk == nil {
		bulk, err := r.s.beginBulk(ctx)
		if err != nil {
			return nil, err
		}
		r.bulk, bulk.rewrites = bulk, true
	}
	return &rewriter{tx: r.tx, bulk: r.bulk, progress: r.progress, lose: r.lose}, nil
}

// problem is the first that steps of Check find, nil for none.
func (r *repair) problem(
	ctx context.Context, steps ...func(*checker, context.Context) error,
) (first *Problem, err error) {
	r.check.last = Problem{}
	r.check.report = func(p Problem) {
		if first == nil {
			first = &p
		}
	}
	for _, step := range steps {
		if err := r.check.found("store", step(r.check, ctx)); err != nil {
			return nil, err
		}
	}
	return first, nil
}

// isBroken says whether steps of Check find a problem, which it reports: then something is written again.
func (r *repair) isBroken(ctx context.Context, steps ...func(*checker, context.Context) error) (bool, error) {
	p, err := r.problem(ctx, steps...)
	if err != nil || p == nil {
		return false, err
	}
	r.done(p.Where, p.What, "written again")
	return true, nil
}

// documents removes the documents of which a part is missing, and the parts of earlier ones.
func (r *repair) documents(ctx context.Context, tx *Tx) error {
	var whole []byte // the key of a document, without the part
	parts := 0       // of the document, none if one is missing
	b := r.s.db.Batch(r.s.commits)
	defer b.Cancel()
	err := tx.eachRecord(ctx, []byte{byte(record.KindDocument)}, func(rec record.Record, _ error) error {
		key, part := rec.Key[:len(rec.Key)-2], int(binary.BigEndian.Uint16(rec.Key[len(rec.Key)-2:]))
		if !bytes.Equal(key, whole) {
			whole, parts = bytes.Clone(key), 0
			damage := snapshot.Chain(tx.records(), whole, func([]byte) error { return nil })
			if damage == nil {
				parts, _, damage = record.FirstPart(rec.Key, rec.Body)
			}
			if damage != nil {
				space, name, _ := bytes.Cut(whole[1:], []byte{0})
				where := fmt.Sprintf("document %s/%s", space, name)
				r.lose(lsm.Loss{Kind: "document", Count: 1}, where, damage.Error(), "removed")
			}
		}
		if part >= parts {
			return b.Set(bytes.Clone(rec.Key), nil)
		}
		return nil
	})
	return errors.Join(err, b.Flush())
}

// counts has the counts say what the records say of nodes and of removed nodes. If they did not, the graph is written
// again, which counts edges. A node whose removal is lost is there again, without edges and values.
func (r *repair) counts(tx *Tx, found *recordScan) error {
	cat, err := r.catalog()
	if err != nil {
		return err
	}
	damage := tx.loadCatalog()
	before := tx.cat.counts
	if damage != nil {
		if !errors.Is(damage, ErrCorrupt) {
			return damage
		}
		r.uncounted = true
		before = counts{Next: max(found.last, r.salvaged.Last) + 1}
		for g := range cat.live() {
			before.Next = max(before.Next, g+1)
		}
	}
	if r.salvaged.Last >= before.Next {
		return laterCatalogLost(before.Next, r.salvaged.Last)
	}
	now := before
	now.Nodes, now.Removed = max(cat.LoadedNodes, found.nodes, before.Nodes), found.removed
	if damage == nil && now == before {
		return nil
	}
	if damage == nil {
		damage = fmt.Errorf("they say that %d of %d nodes are removed", before.Removed, before.Nodes)
	}
	r.recounts = true
	if cat.Unnamed > now.Removed {
		cat.Unnamed = now.Removed
		if err := r.setCatalog(cat); err != nil {
			return err
		}
	}
	lost := lsm.Loss{Kind: "removal of a node", Count: int64(max(before.Removed-now.Removed, 0))}
	r.lose(lost, "counts", damage.Error(), "counted again: %d of %d nodes are removed", now.Removed, now.Nodes)
	return r.s.setMessage(countsKey(), now)
}

// catalog reads the catalogue except for the counts.
func (r *repair) catalog() (cat *catalog, err error) {
	tx := r.s.beginBare(false, nil)
	defer tx.end()
	return tx.uncountedCatalog()
}

// setCatalog writes the catalogue except for the counts.
func (r *repair) setCatalog(cat *catalog) error {
	body, err := msgpack.Marshal(cat)
	if err == nil {
		_, err = record.PutParts(r.s.setRecord, catalogKey(), body)
	}
	return err
}

// setRecord writes one record, durably, whatever the catalogue says, in place of what the last commit knows of it.
func (s *Store) setRecord(key, body []byte) error {
	t := s.db.Begin(true)
	defer t.Discard()
	if err := t.Set(key, record.Encode(key, body)); err != nil {
		return err
	}
	if err := t.MakeRoom(); err != nil {
		return err
	}
	s.latest.Store(nil)
	return t.Commit(max(s.commits, s.db.Version(), 1))
}

// setMessage is setRecord of a value as msgpack has it.
func (s *Store) setMessage(key []byte, value any) error {
	body, err := msgpack.Marshal(value)
	if err != nil {
		return err
	}
	return s.setRecord(key, body)
}

// properties writes columns and matrices again that are damaged, with null or NaN for what cannot be read.
func (r *repair) properties(ctx context.Context) error {
	for _, p := range r.tx.properties() {
		check := func(c *checker, ctx context.Context) error { return c.property(ctx, p) }
		broken, err := r.isBroken(ctx, check)
		if err == nil && broken {
			var w *rewriter
			if w, err = r.rewriter(ctx); err == nil {
				err = p.rewrite(w, ctx)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.where, err)
		}
	}
	return nil
}
