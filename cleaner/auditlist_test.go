package cleaner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

func drawList(t *testing.T, s *kv.Store, p Promise, draws int) *AuditList {
	t.Helper()
	must.Do(t, DrawList(context.Background(), s, p, draws))
	return mustAudit(t, s).List(p)
}

// audited is a store with a look of the audit.
func audited(t *testing.T) *kv.Store {
	t.Helper()
	p := newPlanted(8, 300)
	s := p.load(t, true)
	mustClean(t, s, Options{Seed: 2, Imported: AsGiven})
	answer(t, s, "ann", p.truths(t, s), drawAudit(t, s, 25).Draws)
	of := Promise{ListSuspects, 0.2}
	if err := DrawList(context.Background(), s, of, 0); !errors.Is(err, ErrAudit) {
		t.Errorf("scores do not follow the look: %v, want %v", err, ErrAudit)
	}
	must.Get(Rescore(context.Background(), s, RescoreOptions{}))(t)
	return s
}

func (l *AuditList) mustNodes(t *testing.T, s *kv.Store) (set kv.NodeSet) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) (err error) {
		set, err = l.Nodes(tx)
		return err
	})
	return set
}

func TestLists(t *testing.T) {
	s := audited(t)
	before := mustAudit(t, s)
	for _, p := range []Promise{{ListSuspects, 0.5}, {ListTrusted, 0.1}} {
		if mustAudit(t, s).List(p) != nil {
			t.Errorf("%v: there is a list before it was drawn", p)
		}
		wants := mustAudit(t, s).ListDraws(p)
		l := drawList(t, s, p, 0)
		if l.Open != len(l.Draws) || len(l.Draws) != wants || int(l.Labels) <= wants || l.IsKept() || l.HasFailed() {
			t.Fatalf("%v: %+v, want %d open draws", p, l, wants)
		}
		nodes := l.mustNodes(t, s)
		if nodes.Len() != int(l.Labels) {
			t.Errorf("%v: %d nodes, want %d", p, nodes.Len(), l.Labels)
		}
		lowest, highest := 1., 0. // in the list, and outside
		view(t, s, func(tx *kv.Tx) error {
			for v := range kv.NodeID(tx.NumNodes()) {
				score := must.Get(tx.Value(v, ScoreColumn))(t)
				decision := must.Get(tx.Value(v, decide.Column))(t)
				suggestion := must.Get(tx.Value(v, SuggestedColumn))(t)
				label := must.Get(tx.Value(v, kv.LabelColumn))(t)
				good := score.Float()
				if p.Kind == ListTrusted {
					good = 1 - good
				}
				switch {
				case nodes.Has(v) && (score.IsNull() || !decision.IsNull()):
					t.Errorf("%v: node %d is in the list, with score %v and decision %v", p, v, score, decision)
				case nodes.Has(v):
					lowest = min(lowest, good)
				case !score.IsNull() && decision.IsNull() && (p.Kind == ListTrusted || label != suggestion):
					highest = max(highest, good)
				}
			}
			return nil
		})
		if lowest < highest {
			t.Errorf("%v: the list has %v, and not %v", p, lowest, highest)
		}
		if again := drawList(t, s, p, 50); again.number != l.number || len(again.Draws) != len(l.Draws) {
			t.Errorf("%v: an open list was drawn again", p)
		}
		open := mustAudit(t, s).Open("ann")
		for i, d := range l.Draws {
			if !nodes.Has(d.Node) || !slices.Contains(l.Draws, open[i]) {
				t.Errorf("%v: draw %d is node %d, open is %d", p, i, d.Node, open[i].Node)
			}
		}
		for _, d := range l.Draws { // all are good
			request := decide.Request{Node: d.Node, Kind: decide.Reject}
			if p.Kind == ListSuspects {
				request.Kind, request.To = decide.Relabel, map[bool]string{true: "beta", false: "alpha"}[d.Label == "alpha"]
			}
			mustDecide(t, s, decide.Options{Who: "ann"}, request)
		}
		if l = mustAudit(t, s).List(p); l.Open != 0 || l.Good != len(l.Draws) || !l.IsKept() {
			t.Errorf("%v: %+v", p, l)
		}
		if again := drawList(t, s, p, 0); again.number != l.number {
			t.Errorf("%v: a list that is kept was drawn again", p)
		}
		if kept := l.mustNodes(t, s); kept.Len() != nodes.Len() {
			t.Error("answers change the list")
		}
	}
	if a := mustAudit(t, s); a.Look != before.Look || a.Rate != before.Rate || a.High != before.High ||
		len(a.Draws) != 25 {
		t.Errorf("lists move the rate: %+v, want %+v", a, before)
	}
	// A run scores anew: there is a new list.
	mustClean(t, s, Options{Seed: 3, Imported: AsGiven})
	p := Promise{ListTrusted, 0.1}
	if l, old := drawList(t, s, p, 0), mustAudit(t, s).Lists[1]; l.number != 2 || l.Forgiven < old.Forgiven {
		t.Errorf("after a run: %+v, before %+v", l, old)
	}
}

// A list fails where draws are wasted, unsettled or changed by something else, and the next one wants more draws.
func TestListFails(t *testing.T) {
	s := audited(t)
	p := Promise{ListSuspects, 0.1}
	l := drawList(t, s, p, 0)
	first := mustAudit(t, s).ListDraws(p)
	for i, d := range l.Draws[:l.Forgiven+1] {
		mustDecide(t, s, decide.Options{Who: "ann"},
			decide.Request{Node: d.Node, Kind: []decide.Kind{decide.Reject, decide.Unsure}[i%2]})
	}
	a := mustAudit(t, s)
	if l = a.List(p); !l.HasFailed() || l.IsKept() || l.Wasted != l.Forgiven+1 {
		t.Fatalf("%+v, want it failed", l)
	}
	if len(a.Open("ann")) != 0 {
		t.Errorf("%d draws of a list that failed are asked for", len(a.Open("ann")))
	}
	if next := a.ListDraws(p); next <= first {
		t.Errorf("the next list wants %d draws, the first %d", next, first)
	}
	if next := drawList(t, s, p, 0); next.number != 1 || next.Wasted != 0 {
		t.Errorf("%+v, want another list", next)
	}
}

func TestRefusedLists(t *testing.T) {
	ctx := context.Background()
	p := newPlanted(8, 300)
	s := p.load(t, true)
	mustClean(t, s, Options{Seed: 2, Imported: AsGiven})
	of := Promise{ListSuspects, 0.1}
	if err := DrawList(ctx, s, of, 0); !errors.Is(err, ErrAudit) {
		t.Errorf("before the audit: %v", err)
	}
	a := drawAudit(t, s, 25)
	if err := DrawList(ctx, s, of, 0); !errors.Is(err, ErrAudit) {
		t.Errorf("before a look: %v", err)
	}
	answer(t, s, "ann", p.truths(t, s), a.Draws)
	must.Get(Rescore(ctx, s, RescoreOptions{}))(t)
	for _, share := range []float64{0, 0.001, 0.51, -1} {
		if err := DrawList(ctx, s, Promise{ListSuspects, share}, 0); !errors.Is(err, ErrAudit) {
			t.Errorf("a share of %v: %v", share, err)
		}
	}
	for _, draws := range []int{-1, MostListDraws + 1} {
		if err := DrawList(ctx, s, of, draws); !errors.Is(err, ErrAudit) {
			t.Errorf("%d draws: %v", draws, err)
		}
	}
}

// TestNoList has no label that nobody has decided on.
func TestNoList(t *testing.T) {
	s := audited(t)
	var all []decide.Request
	view(t, s, func(tx *kv.Tx) error {
		for v := range kv.NodeID(tx.NumNodes()) {
			all = append(all, decide.Request{Node: v, Kind: decide.Unsure})
		}
		return nil
	})
	mustDecide(t, s, decide.Options{Who: "bob"}, all...)
	const want = "24 draws can show no list of labels that nobody has decided on, and of which at most 0.1 are wasted; " +
		"if there are such labels, ask for more draws, or for a larger share"
	if err := DrawList(t.Context(), s, Promise{ListTrusted, 0.1}, 0); !errors.Is(err, ErrAudit) ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
