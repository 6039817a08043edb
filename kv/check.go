package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"time"

	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// A Problem names a place in a store, such as "adjacency block 3/0 of generation 2", and the damage there.
type Problem struct{ Where, What string }

func (p Problem) String() string { return p.Where + ": " + p.What }

// Check reads every record, compares records that must agree, and calls report for each fault. It trusts the index of
// the ids of a load if every record of it is there and whole. It returns an error only if it cannot go on, ErrClosed if
// the store is closed meanwhile. Check waits for a running Update, Bulk or Compact, and then reads one snapshot, beside
// writers. It holds a few blocks at a time.
func (s *Store) Check(ctx context.Context, progress Progress, report func(Problem)) (err error) {
	began := time.Now()
	defer func() { s.log("check", began, err) }()
	// Between two writers no generation is half written, or replaced and not yet deleted.
	if err := s.lockWriter(ctx); err != nil {
		return err
	}
	tx := s.Begin()
	decided, damage := s.readDecisions()
	s.writer.Unlock()
	defer tx.Close()
	c := newChecker(tx, progress, report)
	if c.decided = decided; decided != nil {
		defer func() { err = errors.Join(err, decided.Close()) }()
	}
	if err := c.found(decisions.FileName, damage); err != nil {
		return err
	}
	if errors.Is(tx.err, ErrCorrupt) {
		c.problem("catalogue", "%v", tx.err)
		return nil
	}
	if err := tx.acquire(); err != nil {
		return err
	}
	defer tx.release()
	c.removed, err = tx.Removed()
	if err := c.found("removed nodes", err); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		c.decisions, c.tables, c.records, c.documents, c.dictionary, c.adjacency, c.properties, c.changes,
	} {
		if err := c.found("store", step(ctx)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// newChecker returns a checker of a snapshot, which reads all from disk.
func newChecker(tx *Tx, progress Progress, report func(Problem)) *checker {
	tx.cache = snapshot.NewCache(0)
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	return &checker{tx: tx, progress: progress, report: report}
}

// A checker is one run of Check.
type checker struct {
	tx       *Tx
	progress Progress
	report   func(Problem)

	scan    *recordScan
	decided *decisions.Log // nil if there is none that can be read

	last Problem // one damaged block is met once for each of its nodes
	told int     // how many problems were reported

	// removed is the set of removed nodes, of which nothing may be left.
	removed NodeSet
}

func (c *checker) problem(where, format string, args ...any) {
	p := Problem{where, fmt.Sprintf(format, args...)}
	if p != c.last {
		c.last = p
		c.told++
		c.report(p)
	}
}

// found reports an error that damage explains, and returns any other.
func (c *checker) found(where string, err error) error {
	for _, damage := range []error{ErrCorrupt, ErrVersion, ErrNotFound, ErrInvalidValue, ErrInvalidID} {
		if errors.Is(err, damage) {
			c.problem(where, "%v", err)
			return nil
		}
	}
	return err
}

// tables compares the checksums of all blocks of all tables, those too that no record is read from.
func (c *checker) tables(ctx context.Context) error {
	look := func(done, total int) error {
		c.progress("tables", int64(done), int64(total))
		return c.tx.Err()
	}
	return c.tx.s.db.FindDamage(ctx, look, func(file string, damage error) { c.problem(file, "%v", damage) })
}

// documents reads every document, of which no part may be missing.
func (c *checker) documents(ctx context.Context) error {
	return readAll(ctx, snapshot.ScanChains(c.tx.records(), []byte{byte(record.KindDocument)}, nil))
}

// readAll returns the first error of a sequence that is read to its end.
func readAll[T any](ctx context.Context, all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// changes reads the record of every commit.
func (c *checker) changes(ctx context.Context) error {
	last, err := c.tx.LastCommit()
	if err != nil {
		return err
	}
	return readAll(ctx, c.tx.changesAfter(c.tx.cat.changesFrom(last), last))
}

// properties reads every block of every column and matrix, with its deltas.
func (c *checker) properties(ctx context.Context) error {
	users := map[record.Generation]string{c.tx.cat.Graph: "the graph"}
	for _, p := range c.tx.properties() {
		if other, taken := users[p.generation]; taken {
			c.problem("catalogue", "%s and %s share generation %d", other, p.where, p.generation)
		}
		users[p.generation] = p.where
		if err := c.property(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) property(ctx context.Context, p property) error {
	if nodes := c.tx.NumNodes(); int64(p.rows) > int64(nodes) {
		c.problem(p.where, "it has %d rows of %d nodes", p.rows, nodes)
	}
	if int64(c.scan.changed[p.generation]) > int64(c.tx.NumNodes()) {
		c.problem(p.where, "it has changes of nodes that are not there")
	}
	return c.found(p.where, p.check(c, ctx))
}

// checkRows reads a property block by block. No removed node may have a value.
func checkRows[R any](
	ctx context.Context, c *checker, where string, read func(name string) (rowsOf[R], error), name string,
) error {
	rows, err := read(name)
	if err != nil {
		return err
	}
	for first := 0; first < rows.nodes; first += rows.height {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.progress(where, int64(first), int64(rows.nodes))
		r := Range{First: NodeID(first), End: NodeID(min(first+rows.height, rows.nodes))}
		err := rows.load(r)
		for v := r.First; err == nil && v < r.End; v++ {
			if c.removed.Has(v) {
				var row R
				if row, err = rows.row(v); err == nil && !rows.isNull(row) {
					err = fmt.Errorf("%w: node number %d was removed, and has %v", ErrCorrupt, v, row)
				}
			}
		}
		if err := c.found(where, err); err != nil {
			return err
		}
	}
	return nil
}

// A recordScan has the findings of a pass over all records. It leaves out those of generations that the catalogue names
// no more.
type recordScan struct {
	counts  map[record.Kind]int64 // of sound records, of the graph's generation or of none
	nodes   int                   // one more than the greatest node that was added to the graph, or removed
	removed int                   // nodes in its blocks of removed ones

	deltaNodes int // nodes of the graph that have deltas of edges

	changed map[record.Generation]uint32 // one more than the greatest node of which a column or a matrix has a change
	last    record.Generation            // the greatest of any record
}

// scan reads every record by itself, and calls damaged for each that cannot be read or has a key that no record has.
func (tx *Tx) scan(
	ctx context.Context, progress Progress, damaged func(key []byte, damage error) error,
) (*recordScan, error) {
	s := &recordScan{counts: map[record.Kind]int64{}, changed: map[record.Generation]uint32{}}
	isDead, done, withDelta := tx.cat.dead(), 0, int64(-1)
	err := tx.eachRecord(ctx, nil, func(r record.Record, damage error) error {
		if done++; done%record.ContextEvery == 0 {
			progress("records", int64(done), 0)
		}
		if !record.IsKnown(r.Key) {
			return damaged(r.Key, record.Corrupt(r.Key, "no record has this key"))
		}
		k, g := record.Kind(r.Key[0]), record.Generation(0)
		if k >= record.FirstGenerational {
			g = record.GenerationOf(r.Key)
			s.last = max(s.last, g)
		}
		if isDead(r.Key) {
			return nil
		}
		number, short := record.NumberAt(r.Key, 0)
		if short == nil && (k == record.KindColumnDelta || k == record.KindRowDelta) {
			s.changed[g] = max(s.changed[g], number+1)
		}
		if damage != nil {
			return damaged(r.Key, damage)
		}
		if k >= record.FirstGenerational && g != tx.cat.Graph {
			return nil
		}
		isChain := k == record.KindAdjacency || k == record.KindAdjacencyPartition || k == record.KindArcs
		if isChain && record.IsLaterPart(r.Key) {
			return nil
		}
		s.counts[k]++
		switch {
		case short != nil:
		case k == record.KindAddedNode:
			s.nodes = max(s.nodes, int(number)+1)
		case k == record.KindRemoved:
			s.countRemoved(int(number)*removedPerBlock, r.Body)
		case k == record.KindEdgeDelta && int64(number) != withDelta:
			withDelta = int64(number)
			s.deltaNodes++
		}
		return nil //nolint:nilerr // a key without a number is counted alone
	})
	return s, err
}

// countRemoved counts the nodes of a block of removed ones that begins with a node.
func (s *recordScan) countRemoved(first int, block []byte) {
	for i, b := range block {
		if b != 0 {
			s.nodes = max(s.nodes, first+8*i+bits.Len8(b))
			s.removed += bits.OnesCount8(b)
		}
	}
}

// eachRecord calls use with every record whose key begins with prefix, borrowed, and with what is wrong with it.
func (tx *Tx) eachRecord(
	ctx context.Context, prefix []byte, use func(r record.Record, damage error) error,
) error {
	return tx.eachEntry(ctx, prefix, func(it *lsm.Iterator) error {
		r := record.Record{Key: it.Key()}
		value, damage := it.Value()
		if damage == nil {
			r.Body, damage = record.Decode(r.Key, value)
		} else {
			damage = record.Corrupt(r.Key, damage.Error())
		}
		return use(r, damage)
	})
}

// eachEntry calls use at every entry whose key begins with prefix, ascending. Who closes the store waits for it.
func (tx *Tx) eachEntry(ctx context.Context, prefix []byte, use func(it *lsm.Iterator) error) error {
	it := tx.txn.Iterator(prefix, false)
	defer it.Close()
	err := it.Seek(prefix)
	for done := 0; err == nil && it.Valid(); done++ {
		if done%record.ContextEvery == 0 {
			err = errors.Join(ctx.Err(), tx.Err())
		}
		if err == nil {
			err = use(it)
		}
		if err == nil {
			err = it.Next()
		}
	}
	return err
}

// records checks every record by itself: kind, generation, version and checksum.
func (c *checker) records(ctx context.Context) (err error) {
	damaged := func(key []byte, damage error) error { return c.found(record.Describe(key), damage) }
	c.scan, err = c.tx.scan(ctx, c.progress, damaged)
	if err == nil && c.scan.last >= c.tx.cat.Next {
		c.problem("catalogue", "%v", laterCatalogLost(c.tx.cat.Next, c.scan.last))
	}
	return err
}

// count checks how many records of a kind the graph has.
func (c *checker) count(k record.Kind, want int) {
	if got := c.scan.counts[k]; got != int64(want) {
		c.problem(k.String()+"s", "there are %d, want %d", got, want)
	}
}
