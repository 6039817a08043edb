package decide

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/logged"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestRepair damages the history of a store in many ways. Afterwards it can be read, and every node has the label and
// decision that it had.
func TestRepair(t *testing.T) {
	ctx := context.Background()
	for name, damage := range map[string]func(tx *kv.Tx, v kv.NodeID) error{
		"entry": func(tx *kv.Tx, _ kv.NodeID) error { return tx.Space(historySpace).Delete(entryKey(2)) },
		"entry and its node": func(tx *kv.Tx, v kv.NodeID) error {
			return errors.Join(tx.Space(historySpace).Delete(entryKey(2)), tx.Space(historySpace).Delete(nodeKey(v+1, 2)))
		},
		"entry taken back, and its node": func(tx *kv.Tx, v kv.NodeID) error {
			return errors.Join(tx.Space(historySpace).Delete(entryKey(3)), tx.Space(historySpace).Delete(nodeKey(v, 3)))
		},
		"entry of two nodes": func(tx *kv.Tx, v kv.NodeID) error {
			return errors.Join(tx.Space(historySpace).Delete(entryKey(3)), tx.Space(historySpace).Put(nodeKey(v+2, 3), nil))
		},
		"last entry of two nodes": func(tx *kv.Tx, v kv.NodeID) error {
			return errors.Join(tx.Space(historySpace).Delete(entryKey(5)), tx.Space(historySpace).Put(nodeKey(v+2, 5), nil))
		},
		"key far behind": func(tx *kv.Tx, v kv.NodeID) error { return tx.Space(historySpace).Put(nodeKey(v, 9), nil) },
		"key of no entry": func(tx *kv.Tx, v kv.NodeID) error {
			return errors.Join(tx.Space(historySpace).Put(nodeKey(v, 0), nil), tx.Space(historySpace).Put(nodeKey(1<<20, 3), nil))
		},
		"first entries": func(tx *kv.Tx, _ kv.NodeID) error {
			return errors.Join(tx.Space(historySpace).Delete(entryKey(1)), tx.Space(historySpace).Delete(entryKey(2)))
		},
		"last entry": func(tx *kv.Tx, _ kv.NodeID) error { return tx.Space(historySpace).Delete(entryKey(5)) },
		"body": func(tx *kv.Tx, _ kv.NodeID) error {
			return tx.Space(historySpace).Put(entryKey(3), []byte{historyForm})
		},
		"key":          func(tx *kv.Tx, _ kv.NodeID) error { return tx.Space(historySpace).Put([]byte("Dx"), []byte{9}) },
		"node's key":   func(tx *kv.Tx, _ kv.NodeID) error { return tx.Space(historySpace).Put([]byte("N"), nil) },
		"node's entry": func(tx *kv.Tx, v kv.NodeID) error { return tx.Space(historySpace).Delete(nodeKey(v, 3)) },
		"another's entry": func(tx *kv.Tx, v kv.NodeID) error {
			return tx.Space(historySpace).Put(nodeKey(v+1, 3), nil)
		},
		"label":    func(tx *kv.Tx, v kv.NodeID) error { return tx.SetLabel(v, "") },
		"decision": func(tx *kv.Tx, v kv.NodeID) error { return tx.SetValue(v, Column, kv.ValueOf("accept")) },
		"decision without entry": func(tx *kv.Tx, v kv.NodeID) error {
			return tx.SetValue(v+5, Column, kv.ValueOf("unsure"))
		},
	} {
		s := loaded(t, 12, 60)
		v := kv.NodeID(0)
		for states(t, s)[v].label == "" || states(t, s)[v+1].label == "" {
			v++
		}
		opt := Options{Now: at(noon)}
		mustDecide(t, s, opt, Request{Node: v, Kind: Relabel, To: "beta"}, Request{Node: v + 1, Kind: Reject})
		mustDecide(t, s, opt, Request{Node: v, Kind: Relabel, To: "gamma"})
		mustUndo(t, s, 1)
		mustDecide(t, s, opt, Request{Node: v, Kind: Unsure})
		want := states(t, s)
		if err := s.Update(func(tx *kv.Tx) error { return damage(tx, v) }); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if problems := historyProblems(t, s); len(problems) == 0 {
			t.Errorf("%s: Check finds no damage", name)
		}
		var done []kv.Correction
		if err := Repair(ctx, s, func(m kv.Correction) { done = append(done, m) }); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if problems := historyProblems(t, s); len(problems) > 0 {
			t.Errorf("%s: after the repair, which did %v: %v", name, done, problems)
		}
		got := states(t, s)
		if name == "entry and its node" { // nothing says what it was about
			delete(got, v+1)
			delete(want, v+1)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: after the repair, which did %v: got %v, want %v", name, done, got, want)
		}
		if len(done) == 0 {
			t.Errorf("%s: the repair told nothing", name)
		}
		mustUndo(t, s, 1)
		if problems := historyProblems(t, s); len(problems) > 0 {
			t.Errorf("%s: after an undo: %v", name, problems)
		}
		err := Repair(ctx, s, func(m kv.Correction) { t.Errorf("%s: repairing again did %v", name, m) })
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRepairOfLostNodes has the history of a store in one that lost the nodes which were added last: the node of a
// decision is there again, with it, and no entry is made up.
func TestRepairOfLostNodes(t *testing.T) {
	s := loaded(t, 12, 60)
	lost := loaded(t, 12, 60)
	last := kv.NodeID(0)
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		for i := range 3 {
			last = must.Get(tx.AddNode(kv.Node{ID: fmt.Sprint("added-", i), Label: "alpha"}))(t)
		}
		return nil
	}))
	opt := Options{Now: at(noon)}
	mustDecide(t, s, opt, Request{Node: last, Kind: Relabel, To: "beta"})
	mustDecide(t, s, opt, Request{Node: 3, Kind: Unsure})
	want := historyOf(t, s, kv.NoNode)
	must.Do(t, lost.Update(func(tx *kv.Tx) error {
		copied := tx.Space(historySpace)
		must.Do(t, copied.KeepTwice())
		return s.View(func(from *kv.Tx) error {
			for e, err := range from.Space(historySpace).Ascend(nil) {
				must.Do(t, errors.Join(err, copied.Put(slices.Clone(e.Key), slices.Clone(e.Value))))
			}
			return nil
		})
	}))
	var done []kv.Correction
	must.Do(t, Repair(t.Context(), lost, func(m kv.Correction) { done = append(done, m) }))
	if got := historyOf(t, lost, kv.NoNode); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after the repair, which did %v: got %v, want %v", done, got, want)
	}
	all, wanted := states(t, lost), states(t, s)
	if all[last] != wanted[last] || all[3] != wanted[3] || len(all) != 61 {
		t.Errorf("after the repair, which did %v: got %d nodes with %v and %v, want 61 with %v and %v",
			done, len(all), all[last], all[3], wanted[last], wanted[3])
	}
	mustEndTrue(t, lost)
}

// decidedSteps are decisions on the nodes of a store, for a history of some length: single ones, among them many about
// node 0, and those of many nodes at once.
func decidedSteps(r *rand.Rand, nodes, single, rounds int) (steps []decisionStep) {
	request := func(v int) Request {
		if r.IntN(2) == 0 {
			return Request{Node: kv.NodeID(v), Kind: Unsure}
		}
		return Request{Node: kv.NodeID(v), Kind: Relabel, To: []string{"alpha", "beta", "gamma"}[r.IntN(3)]}
	}
	for i := range single {
		opt := Options{Who: "a", Now: at(noon.Add(time.Duration(i) * time.Second))}
		steps = append(steps, decisionStep{Options: opt, Requests: []Request{request(r.IntN(2) * r.IntN(nodes))}})
	}
	for range rounds {
		step := decisionStep{Options: Options{Who: "b", Now: at(noon.Add(time.Hour))}}
		for v := range nodes {
			step.Requests = append(step.Requests, request(v))
		}
		steps = append(steps, step)
	}
	return steps
}

// lose removes entries, and every tenth of their keys by node.
func lose(t *testing.T, s *kv.Store, lost []Decision) {
	t.Helper()
	for some := range slices.Chunk(lost, 1000) {
		must.Do(t, s.Update(func(tx *kv.Tx) error {
			space := tx.Space(historySpace)
			for _, d := range some {
				must.Do(t, space.Delete(entryKey(d.Seq)))
				if d.Seq%10 == 0 {
					must.Do(t, space.Delete(nodeKey(d.Node, d.Seq)))
				}
			}
			return nil
		}))
	}
}

// TestRepairInParts stops a repair behind each of its commits, and runs it again. It ends with the same as one that was
// not stopped, at once or in parts of another size, and tells of entries only when they are there.
func TestRepairInParts(t *testing.T) {
	const nodes = 30
	var want []string
	for _, test := range []struct {
		name   string
		atOnce int
		stop   bool
	}{
		{"at once", 1000, false}, {"in sevens", 7, false}, {"stopped in sevens", 7, true}, {"stopped one by one", 1, true},
	} {
		stop := func() {}
		s, err := index.Open(loadDir(t, 34, nodes), kv.Options{MemoryBudget: 64 << 20, Logger: logged.To(func(what string, attrs map[string]any) {
			if what == "commit" && attrs["records"] != int64(0) {
				stop()
			}
		})})
		must.Do(t, err)
		r := rand.New(rand.NewPCG(34, 0))
		must.Get(decideSteps(t.Context(), s, decidedSteps(r, nodes, 80, 2)))(t)
		must.Get(Undo(t.Context(), s, 12, Options{Now: at(noon.Add(2 * time.Hour))}, nil))(t)
		made := historyOf(t, s, kv.NoNode)
		lost := slices.DeleteFunc(slices.Clone(made), func(d Decision) bool {
			return r.IntN(2) == 0 && (d.Seq < 30 || d.Seq > 45) || int(d.Seq) == len(made) // which nothing else tells of
		})
		lose(t, s, lost)
		err = s.Update(func(tx *kv.Tx) error {
			if err := tx.Space(historySpace).Delete(nodeKey(made[99].Node, 100)); err != nil {
				return err
			}
			for v := range kv.NodeID(nodes) {
				if err := errors.Join(tx.SetValue(v, Column, kv.Value{}), tx.Space(historySpace).Put(nodeKey(v, 40), nil)); err != nil {
					return err
				}
			}
			return nil
		})
		must.Do(t, err)
		reported := map[string]int{}
		tell := func(m kv.Correction) {
			var seq int64
			if _, err := fmt.Sscanf(m.What, "entry %d is missing", &seq); err != nil {
				return
			}
			reported[m.What]++
			view(t, s, func(tx *kv.Tx) error {
				_, err := readDecision(tx, seq)
				return err
			})
		}
		runs := 0
		for err = context.Canceled; errors.Is(err, context.Canceled); runs++ {
			ctx, cancel := context.WithCancel(t.Context())
			if test.stop {
				stop = cancel
			}
			one := historyRepair{store: s, report: tell, atOnce: test.atOnce}
			err = one.run(ctx)
			stop = func() {}
			cancel()
		}
		if err != nil || test.stop != (runs > 10) {
			t.Fatalf("%s: got %v after %d runs", test.name, err, runs)
		}
		mustEndTrue(t, s)
		if len(reported) != len(lost) {
			t.Errorf("%s: got %d entries told of, want %d", test.name, len(reported), len(lost))
		}
		got := []string{fmt.Sprint(states(t, s))}
		for _, d := range historyOf(t, s, kv.NoNode) {
			got = append(got, fmt.Sprintf("%+v", d))
		}
		if want == nil {
			want = got
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%s: got\n%s\nwant\n%s", test.name, got[i], want[i])
			}
		}
		mustEndSound(t, s)
		must.Do(t, s.Close())
	}
}
