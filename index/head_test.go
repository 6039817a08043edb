package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// storeWithHead has n nodes, at most 65,536 and no multiple of 7, with ids of text, and scores that fall in an order of
// their own, with an index. Score, suggestion and confidence are blocks.
func storeWithHead(t *testing.T, n int) *kv.Store {
	t.Helper()
	s := open(t, loadLabelled(t, n))
	bulk := must.Get(s.Bulk(context.Background()))(t)
	defer bulk.Abort()
	score, err := bulk.Column("score", kv.KindSingle)
	suggested, err2 := bulk.Column("suggested", kv.KindClass)
	confidence, err3 := bulk.Column("confidence", kv.KindSingle)
	byScore, err4 := NewBuilder(bulk, "score")
	must.Do(t, errors.Join(err, err2, err3, err4))
	for v := range kv.NodeID(n) {
		x := kv.ValueOf(float64(int(v)*7%n) / (1 << 16))
		class := kv.ValueOf(fmt.Sprint("class ", v%5))
		sure := kv.ValueOf(float64(v) / (1 << 16))
		must.Do(t, errors.Join(score.Put(v, x), byScore.Add(v, x), suggested.Put(v, class), confidence.Put(v, sure)))
	}
	must.Do(t, byScore.Finish())
	must.Do(t, bulk.Commit(byScore.Mark))
	return s
}

// highest asks for the n nodes with the highest scores whose label is not suggested. It returns how many of their
// properties the plan knows, and fails if one of them is not the value that the store has.
func highest(t *testing.T, s *kv.Store, n int) (known int) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		plan := must.Get(NewPlan(tx, Query{
			Where: And{Terms: []Predicate{
				Compare{"score", Ge, kv.ValueOf(0.0)}, CompareProperties{Property: "label", Op: Ne, Other: "suggested"},
			}},
			Order: []Order{{Property: "score", Descending: true}}, Limit: n,
		}))(t)
		for v, err := range plan.Rows(t.Context()) {
			must.Do(t, err)
			for _, property := range headProperties["score"] {
				got, ok := plan.Known(v, property)
				if !ok {
					continue
				}
				known++
				if want := must.Get(tx.Value(v, property))(t); got != want {
					t.Errorf("%s of node number %d: got the copy %v, want %v", property, v, got, want)
				}
			}
		}
		return nil
	})
	return known
}

// replaceLabels writes the labels of all n nodes in bulk, so that copies of them are of no use.
func replaceLabels(t *testing.T, s *kv.Store, n int) {
	t.Helper()
	bulk := must.Get(s.Bulk(context.Background()))(t)
	defer bulk.Abort()
	labels, err := bulk.Column("label", kv.KindClass)
	for v := range kv.NodeID(n) {
		err = errors.Join(err, labels.Put(v, kv.ValueOf("other")))
	}
	must.Do(t, errors.Join(err, bulk.Commit(nil)))
}

// TestHeadFollowsChanges changes labels, scores and nodes in all ways: known values are those of the store. The fewer
// have changed, the more are known.
func TestHeadFollowsChanges(t *testing.T) {
	t.Parallel()
	s := storeWithHead(t, 2000)
	knows := func(after string, want int) {
		t.Helper()
		if got := highest(t, s, 40); got != want {
			t.Errorf("after %s: got %d known properties of 40 nodes, want %d", after, got, want)
		}
		mustBeSound(t, s)
	}
	knows("the build", 40*4) // there is no decision
	var top []kv.NodeID
	view(t, s, func(tx *kv.Tx) error {
		for g, err := range openPostings(tx, "score").descend(wholeRange(kv.KindFloat)) {
			if top = append(top, g.nodes...); err != nil || len(top) > 30 {
				return err
			}
		}
		return nil
	})
	update(t, s, func(tx *kv.Tx) error {
		return errors.Join(
			tx.SetLabel(top[0], "new"), tx.SetLabel(top[1], ""), tx.SetValue(top[2], "suggested", kv.ValueOf("other")),
			tx.SetValue(top[3], "score", kv.ValueOf(0.001)), tx.SetValue(7, "score", kv.ValueOf(0.9999)), tx.RemoveNode(top[4]),
			tx.AddColumn("decision", kv.KindString), tx.SetValue(top[5], "decision", kv.ValueOf("unsure")),
		)
	})
	// Node 7, which has no copies, is the first. The labels of two nodes have changed, of which the one without a label
	// is no answer.
	knows("changes", 39*4-2)
	must.Do(t, s.Compact(t.Context(), nil))
	knows("compacting the store", 0)
	must.Do(t, Compact(t.Context(), s))
	knows("compacting the indexes", 40*5)
	replaceLabels(t, s, 2000)
	knows("labels in bulk", 40*4)
	update(t, s, CopyHeads)
	knows("copying again", 40*5)
}

// TestHeadIsReadAndChecked changes a copy behind the store's back: a question reads it, Check tells it, and Repair
// mends it.
func TestHeadIsReadAndChecked(t *testing.T) {
	t.Parallel()
	s := storeWithHead(t, 2000)
	changeHead(t, s, func(body []byte) []byte { return bytes.Replace(body, []byte("class"), []byte("glass"), 1) })
	if got := problems(t, s); len(got) != 1 || !strings.HasPrefix(got[0], "index on score: ") {
		t.Errorf("got %v, want one problem of the index on score", got)
	}
	must.Do(t, Repair(t.Context(), s, func(kv.Correction) {}))
	mustBeSound(t, s)
}

// changeHead changes the first record of copies.
func changeHead(t *testing.T, s *kv.Store, change func([]byte) []byte) {
	t.Helper()
	update(t, s, func(tx *kv.Tx) error {
		space := tx.Space(headSpace("score"))
		body := must.Get(space.Get(recordKey(0)))(t)
		changed := change(body)
		if bytes.Equal(changed, body) {
			return errors.New("nothing was changed")
		}
		return space.Put(recordKey(0), changed)
	})
}

// TestDamagedHead cuts the copies short: questions do not need them.
func TestDamagedHead(t *testing.T) {
	t.Parallel()
	s := storeWithHead(t, 2000)
	before := highest(t, s, 2000)
	changeHead(t, s, func(body []byte) []byte { return body[:len(body)/2] })
	if got := highest(t, s, 2000); got == 0 || got >= before {
		t.Errorf("got %d known properties of the %d before the damage, want some", got, before)
	}
	mustBeSound(t, s)
}

// TestHeadOfSmallStores has fewer nodes than one in headShare, and none.
func TestHeadOfSmallStores(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{0: 0, 1: 1, 10: 1} {
		s := storeToDamage(t, n)
		update(t, s, func(tx *kv.Tx) error {
			err := tx.AddColumn("score", kv.KindSingle)
			for v := range kv.NodeID(n) {
				err = errors.Join(err, tx.SetValue(v, "score", kv.ValueOf(float64(v)/16)))
			}
			return err
		})
		must.Do(t, Create(t.Context(), s, "score"))
		mustBeSound(t, s)
		view(t, s, func(tx *kv.Tx) error {
			h := openHead(tx, "score")
			if err := h.read(headNodes); err != nil || len(h.rows) != want {
				t.Errorf("%d nodes: got copies of %d rows, want %d, %v", n, len(h.rows), want, err)
			}
			return nil
		})
	}
}

// TestCompactAgain compacts a store in which nothing has changed.
func TestCompactAgain(t *testing.T) {
	t.Parallel()
	s := storeWithHead(t, 2000)
	for range 3 {
		must.Do(t, Compact(t.Context(), s))
		if got := highest(t, s, 40); got != 40*4 {
			t.Errorf("got %d known properties, want those of 40 nodes", got)
		}
		mustBeSound(t, s)
	}
}
