package cleaner

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

func mustAudit(t *testing.T, s *kv.Store) (a *Audit) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) (err error) {
		a, err = ReadAudit(context.Background(), tx)
		return err
	})
	return a
}

func drawAudit(t *testing.T, s *kv.Store, size int) *Audit {
	t.Helper()
	must.Do(t, DrawAudit(context.Background(), s, size, 1))
	return mustAudit(t, s)
}

// truths are the true labels by node.
func (p plantedPartition) truths(t *testing.T, s *kv.Store) map[kv.NodeID]string {
	t.Helper()
	truths := map[kv.NodeID]string{}
	view(t, s, func(tx *kv.Tx) error {
		for i, node := range p.nodes {
			truths[must.Get(tx.Node(node.ID))(t)] = p.truth[i]
		}
		return nil
	})
	return truths
}

// answer has a person who knows the truth decide on draws.
func answer(t *testing.T, s *kv.Store, who string, truths map[kv.NodeID]string, draws []AuditDraw) (wrong int) {
	t.Helper()
	for _, d := range draws {
		request := decide.Request{Node: d.Node, Kind: decide.Reject}
		if truths[d.Node] != d.Label {
			request.Kind, request.To = decide.Relabel, truths[d.Node]
			wrong++
		}
		mustDecide(t, s, decide.Options{Who: who}, request)
	}
	return wrong
}

func TestAudit(t *testing.T) {
	p := newPlanted(8, 300)
	s := p.load(t, true)
	ctx := context.Background()
	if err := DrawAudit(ctx, s, 50, 1); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("without a run: %v, want %v", err, kv.ErrNotFound)
	}
	mustClean(t, s, Options{Seed: 2, Imported: AsGiven})
	for _, size := range []int{-1, 0, MostAuditDraws + 1} {
		if err := DrawAudit(ctx, s, size, 1); !errors.Is(err, ErrAudit) {
			t.Errorf("a sample of %d: %v, want %v", size, err, ErrAudit)
		}
	}
	err := s.View(func(tx *kv.Tx) error {
		a, err := ReadAudit(ctx, tx)
		if a != nil {
			t.Errorf("before the first draw: %v", a)
		}
		return err
	})
	must.Do(t, err)
	truths := p.truths(t, s)
	// Two suspects are judged before the first draw: they count as they are, and are not drawn.
	wrongBefore := p.decideByTruth(t, s, 2, decide.Relabel)

	a := drawAudit(t, s, 50)
	if len(a.Draws) != 50 || a.Decided != 0 || a.Look != 0 || a.NextLook != 25 || !math.IsNaN(a.Rate) ||
		a.Found != wrongBefore {
		t.Fatalf("after the first draw: %+v", a)
	}
	var labelled int64
	for _, node := range p.nodes {
		if node.Label != "" {
			labelled++
		}
	}
	if a.Labels != labelled {
		t.Errorf("the rate is of %d labels, want %d", a.Labels, labelled)
	}
	if again := drawAudit(t, s, 30); len(again.Draws) != 50 || again.Draws[49] != a.Draws[49] {
		t.Error("a smaller sample changes the draws")
	}
	first := a.Draws
	wrong := answer(t, s, "ann", truths, first[:24])
	if a = mustAudit(t, s); a.Decided != 24 || a.Look != 0 {
		t.Errorf("24 answers: %d decided, look %d", a.Decided, a.Look)
	}
	wrong += answer(t, s, "bob", truths, first[24:25])
	if a = mustAudit(t, s); a.Look != 25 || a.NextLook != 50 || a.Wrong != wrong || a.Right != 25-wrong {
		t.Errorf("25 answers, %d wrong: %+v", wrong, a)
	}
	if a.Low > a.Rate || a.Rate > a.High || a.Low < 0 || a.High > 1 || a.High-a.Low < 0.05 {
		t.Errorf("rate %v, %v to %v", a.Rate, a.Low, a.High)
	}
	var inClasses int
	for _, c := range a.Classes {
		inClasses += c.Right + c.Wrong
	}
	if inClasses != 25 {
		t.Errorf("%d answers by class, want 25", inClasses)
	}
	lookAt25 := *a

	// What is decided between looks moves nothing.
	answer(t, s, "ann", truths, first[25:40])
	if a = mustAudit(t, s); a.Decided != 40 || a.Rate != lookAt25.Rate || a.High != lookAt25.High {
		t.Errorf("40 answers: %+v, want the look at 25", a)
	}
	// An undo opens a draw again, and the look with it.
	mustUndo(t, s, 16)
	if a = mustAudit(t, s); a.Decided != 24 || a.Look != 0 || len(a.Open("ann")) != 26 {
		t.Errorf("after an undo: %d decided, look %d", a.Decided, a.Look)
	}
	answer(t, s, "ann", truths, first[24:25])

	// Whoever is unsure or disagrees answers nothing: the interval grows on both sides.
	mustDecide(t, s, decide.Options{Who: "ann"}, decide.Request{Node: first[3].Node, Kind: decide.Unsure})
	other := "alpha"
	if truths[first[4].Node] == other {
		other = "beta"
	}
	mustDecide(t, s, decide.Options{Who: "bob"}, decide.Request{Node: first[4].Node, Kind: decide.Relabel, To: other})
	a = mustAudit(t, s)
	if a.Look != 25 || a.Right+a.Wrong != 23 || a.High <= lookAt25.High {
		t.Errorf("two unsettled: %+v, want wider than %+v", a, lookAt25)
	}
	if a.Draws[3].Judgement != decide.Unsettled || a.Draws[4].Judgement != decide.Unsettled {
		t.Errorf("%v and %v, want unsettled", a.Draws[3].Judgement, a.Draws[4].Judgement)
	}

	// A label that is taken away is neither right nor wrong.
	right, found := a.Right, a.Found
	at := slices.IndexFunc(first[:25], func(d AuditDraw) bool { return truths[d.Node] == d.Label })
	mustDecide(t, s, decide.Options{Who: "ann"}, decide.Request{Node: first[at].Node, Kind: decide.Unlabel})
	if a = mustAudit(t, s); a.Right != right-1 || a.Found != found || a.Draws[at].Judgement != decide.Unsettled {
		t.Errorf("a right label is taken away: %+v, want %d right and %d found", a, right-1, found)
	}
}

func TestAuditOfAll(t *testing.T) {
	p := newPlanted(8, 60)
	s := p.load(t, true)
	mustClean(t, s, Options{Seed: 2, Imported: AsGiven})
	truths := p.truths(t, s)
	a := drawAudit(t, s, MostAuditDraws)
	if int64(len(a.Draws)) != a.Labels {
		t.Fatalf("%d draws of %d labels", len(a.Draws), a.Labels)
	}
	wrong := answer(t, s, "", truths, a.Draws)
	a = mustAudit(t, s)
	want := float64(wrong) / float64(a.Labels)
	if a.Look != len(a.Draws) || a.NextLook != a.Look || math.Abs(a.Low-want) > 1e-12 || math.Abs(a.High-want) > 1e-12 ||
		a.Left() > 1e-9 {
		t.Errorf("all are looked at: %+v, want a rate of %v", a, want)
	}
	must.Do(t, DrawAudit(context.Background(), s, 10, 1))
	must.Do(t, s.Update(func(tx *kv.Tx) error { return tx.Documents(auditSpace).Delete(auditKey) }))
	if err := DrawAudit(context.Background(), s, 10, 1); !errors.Is(err, ErrAudit) {
		t.Errorf("all labels are judged: %v, want %v", err, ErrAudit)
	}
}

func TestAuditOfGraphThatChanges(t *testing.T) {
	p := newPlanted(8, 100)
	s := p.load(t, true)
	mustClean(t, s, Options{Seed: 2, Imported: AsGiven})
	truths := p.truths(t, s)
	a := drawAudit(t, s, 50)
	gone, changed, judged := a.Draws[0], a.Draws[1], a.Draws[2]
	answer(t, s, "", truths, []AuditDraw{judged})
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		other := "alpha"
		if changed.Label == other {
			other = "beta"
		}
		_, err := tx.AddNode(kv.Node{ID: "new", Label: "alpha"})
		return errors.Join(err, tx.RemoveNode(gone.Node), tx.SetLabel(changed.Node, other))
	}))
	a = mustAudit(t, s)
	if len(a.Draws) != 48 || a.Draws[0].Node != judged.Node || a.Decided != 1 || a.Since != 1 {
		t.Errorf("%d draws, the first is node %d, %d decided, %d labels since; want 48, %d, 1, 1",
			len(a.Draws), a.Draws[0].Node, a.Decided, a.Since, judged.Node)
	}
	found := a.Found
	mustDecide(t, s, decide.Options{}, decide.Request{Node: kv.NodeID(len(p.nodes)), Kind: decide.Relabel, To: "beta"})
	if now := mustAudit(t, s).Found; now != found {
		t.Errorf("a wrong label that came since: %d are found, want %d", now, found)
	}
	answer(t, s, "", truths, a.Draws[1:])
	if a = mustAudit(t, s); a.Look != 25 || a.Decided != 48 {
		t.Errorf("look %d of %d decided, want 25 of 48", a.Look, a.Decided)
	}
	// As many draws as the next look wants bring it.
	if a.NextLook != 50 {
		t.Fatalf("the next look is at %d, want 50", a.NextLook)
	}
	a = drawAudit(t, s, a.NextLook)
	answer(t, s, "", truths, a.Open(""))
	if a = mustAudit(t, s); a.Look != 50 || len(a.Draws) != 50 {
		t.Fatalf("look %d of %d draws, want 50 of 50", a.Look, len(a.Draws))
	}
	// Removed nodes leave the audit. As many draws as the next look wants bring the look again.
	draws := a.Draws
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		return errors.Join(tx.RemoveNode(draws[7].Node), tx.RemoveNode(draws[30].Node))
	}))
	if a = mustAudit(t, s); a.Look != 25 || a.NextLook != 50 || len(a.Draws) != 48 {
		t.Fatalf("look %d, then %d, of %d draws, want 25, 50, 48", a.Look, a.NextLook, len(a.Draws))
	}
	a = drawAudit(t, s, a.NextLook)
	answer(t, s, "", truths, a.Open(""))
	if a = mustAudit(t, s); a.Look != 50 || len(a.Draws) != 50 {
		t.Errorf("look %d of %d draws, want 50 of 50", a.Look, len(a.Draws))
	}
	if run := rescored(t, s); run.Look != 50 || run.MislabelRate != a.Rate {
		t.Errorf("scores follow look %d and a rate of %v, want 50 and %v", run.Look, run.MislabelRate, a.Rate)
	}
}

// TestOrdersOfPeople has people who are asked for what the next look needs, each in another order.
func TestOrdersOfPeople(t *testing.T) {
	p := newPlanted(9, 1200)
	s := p.load(t, true)
	mustClean(t, s, Options{Seed: 2, Imported: AsGiven})
	draws := drawAudit(t, s, 100).Draws
	people := []string{"", "ann", "bob", "cem", "dora", "eve", "user1", "user2"}
	orders := map[string][]AuditDraw{}
	for _, who := range people {
		order := mustAudit(t, s).Open(who)
		for _, look := range [][2]int{{0, 25}, {25, 50}, {50, 100}} {
			for _, d := range draws[look[0]:look[1]] {
				if !slices.Contains(order[look[0]:look[1]], d) {
					t.Errorf("%q: node %d is not among draws %d to %d", who, d.Node, look[0], look[1])
				}
			}
		}
		orders[who] = order
	}
	for i, who := range people {
		for _, other := range people[:i] {
			same := 0
			for at, d := range orders[who] {
				if orders[other][at] == d {
					same++
				}
			}
			if same > 15 { // 3 of 100 where chance decides
				t.Errorf("%q and %q see the same draw %d times", who, other, same)
			}
		}
	}
	answer(t, s, "bob", p.truths(t, s), orders["bob"][:10])
	left := slices.DeleteFunc(orders["ann"], func(d AuditDraw) bool { return slices.Contains(orders["bob"][:10], d) })
	if got := mustAudit(t, s).Open("ann"); !slices.Equal(got, left) {
		t.Errorf("after answers of bob: got %v, want %v", got, left)
	}
}
