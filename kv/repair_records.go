package kv

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
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
	if err := r.root(found); err != nil {
		return err
	}
	if err := r.s.removeAll(found.removed); err != nil {
		return err
	}
	if err := r.removals(ctx, &found); err != nil {
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
	steps := []func(context.Context, damagedRecords) error{r.graph, r.properties, r.spaces, r.changes}
	for _, step := range steps {
		if err := step(ctx, found); err != nil {
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

// changes has the store forget what changed if that is damaged, or if something else is lost: no commit tells of that change.
func (r *repair) changes(ctx context.Context, _ damagedRecords) error {
	const where, done = "changes of commits", "forgotten"
	damage := ""
	c := newChecker(r.tx, nil, func(p Problem) { damage = p.What })
	if err := c.found(where, c.changes(ctx)); err != nil || damage == "" && len(r.lost) == 0 {
		return err
	}
	if _, err := r.write(); err != nil {
		return err
	}
	r.forgets = true
	if len(r.lost) > 0 {
		return r.done(where, "they do not tell of what is lost", done)
	}
	return r.lose(Loss{Kind: "history of changes", Count: 1}, where, damage, done)
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

// damagedRecords are what a scan of all records found.
type damagedRecords struct {
	// generations have records that cannot be read.
	generations map[record.Generation]bool

	// removed are the keys of what no reader could use: records of unknown kinds, and documents.
	removed [][]byte

	header, counts bool // cannot be read

	last    record.Generation            // the greatest of any record
	added   uint32                       // one more than the greatest node that was added
	changed map[record.Generation]uint32 // one more than the greatest node of which a column or a matrix has a change

	removals map[record.Generation]int // removed nodes, of records that can be read
}

// scan reads every record by itself, and keeps those that are damaged.
func (r *repair) scan(ctx context.Context) (found damagedRecords, err error) {
	found.generations, found.changed = map[record.Generation]bool{}, map[record.Generation]uint32{}
	found.removals = map[record.Generation]int{}
	seen := map[record.Kind]bool{}
	cat, err := r.catalog()
	if err != nil {
		return found, fmt.Errorf("%w; it cannot be rebuilt: restore a backup", err)
	}
	cat.Next = math.MaxUint32 // the counts may be damaged
	isDead := cat.dead()
	txn := r.s.db.Begin(false)
	defer txn.Discard()
	err = eachRecord(ctx, txn, nil, func(rec record.Record, damage error) error {
		if len(rec.Key) > 0 && isDead(rec.Key) {
			found.last = max(found.last, record.GenerationOf(rec.Key))
			return nil
		}
		k := record.Kind(0)
		if len(rec.Key) > 0 {
			k = record.Kind(rec.Key[0])
		}
		known := k.String() != "" && (k < record.FirstGenerational || len(rec.Key) >= 5)
		if known && damage == nil {
			seen[k] = true
			r.note(&found, rec.Key)
			if k == record.KindRemoved {
				for _, b := range rec.Body {
					found.removals[record.GenerationOf(rec.Key)] += bits.OnesCount8(b)
				}
			}
			return nil
		}
		what := "no record has this key"
		if damage != nil {
			what = damage.Error()
		}
		switch {
		case !known:
			found.removed = append(found.removed, bytes.Clone(rec.Key))
			return r.lose(Loss{Kind: "record of no known kind", Count: 1}, record.Describe(rec.Key), what, "removed")
		case k == record.KindDegreeDelta || k == record.KindIDLookup || k == record.KindAddedID:
			found.generations[record.GenerationOf(rec.Key)] = true
			return r.done(record.Describe(rec.Key), what, "rebuilt")
		case k == record.KindDecided:
			if err := r.s.setRecord(decidedKey(), nil); err != nil {
				return err
			}
			return r.done(record.Describe(rec.Key), what, "rebuilt")
		case k >= record.FirstGenerational:
			found.generations[record.GenerationOf(rec.Key)] = true
			r.note(&found, rec.Key)
		}
		return nil
	})
	if err != nil {
		return found, err
	}
	found.header, found.counts = !seen[record.KindHeader], !seen[record.KindCounts]
	return found, r.documents(ctx, txn, &found)
}

func (r *repair) note(found *damagedRecords, key []byte) {
	if record.Kind(key[0]) < record.FirstGenerational {
		return
	}
	g := record.GenerationOf(key)
	found.last = max(found.last, g)
	v, ok := record.NumberOf(key, 0)
	switch k := record.Kind(key[0]); {
	case !ok:
	case k == record.KindAddedNode:
		found.added = max(found.added, v+1)
	case k == record.KindColumnDelta, k == record.KindRowDelta:
		found.changed[g] = max(found.changed[g], v+1)
	}
}

// documents finds those of which a part is damaged or missing.
func (r *repair) documents(ctx context.Context, txn *lsm.Txn, found *damagedRecords) error {
	var whole []byte  // the key of a document, without the part
	var keys [][]byte // of its parts
	var damage error
	parts := 0
	end := func() error {
		if damage == nil && len(keys) != parts {
			damage = record.Corrupt(whole, fmt.Sprintf("%d of its %d parts are there", len(keys), parts))
		}
		if damage == nil {
			return nil
		}
		found.removed = append(found.removed, keys...)
		space, name, _ := bytes.Cut(whole[1:], []byte{0})
		return r.lose(Loss{Kind: "document", Count: 1}, fmt.Sprintf("document %s/%s", space, name), damage.Error(), "removed")
	}
	err := eachRecord(ctx, txn, []byte{byte(record.KindDocument)}, func(rec record.Record, broken error) error {
		if len(rec.Key) < 3 {
			return nil
		}
		key, part := rec.Key[:len(rec.Key)-2], int(binary.BigEndian.Uint16(rec.Key[len(rec.Key)-2:]))
		if !bytes.Equal(key, whole) {
			if err := end(); err != nil {
				return err
			}
			whole, keys, damage, parts = bytes.Clone(key), nil, nil, 0
		}
		if broken == nil && part == 0 {
			parts, _, broken = record.FirstPart(rec.Key, rec.Body)
		}
		if broken == nil && part != len(keys) {
			broken = record.Corrupt(rec.Key, "the parts before it are missing")
		}
		damage = cmp.Or(damage, broken)
		keys = append(keys, bytes.Clone(rec.Key))
		return nil
	})
	if err != nil {
		return err
	}
	return end()
}

// eachRecord calls use with every record whose key begins with prefix, borrowed, and with what is wrong with it.
func eachRecord(ctx context.Context, txn *lsm.Txn, prefix []byte, use func(r record.Record, damage error) error) error {
	it := txn.Iterator(prefix, false)
	defer it.Close()
	err := it.Seek(prefix)
	for done := 1; err == nil && it.Valid(); done++ {
		if done%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r := record.Record{Key: it.Key()}
		value, damage := it.Value()
		if damage == nil {
			r.Body, damage = record.Decode(r.Key, value)
		} else {
			damage = record.Corrupt(r.Key, damage.Error())
		}
		if err := use(r, damage); err != nil {
			return err
		}
		err = it.Next()
	}
	return err
}

// header repairs the header. It returns a *VersionError for a store of another format.
func (r *repair) header(found damagedRecords) error {
	err := r.s.readHeader()
	if _, ok := errors.AsType[*VersionError](err); ok || err == nil && !found.header {
		return err
	}
	r.s.header = newHeader()
	if r.identity != (decisions.Store{}) {
		r.s.header.ID = hex.EncodeToString(r.identity[:])
	}
	body, err := msgpack.Marshal(r.s.header)
	if err != nil {
		return err
	}
	if err := r.s.setRecord(headerKey(), body); err != nil {
		return err
	}
	if r.identity != (decisions.Store{}) {
		return r.done("header", "it cannot be read", "rebuilt, with the ID that decisions.log has")
	}
	return r.lose(Loss{Kind: "identity of the store", Count: 1}, "header", "it cannot be read",
		"rebuilt: the store is another one to its backups")
}

// root repairs the header, and the counts as far as it needs them to go on: the graph is then written again, which
// counts what it writes.
func (r *repair) root(found damagedRecords) error {
	if err := r.header(found); err != nil {
		return err
	}
	cat, err := r.catalog()
	if err != nil {
		return fmt.Errorf("%w; it cannot be rebuilt: restore a backup", err)
	}
	if !found.counts {
		return r.s.View(func(tx *Tx) error {
			if found.last < tx.cat.Next {
				return nil
			}
			return laterCatalogLost(tx.cat.Next, found.last)
		})
	}
	found.generations[cat.Graph] = true
	r.uncounted = true
	cat.Nodes = max(cat.LoadedNodes, int(found.added))
	cat.Removed = max(found.removals[cat.Graph], cat.Unnamed)
	cat.Next = found.last + 1
	for g := range cat.live() {
		cat.Next = max(cat.Next, g+1)
	}
	body, err := msgpack.Marshal(cat.counts)
	if err != nil {
		return err
	}
	if err := r.s.setRecord(countsKey(), body); err != nil {
		return err
	}
	return r.done("counts", "they cannot be read", "rebuilt: %d nodes", cat.Nodes)
}

// catalog reads the catalogue but for the counts.
func (r *repair) catalog() (cat *catalog, err error) {
	err = r.s.db.View(func(t *lsm.Txn) error {
		get := snapshot.GetFunc(func(key []byte, use func(body []byte) error) error {
			value, err := t.Get(key)
			if errors.Is(err, ErrNotFound) {
				return record.Corrupt(key, "it is missing")
			}
			if err != nil {
				return err
			}
			body, err := record.Decode(key, value)
			if err != nil {
				return err
			}
			return use(body)
		})
		return snapshot.Chain(get, catalogKey(), func(body []byte) (err error) {
			cat, err = decodeCatalog(body)
			return err
		})
	})
	return cat, err
}

// setRecord writes one record, durably, whatever the catalogue says, in place of what the last commit knows of it.
func (s *Store) setRecord(key, body []byte) error {
	t := s.db.Begin(true)
	defer t.Discard()
	if err := t.Set(key, record.Encode(key, body)); err != nil {
		return err
	}
	s.latest.Store(nil)
	return t.Commit(max(s.commits, s.db.Version(), 1))
}

// removeAll deletes keys.
func (s *Store) removeAll(keys [][]byte) error {
	if len(keys) == 0 {
		return nil
	}
	b := s.db.Batch(s.commits)
	defer b.Cancel()
	for _, key := range keys {
		if err := b.Set(key, nil); err != nil {
			return err
		}
	}
	return b.Flush()
}

// checker returns a checker of the store as it was, whose removed nodes are known by then.
func (r *repair) checker() (c *checker, err error) {
	c = newChecker(r.tx, r.progress, nil)
	c.removed, err = r.tx.Removed()
	return c, err
}

// broken reports whether steps of Check find any problem, and which is the first.
func (r *repair) broken(ctx context.Context, c *checker, steps ...func(*checker, context.Context) error) (bool, error) {
	var first *Problem
	c.report = func(p Problem) {
		if first == nil {
			first = &p
		}
	}
	for _, step := range steps {
		if err := c.found("store", step(c, ctx)); err != nil {
			return false, err
		}
	}
	if first == nil {
		return false, nil
	}
	return true, r.done(first.Where, first.What, "written again")
}

// properties writes columns and matrices again that are damaged, with null or NaN for what cannot be read.
func (r *repair) properties(ctx context.Context, found damagedRecords) error {
	for _, p := range r.tx.properties() {
		damaged, err := found.generations[p.generation], error(nil)
		switch {
		case damaged:
		case found.changed[p.generation] > uint32(r.tx.NumNodes()):
			damaged, err = true, r.done(p.where, "it has changes of nodes that are not there", "written again")
		default:
			var c *checker
			if c, err = r.checker(); err == nil {
				damaged, err = r.broken(ctx, c, p.check)
			}
		}
		if err == nil && damaged {
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
func (r *repair) spaces(ctx context.Context, found damagedRecords) error {
	for _, name := range sortedNames(r.tx.cat.Spaces) {
		g := r.tx.cat.Spaces[name]
		if !found.generations[g] {
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
