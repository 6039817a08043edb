package decide

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A pastStep is a step of the model of TestDecisionsModel, with all that was before it.
type pastStep struct {
	who      string
	requests []Request
	states   map[kv.NodeID]State
}

// Random decisions of three people, each about nodes of their own, undos, bulk writes, compactions and reopenings,
// against maps and a stack of what was before.
func TestDecisionsModel(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { decisionsModel(t, seed) })
	}
}

func decisionsModel(t *testing.T, seed uint64) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(seed, 1))
	dir := loadDir(t, seed, 150)
	s := openDir(t, dir)
	defer func() {
		mustEndSound(t, s)
		mustEndTrue(t, s)
		s.Close()
	}()
	score(t, s, seed)
	if seed%2 == 0 {
		must.Get(Write(ctx, s, []Request{{Node: 0, Kind: Unsure}}, Options{Time: noon}))(t)
		must.Do(t, index.Create(ctx, s, Column))
		must.Get(Undo(ctx, s, Options{Time: noon}, nil))(t)
	}
	entries := historyOf(t, s, kv.NoNode)
	now := states(t, s)
	original := maps.Clone(now)
	type moment struct {
		seq    int64 // of the newest entry
		states map[kv.NodeID]State
	}
	clock := noon
	past := []moment{{int64(len(entries)), maps.Clone(now)}}
	var stack []pastStep // those that can be taken back
	suggested := map[kv.NodeID]string{}
	var classes []string
	view(t, s, func(tx *kv.Tx) error {
		classes = slices.Clone(tx.Classes())
		for v := range kv.NodeID(tx.NumNodes()) {
			value := must.Get(tx.Value(v, SuggestedColumn))(t)
			suggested[v] = value.Str()
		}
		return nil
	})
	for range 40 {
		clock = clock.Add(time.Duration(1+r.IntN(5000)) * time.Millisecond)
		person := r.IntN(3)
		opt := Options{Who: []string{"ann", "bob", "cy"}[person], Time: clock}
		if r.IntN(3) == 0 {
			opt.Why = "for a reason"
		}
		big := r.IntN(12) == 0
		if big { // more than fits into a transaction
			opt.Why = strings.Repeat("x", MaxWhy)
		}
		switch action := r.IntN(10); {
		case action < 6:
			count := 1 + r.IntN(6)
			if big {
				count = len(now) / 3
			}
			var reqs []Request
			next := maps.Clone(now)
			for _, v := range r.Perm(len(now) / 3)[:count] {
				req := Request{Node: kv.NodeID(3*v + person), Kind: Kind(1 + r.IntN(5))}
				state := next[req.Node]
				if state.Label == "" && (req.Kind == Reject || req.Kind == Unlabel) {
					req.Kind = Unsure
				}
				label := state.Label
				switch req.Kind {
				case Accept:
					label = suggested[req.Node]
				case Relabel:
					req.To = classes[r.IntN(len(classes))]
					label = req.To
				case Unlabel:
					label = ""
				}
				next[req.Node] = State{label, req.Kind, false}
				reqs = append(reqs, req)
			}
			stack = append(stack, pastStep{opt.Who, reqs, now})
			now = next
			entries = append(entries, mustDecide(t, s, opt, reqs...)...)
		case action < 8: // no two people decide on one node
			made, err := Undo(ctx, s, opt, nil)
			last := len(stack) - 1
			for last >= 0 && stack[last].who != opt.Who {
				last--
			}
			if last < 0 {
				if !errors.Is(err, ErrNothingToUndo) {
					t.Fatalf("undo of %q: got %v, want ErrNothingToUndo", opt.Who, err)
				}
				break
			}
			must.Do(t, err)
			now = maps.Clone(now)
			for _, req := range stack[last].requests {
				now[req.Node] = stack[last].states[req.Node]
			}
			stack = slices.Delete(stack, last, last+1)
			entries = append(entries, made...)
		case action == 8:
			must.Do(t, s.Close())
			s = openDir(t, dir)
		default:
			must.Do(t, errors.Join(s.Compact(ctx, nil), index.Compact(ctx, s)))
		}
		past = append(past, moment{int64(len(entries)), now})
		if got := states(t, s); !maps.Equal(got, now) {
			t.Fatalf("got %v, want %v", got, now)
		}
		mustEndTrue(t, s)
	}
	if got := historyOf(t, s, kv.NoNode); !sameEntries(got, entries) {
		t.Fatalf("history: got %+v, want %+v", got, entries)
	}
	for v := range now {
		var want []Decision
		for _, d := range entries {
			if d.Node == v {
				want = append(want, d)
			}
		}
		if got := historyOf(t, s, v); !sameEntries(got, want) {
			t.Fatalf("history of node number %d: got %+v, want %+v", v, got, want)
		}
	}
	view(t, s, func(tx *kv.Tx) error {
		for _, m := range past {
			changes := must.Get(ChangesAfter(ctx, tx, m.seq))(t)
			for v, state := range m.states {
				got := now[v]
				if c, differs := changes[v]; differs {
					got = c.Was
				}
				if got != state {
					t.Fatalf("node number %d after entry %d: got %+v, want %+v", v, m.seq, got, state)
				}
			}
		}
		changes := must.Get(ChangesAfter(ctx, tx, 0))(t)
		for v, state := range now {
			if c, decided := changes[v]; decided && c != (Change{original[v], state}) || !decided && state != original[v] {
				t.Errorf("node number %d: got the change %+v, want from %+v to %+v", v, c, original[v], state)
			}
		}
		return nil
	})
}
