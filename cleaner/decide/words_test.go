package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// peopleOf joins the values of the columns for a node: the label, the decision, who has decided, and "disputed".
func peopleOf(t *testing.T, s *kv.Store, v kv.NodeID) string {
	t.Helper()
	var parts []string
	view(t, s, func(tx *kv.Tx) error {
		for _, column := range []string{kv.LabelColumn, Column, DecidedByColumn, DisputedColumn} {
			value := must.Get(valueOrNull(tx, v, column))(t)
			text := value.String()
			if column == DisputedColumn && value.Bool() {
				text = "disputed"
			}
			parts = append(parts, text)
		}
		return nil
	})
	return strings.TrimSpace(strings.Join(parts, " "))
}

// decideWords has people decide about a node with the label alpha, in the words of TestDisputes.
func decideWords(t *testing.T, s *kv.Store, words string) (v kv.NodeID) {
	t.Helper()
	for node, state := range states(t, s) {
		if state.Label == "alpha" {
			v = node
		}
	}
	for _, word := range strings.Fields(words) {
		if word == "~" {
			mustUndo(t, s, 1)
			continue
		}
		who, label, _ := strings.Cut(word, ":")
		opt := Options{Who: who}
		if label, found := strings.CutSuffix(label, "!"); found {
			opt.Why = "seen " + label
		}
		request := Request{Node: v, Kind: Relabel, To: strings.TrimSuffix(label, "!")}
		switch request.To {
		case "?":
			request.Kind, request.To = Unsure, ""
		case "-":
			request.Kind, request.To = Unlabel, ""
		case "=":
			request.Kind, request.To = Reject, ""
		}
		mustDecide(t, s, opt, request)
	}
	return v
}

// TestDisputes has people decide about one node in turn. Each word is NAME:LABEL, with ! after it for a reason; -
// unlabels, ? is unsure, ~ is an undo. The node has the label alpha. Some tell which words count at the end.
func TestDisputes(t *testing.T) {
	for _, test := range []struct{ words, want, count string }{
		{"ann:beta bob:gamma ann:alpha", "beta relabel ann, bob disputed", "bob:gamma ann:alpha"},
		{"ann:beta bob:gamma ann:alpha cy:beta!", "beta relabel ann, bob, cy", "cy:beta"},
		{"ann:beta", "beta relabel ann", ""},
		{"ann:beta bob:beta", "beta relabel ann, bob", ""},
		{"ann:beta bob:gamma", "beta relabel ann, bob disputed", ""},
		{"ann:beta ann:gamma", "gamma relabel ann", ""},
		{"ann:beta bob:gamma bob:beta", "beta relabel ann, bob", ""},
		{"ann:beta bob:gamma ann:gamma", "gamma relabel ann, bob", ""},
		{"ann:beta bob:gamma cy:gamma", "gamma relabel ann, bob, cy", ""},
		{"ann:beta bob:gamma cy:beta", "beta relabel ann, bob, cy", ""},
		{"ann:beta bob:gamma cy:alpha", "beta relabel ann, bob, cy disputed", ""},
		{"ann:beta bob:gamma cy:alpha dan:gamma", "gamma relabel ann, bob, cy, dan", ""},
		{"ann:beta bob:gamma cy:gamma dan:beta", "gamma relabel ann, bob, cy, dan disputed", ""},
		{"ann:beta bob:beta cy:gamma", "beta relabel ann, bob, cy", ""},
		{"ann:beta bob:?", "beta relabel ann, bob", ""},
		{"ann:? bob:beta", "beta relabel ann, bob", ""},
		{"ann:beta ann:?", "beta unsure ann", ""},
		{"ann:? bob:?", "alpha unsure ann, bob", ""},
		{"ann:beta bob:gamma ann:?", "gamma relabel ann, bob", ""},
		{"ann:beta bob:-", "beta relabel ann, bob disputed", ""},
		{"ann:beta bob:- cy:-", " unlabel ann, bob, cy", ""},
		{"ann:- bob:-", " unlabel ann, bob", ""},
		{"ann:- bob:beta cy:-", " unlabel ann, bob, cy", ""},
		// A reason settles what is disputed, by anybody, and for later words too.
		{"ann:beta bob:gamma!", "beta relabel ann, bob disputed", ""},
		{"ann:beta bob:gamma bob:gamma!", "gamma relabel ann, bob", ""},
		{"ann:beta bob:gamma cy:alpha!", "alpha relabel ann, bob, cy", ""},
		{"ann:beta bob:gamma cy:?!", "beta relabel ann, bob, cy disputed", ""},
		{"ann:beta bob:gamma cy:gamma! dan:gamma", "gamma relabel ann, bob, cy, dan", ""},
		{"ann:beta bob:gamma cy:gamma! ann:beta", "gamma relabel ann, bob, cy disputed", ""},
		{"ann:beta bob:gamma cy:gamma! ann:beta!", "gamma relabel ann, bob, cy disputed", ""},
		{"ann:beta bob:gamma cy:gamma! ann:beta ann:beta!", "beta relabel ann, bob, cy", ""},
		// Undo leads back through all of it.
		{"ann:beta bob:gamma ~", "beta relabel ann", ""},
		{"ann:beta bob:gamma cy:gamma ~", "beta relabel ann, bob disputed", ""},
		{"ann:beta bob:gamma cy:gamma! ~", "beta relabel ann, bob disputed", ""},
		{"ann:beta bob:gamma cy:gamma! ~ ~ ~", "alpha", ""},
		{"ann:beta bob:gamma ~ bob:beta", "beta relabel ann, bob", ""},
		{"ann:beta ~ bob:gamma", "gamma relabel bob", ""},
		{"ann:beta bob:gamma cy:gamma ~ ann:gamma", "gamma relabel ann, bob", ""},
	} {
		t.Run(test.words, func(t *testing.T) {
			s := loaded(t, 12, 60)
			t.Cleanup(func() { mustEndTrue(t, s) })
			v := decideWords(t, s, test.words)
			if got := peopleOf(t, s, v); got != strings.TrimSpace(test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			words, disputed := Words(historyOf(t, s, v))
			var got []string
			for _, d := range words {
				got = append(got, d.Who+":"+d.To)
			}
			if text := strings.Join(got, " "); test.count != "" && text != test.count ||
				disputed != strings.HasSuffix(test.want, " disputed") {
				t.Errorf("got the words %q, disputed %v, want %q", text, disputed, test.count)
			}
		})
	}
}

// TestAViewHoldsDisputes refuses a decision about a node that nobody disputed when it was shown.
func TestAViewHoldsDisputes(t *testing.T) {
	s := loaded(t, 14, 60)
	mustDecide(t, s, Options{Who: "ann"}, Request{Node: 3, Kind: Relabel, To: "beta"})
	shown := &View{Label: "beta", Decision: Relabel}
	mustDecide(t, s, Options{Who: "bob"}, Request{Node: 3, Kind: Relabel, To: "gamma"})
	_, err := Write(t.Context(), s, []Request{{Node: 3, Kind: Reject, View: shown}}, Options{Who: "cy"})
	if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "people disagree about its label since") {
		t.Errorf("got %v, want ErrChanged for the dispute", err)
	}
	shown.Disputed = true
	if _, err := Write(t.Context(), s, []Request{{Node: 3, Kind: Reject, View: shown}}, Options{Who: "cy"}); err != nil {
		t.Errorf("shown as disputed: %v", err)
	}
	_, err = Write(t.Context(), s, []Request{{Node: 3, Kind: Reject, View: shown}}, Options{Who: "dan"})
	if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "people do not disagree") {
		t.Errorf("got %v, want ErrChanged for the end of the dispute", err)
	}
}

// TestDecidersAtOnce has people write while nobody's commit is synced: each knows the words, and can take back the
// steps, of those before.
func TestDecidersAtOnce(t *testing.T) {
	s := loaded(t, 7, 40)
	first := labelledNode(t, s, 0)
	both := labelledNode(t, s, first+1)
	one := labelledNode(t, s, both+1)
	// changes the catalogue, so that those below share a sync
	mustDecide(t, s, Options{Who: "ann"}, Request{Node: first, Kind: Unlabel})
	before := states(t, s)
	atOnce := func(writes ...func() error) {
		t.Helper()
		others := must.Get(s.Bulk(context.Background()))(t)
		var all sync.WaitGroup
		for _, write := range writes {
			all.Go(func() {
				if err := write(); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(10 * time.Millisecond) // until it waits for the Bulk
		}
		others.Abort()
		all.Wait()
	}
	relabel := func(v kv.NodeID, who, class string) func() error {
		return func() error {
			_, err := Write(t.Context(), s, []Request{{Node: v, Kind: Relabel, To: class}}, Options{Who: who})
			return err
		}
	}
	atOnce(relabel(both, "ann", "beta"), relabel(both, "bob", "gamma"))
	if got := peopleOf(t, s, both); got != "beta relabel ann, bob disputed" {
		t.Errorf("got %q, want the words of ann and bob", got)
	}
	atOnce(relabel(one, "cy", "beta"), func() error {
		_, err := Undo(t.Context(), s, Options{Who: "cy"}, nil)
		return err
	})
	if got := states(t, s)[one]; got != before[one] {
		t.Errorf("after undo: got %+v, want %+v", got, before[one])
	}
	mustEndTrue(t, s)
}

// TestVerdictsLeaveDisputesOut trusts no label that people disagree about.
func TestVerdictsLeaveDisputesOut(t *testing.T) {
	s := loaded(t, 16, 80)
	var nodes []kv.NodeID
	for v := range kv.NodeID(80) {
		if states(t, s)[v].Label == "alpha" {
			nodes = append(nodes, v)
		}
	}
	relabel := func(who string, v kv.NodeID, to string) {
		t.Helper()
		mustDecide(t, s, Options{Who: who}, Request{Node: v, Kind: Relabel, To: to})
	}
	check := func(want ...kv.NodeID) {
		t.Helper()
		view(t, s, func(tx *kv.Tx) error {
			labels := make([]kv.Class, tx.NumNodes())
			must.Do(t, tx.ReadClasses(kv.LabelColumn, kv.Range{End: kv.NodeID(tx.NumNodes())}, labels))
			var of []kv.NodeID
			for _, verdict := range must.Get(Verdicts(t.Context(), tx, labels))(t) {
				of = append(of, verdict.Node)
			}
			if !slices.Equal(of, want) {
				t.Errorf("got verdicts about %v, want %v", of, want)
			}
			return nil
		})
	}
	relabel("ann", nodes[0], "beta")
	relabel("ann", nodes[1], "beta")
	relabel("bob", nodes[1], "gamma") // disputed
	check(nodes[0])
	relabel("bob", nodes[0], "gamma") // was trusted, is disputed
	relabel("cy", nodes[1], "gamma")  // was disputed, is settled
	check(nodes[1])
}

// TestCheckFindsPeople damages the columns about people, and repairs them.
func TestCheckFindsPeople(t *testing.T) {
	s := loaded(t, 17, 80)
	for i := range 3 {
		mustDecide(t, s, Options{Who: fmt.Sprint("p", i%2)}, Request{Node: 7, Kind: Relabel, To: storeClasses[i%2]})
	}
	for column, value := range map[string]kv.Value{DecidedByColumn: kv.ValueOf("eve"), DisputedColumn: {}} {
		for _, v := range []kv.NodeID{7, 9} {
			if column == DisputedColumn && v == 9 {
				value = kv.ValueOf(true)
			}
			must.Do(t, s.Update(func(tx *kv.Tx) error { return tx.SetValue(v, column, value) }))
			if problems := historyProblems(t, s); len(problems) != 1 ||
				!strings.Contains(problems[0].What, fmt.Sprintf("node n%d has the %s", v, column)) {
				t.Errorf("%s of node %d: got problems %v, want one", column, v, problems)
			}
			must.Do(t, Repair(t.Context(), s, func(kv.Correction) {}))
			mustEndTrue(t, s)
		}
	}
	if got, want := peopleOf(t, s, 7), "alpha relabel p0, p1 disputed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOneJudgementOfEachKind has one meaning of each kind of decision.
func TestOneJudgementOfEachKind(t *testing.T) {
	s := loaded(t, 5, 80)
	before := states(t, s)
	for kind, want := range map[Kind]Judgement{Reject: Right, Relabel: Wrong, Unlabel: Unsettled, Unsure: Unsettled} {
		v := labelledNode(t, s, kv.NodeID(10*kind))
		request := Request{Node: v, Kind: kind}
		if kind == Relabel {
			request.To = map[bool]string{true: "alpha", false: "beta"}[before[v].Label == "beta"]
		}
		mustDecide(t, s, Options{Who: "ann"}, request)
		view(t, s, func(tx *kv.Tx) error {
			if got := must.Get(JudgementAfter(t.Context(), tx, v, before[v].Label, 0))(t); got != want {
				t.Errorf("%s: got judgement %d, want %d", kind, got, want)
			}
			return nil
		})
	}
}
