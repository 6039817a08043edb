package index

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// storeWithHead has n nodes, at most 65,536 and no multiple of 7, with ids of text, and scores that fall in an order of their own, with an
// index. Score, suggestion and confidence are blocks.
func storeWithHead(t *testing.T, n int) *kv.Store {
	t.Helper()
	s := open(t, loadLabelled(t, n))
	bulk := must.Get(s.Bulk())(t)
	defer bulk.Abort()
	score, err := bulk.Column("score", kv.KindSingle)
	suggested, err2 := bulk.Column("suggested", kv.KindClass)
	confidence, err3 := bulk.Column("confidence", kv.KindSingle)
	byScore, err4 := NewBuilder(bulk, "score")
	must.Do(t, errors.Join(err, err2, err3, err4))
	for v := range kv.NodeID(n) {
		x := kv.FloatValue(float64(int(v)*7%n) / (1 << 16))
		class := kv.StringValue(fmt.Sprint("class ", v%5))
		sure := kv.FloatValue(float64(v) / (1 << 16))
		must.Do(t, errors.Join(score.Put(v, x), byScore.Add(v, x), suggested.Put(v, class), confidence.Put(v, sure)))
	}
	must.Do(t, byScore.Finish())
	must.Do(t, bulk.Commit(byScore.Mark))
	return s
}

// highest asks for the n nodes with the highest scores whose label is not suggested, so that copies of them are lent, and tells what then is read of
// them beside what a snapshot without copies reads.
func highest(t *testing.T, s *kv.Store, n int) (got, want string) {
	t.Helper()
	properties := []string{"label", "suggested", "confidence", "score", "id"}
	view(t, s, func(tx *kv.Tx) error {
		plan := must.Get(NewPlan(tx, Query{
			Where: And{Terms: []Predicate{
				Compare{"score", Ge, kv.FloatValue(0)}, CompareProperties{Property: "label", Op: Ne, Other: "suggested"},
			}},
			Order: []Order{{Property: "score", Descending: true}}, Limit: n,
		}))(t)
		var nodes []kv.NodeID
		for v, err := range plan.Rows(t.Context()) {
			must.Do(t, err)
			nodes = append(nodes, v)
		}
		read := func(tx *kv.Tx) (text string) {
			places, err := tx.Places()
			for _, v := range nodes {
				text += fmt.Sprint(v)
				for _, property := range properties {
					r, err2 := tx.Reader(property)
					if err2 != nil {
						return err2.Error()
					}
					value, err2 := r.At(v)
					text += fmt.Sprint(" ", value)
					err = errors.Join(err, err2)
				}
				id, err2 := places.Copied(v)
				if err2 == nil && id.IsNull() {
					id, err2 = tx.Value(v, "id")
				}
				text += fmt.Sprintln("", id)
				err = errors.Join(err, err2)
			}
			if err != nil {
				return err.Error()
			}
			return text
		}
		got = read(tx)
		view(t, s, func(tx *kv.Tx) error { want = read(tx); return nil })
		return nil
	})
	return got, want
}

// replaceLabels writes the labels of all n nodes in bulk, so that copies of them are of no use.
func replaceLabels(t *testing.T, s *kv.Store, n int) {
	t.Helper()
	bulk := must.Get(s.Bulk())(t)
	defer bulk.Abort()
	labels, err := bulk.Column("label", kv.KindClass)
	for v := range kv.NodeID(n) {
		err = errors.Join(err, labels.Put(v, kv.StringValue("other")))
	}
	must.Do(t, errors.Join(err, bulk.Commit(nil)))
}

// mustHaveHead fails unless the copies of the index on score are, or are not, of what the store holds.
func mustHaveHead(t *testing.T, s *kv.Store, want bool) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		current, err := openPostings(tx, "score").headIsCurrent(tx)
		if current != want {
			t.Errorf("the copies are of what the store holds: got %v, want %v", current, want)
		}
		return err
	})
}

// TestHeadFollowsChanges changes labels, scores and nodes in all ways: what is read by copies is what the store holds.
func TestHeadFollowsChanges(t *testing.T) {
	t.Parallel()
	s := storeWithHead(t, 2000)
	same := func(after string) {
		t.Helper()
		if got, want := highest(t, s, 40); got != want || got == "" {
			t.Errorf("after %s: got\n%swant\n%s", after, got, want)
		}
		mustBeSound(t, s)
	}
	same("the build")
	mustHaveHead(t, s, true)
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
			tx.SetLabel(top[0], "new"), tx.SetLabel(top[1], ""), tx.SetValue(top[2], "suggested", kv.StringValue("other")),
			tx.SetValue(top[3], "score", kv.FloatValue(0.001)), tx.SetValue(7, "score", kv.FloatValue(0.9999)), tx.RemoveNode(top[4]),
			tx.AddColumn("decision", kv.KindString), tx.SetValue(top[5], "decision", kv.StringValue("unsure")),
		)
	})
	same("changes")
	mustHaveHead(t, s, false) // there is no copy of decision
	must.Do(t, s.Compact(t.Context(), nil))
	same("compacting the store")
	mustHaveHead(t, s, false)
	must.Do(t, Compact(t.Context(), s))
	same("compacting the indexes")
	mustHaveHead(t, s, true)
	replaceLabels(t, s, 2000)
	same("labels in bulk")
	mustHaveHead(t, s, false)
	update(t, s, CopyHeads)
	same("copying again")
	mustHaveHead(t, s, true)
}

// TestHeadIsReadAndChecked changes a copy behind the store's back: a question reads it, Check tells it, and Repair mends it.
func TestHeadIsReadAndChecked(t *testing.T) {
	t.Parallel()
	s := storeWithHead(t, 2000)
	update(t, s, func(tx *kv.Tx) error {
		p := openPostings(tx, "score")
		for e, err := range p.space.Descend(nil) {
			if err != nil || e.Key[0] != headPrefix {
				return errors.Join(err, fmt.Errorf("the last record is %q, want a copy", e.Key))
			}
			return p.space.Put(bytes.Clone(e.Key), bytes.ReplaceAll(e.Value, []byte("n1"), []byte("x1")))
		}
		return nil
	})
	got, want := highest(t, s, 1)
	if got == want || got != strings.ReplaceAll(want, " n1", " x1") {
		t.Errorf("got %q, want the changed copy of %q", got, want)
	}
	mustHaveOneProblem(t, s)
	must.Do(t, Repair(t.Context(), s, func(kv.Correction) {}))
	if got, want := highest(t, s, 1); got != want {
		t.Errorf("after the repair: got %q, want %q", got, want)
	}
}

// mustHaveOneProblem wants Check to tell one problem, of the index on score.
func mustHaveOneProblem(t *testing.T, s *kv.Store) {
	t.Helper()
	if got := problems(t, s); len(got) != 1 || !strings.HasPrefix(got[0], "index on score: ") {
		t.Errorf("got %v, want one problem of the index on score", got)
	}
}

// TestDamagedHead cuts the copies short: questions, and what writes copies anew, do not need them.
func TestDamagedHead(t *testing.T) {
	t.Parallel()
	s := storeWithHead(t, 2000)
	cut := func() {
		t.Helper()
		update(t, s, func(tx *kv.Tx) error {
			p := openPostings(tx, "score")
			for e, err := range p.space.Ascend([]byte{headPrefix}) {
				must.Do(t, err)
				return p.space.Put(bytes.Clone(e.Key), bytes.Clone(e.Value[:len(e.Value)-1]))
			}
			return errors.New("there are no copies")
		})
	}
	cut()
	if got, want := highest(t, s, 2000); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	mustHaveOneProblem(t, s)
	replaceLabels(t, s, 2000)
	update(t, s, CopyHeads)
	mustHaveHead(t, s, true)
	mustBeSound(t, s)
}

// TestHeadOfSmallStores has fewer nodes than one in headShare, and none.
func TestHeadOfSmallStores(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 10} {
		s := storeToDamage(t, n)
		update(t, s, func(tx *kv.Tx) error {
			err := tx.AddColumn("score", kv.KindSingle)
			for v := range kv.NodeID(n) {
				err = errors.Join(err, tx.SetValue(v, "score", kv.FloatValue(float64(v)/16)))
			}
			return err
		})
		must.Do(t, Create(t.Context(), s, "score"))
		mustBeSound(t, s)
		mustHaveHead(t, s, true) // of no entries, if there are none
	}
}
