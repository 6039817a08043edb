package kv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// records makes the records of a store, whose files are sound, agree with each other. What is damaged is written again
// under a new generation, all of it at once.
func (r *repair) records(ctx context.Context) (err error) {
	found, err := r.scan(ctx)
	if err != nil {
		return err
	}
	if err := r.counts(found); err != nil {
		return err
	}
	if err := r.removals(ctx, found); err != nil {
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
	for _, step := range []func(context.Context) error{r.graph, r.properties, r.spaces, r.changes} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if r.bulk == nil {
		return nil
	}
	return r.bulk.Commit(func(tx *Tx) error {
		if r.forgets {
			tx.cat.ChangesFrom = r.s.commits + 1 // this commit
		}
		return markIndexes(r.tx.Columns())(tx)
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
	if _, err := r.write(); err != nil {
		return err
	}
	r.forgets = true
	if len(r.lost) > 0 {
		return r.done(where, "they do not tell of what is lost", done)
	}
	return r.lose(Loss{Kind: "history of changes", Count: 1}, where, damage.What, done)
}

// rewriter writes again what the store has, after write has begun it, and reports what is lost.
func (r *repair) rewriter() *rewriter {
	return &rewriter{tx: r.tx, bulk: r.bulk, progress: r.progress, lose: r.lose}
}

// write begins what writes again.
func (r *repair) write() (*Bulk, error) {
	if r.bulk != nil {
		return r.bulk, nil
	}
	var err error
	r.bulk, err = r.s.beginBulk(context.Background())
	if err == nil {
		r.bulk.rewrites = true
	}
	return r.bulk, err
}

// problem is the first that steps of Check find, nil for none.
func (r *repair) problem(ctx context.Context, steps ...func(*checker, context.Context) error) (first *Problem, err error) {
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

// isBroken says whether something is to be written again: a record of its generation is damaged, or steps of Check
// find a problem.
func (r *repair) isBroken(ctx context.Context, g record.Generation, steps ...func(*checker, context.Context) error) (bool, error) {
	if r.check.scan.damaged[g] {
		return true, nil
	}
	p, err := r.problem(ctx, steps...)
	if err != nil || p == nil {
		return false, err
	}
	return true, r.done(p.Where, p.What, "written again")
}

// scan reads every record by itself. It removes what no reader could use: records of unknown kinds, and documents of
// which a part is damaged or missing.
func (r *repair) scan(ctx context.Context) (*recordScan, error) {
	cat, err := r.catalog()
	if err != nil {
		return nil, fmt.Errorf("%w; it cannot be rebuilt: restore a backup", err)
	}
	tx := r.s.beginBare(false, nil)
	defer tx.end()
	tx.cat = cat
	cat.Next = math.MaxUint32 // the counts may be damaged
	var useless [][]byte
	found, err := tx.scan(ctx, r.progress, func(key []byte, damage error) error {
		k, where := record.Kind(0), record.Describe(key)
		if record.IsKnown(key) {
			k = record.Kind(key[0])
		}
		switch k {
		case 0:
			useless = append(useless, bytes.Clone(key))
			return r.lose(Loss{Kind: "record of no known kind", Count: 1}, where, damage.Error(), "removed")
		case record.KindDecided:
			return errors.Join(r.s.setRecord(decidedKey(), nil), r.done(where, damage.Error(), "rebuilt"))
		case record.KindDegreeDelta, record.KindIDLookup, record.KindAddedID:
			return r.done(where, damage.Error(), "rebuilt")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	documents, err := r.documents(ctx, tx)
	if err != nil {
		return nil, err
	}
	return found, r.s.removeAll(append(useless, documents...))
}

// documents are the keys of documents that cannot be read, and of parts that are too many.
func (r *repair) documents(ctx context.Context, tx *Tx) (useless [][]byte, err error) {
	var whole []byte // the key of a document, without the part
	var damage error
	parts := 0
	err = eachRecord(ctx, tx.txn, []byte{byte(record.KindDocument)}, func(rec record.Record, _ error) error {
		if len(rec.Key) < 3 {
			return nil
		}
		key, part := rec.Key[:len(rec.Key)-2], int(binary.BigEndian.Uint16(rec.Key[len(rec.Key)-2:]))
		if !bytes.Equal(key, whole) {
			whole, parts = bytes.Clone(key), 0
			damage = snapshot.Chain(tx.records(), whole, func([]byte) error { return nil })
			if damage != nil {
				space, name, _ := bytes.Cut(whole[1:], []byte{0})
				where := fmt.Sprintf("document %s/%s", space, name)
				if err := r.lose(Loss{Kind: "document", Count: 1}, where, damage.Error(), "removed"); err != nil {
					return err
				}
			} else if parts, _, damage = record.FirstPart(rec.Key, rec.Body); damage != nil {
				return damage
			}
		}
		if damage != nil || part >= parts {
			useless = append(useless, bytes.Clone(rec.Key))
		}
		return nil
	})
	return useless, err
}

// counts repairs the counts as far as the repair needs them to go on: the graph is then written again, which counts
// what it writes.
func (r *repair) counts(found *recordScan) error {
	if found.counts[record.KindCounts] > 0 {
		return r.s.View(func(tx *Tx) error {
			if found.last < tx.cat.Next {
				return nil
			}
			return laterCatalogLost(tx.cat.Next, found.last)
		})
	}
	cat, err := r.catalog()
	if err != nil {
		return err
	}
	found.damaged[cat.Graph] = true
	r.uncounted = true
	cat.Nodes = max(cat.LoadedNodes, int(found.added))
	cat.Removed = max(found.removed, cat.Unnamed)
	cat.Next = found.last + 1
	for g := range cat.live() {
		cat.Next = max(cat.Next, g+1)
	}
	if err := r.s.setMessage(countsKey(), cat.counts); err != nil {
		return err
	}
	return r.done("counts", "they cannot be read", "rebuilt: %d nodes", cat.Nodes)
}

// catalog reads the catalogue but for the counts.
func (r *repair) catalog() (cat *catalog, err error) {
	tx := r.s.beginBare(false, nil)
	defer tx.end()
	if cat, err = tx.uncountedCatalog(); errors.Is(err, ErrNotFound) {
		err = record.Corrupt(catalogKey(), "it is missing")
	}
	return cat, err
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

// removeAll deletes keys.
func (s *Store) removeAll(keys [][]byte) error {
	b := s.db.Batch(s.commits)
	defer b.Cancel()
	for _, key := range keys {
		if err := b.Set(key, nil); err != nil {
			return err
		}
	}
	return b.Flush()
}

// properties writes columns and matrices again that are damaged, with null or NaN for what cannot be read.
func (r *repair) properties(ctx context.Context) error {
	for _, p := range r.tx.properties() {
		check := func(c *checker, ctx context.Context) error { return c.property(ctx, p) }
		broken, err := r.isBroken(ctx, p.generation, check)
		if err == nil && broken {
			if _, err = r.write(); err == nil {
				err = p.rewrite(r.rewriter(), ctx)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.where, err)
		}
	}
	return nil
}

// spaces writes those again of which records are damaged, without these.
func (r *repair) spaces(ctx context.Context) error {
	for _, name := range sortedNames(r.tx.cat.Spaces) {
		g := r.tx.cat.Spaces[name]
		if !r.check.scan.damaged[g] {
			continue
		}
		bulk, err := r.write()
		if err != nil {
			return err
		}
		w, err := bulk.Space(name)
		if err != nil {
			return err
		}
		prefix, lost := record.Prefix(record.KindSpace, g), int64(0)
		err = eachRecord(ctx, r.tx.txn, prefix, func(rec record.Record, damage error) error {
			if sound := damage == nil && len(rec.Key) > len(prefix); sound {
				return w.Put(rec.Key[len(prefix):], rec.Body)
			}
			lost++
			return nil
		})
		if err != nil {
			return err
		}
		if lost == 0 {
			continue
		}
		what := fmt.Sprintf("%d of its entries are damaged", lost)
		if err := r.lose(Loss{Kind: EntriesOf(name), Count: lost}, "space "+name, what, "removed"); err != nil {
			return err
		}
	}
	return nil
}
