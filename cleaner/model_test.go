package cleaner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A storeModel is what a store should hold of a graph, its labels, decisions and scores, in Go maps by external id.
type storeModel struct {
	ids      []string // in file order
	label    map[string]string
	edges    map[[2]string]bool // the lesser id first
	decision map[string]decide.Kind
	history  []decide.Decision
	steps    []modelStep // that can be taken back, the latest last

	score     map[string]float64 // of the last run, but of labels that were taken back since
	suggested map[string]string
	run       int64
	scored    int   // nodes there were when it ran
	seen      int64 // and entries of the history

	changed bool // since the last run, in a way that another run would notice
}

// A modelStep is one Decide: its entries, and what the nodes were like before.
type modelStep []struct {
	seq      int64
	id       string
	kind     decide.Kind
	label    string
	decision decide.Kind
}

func newStoreModel(p plantedPartition) *storeModel {
	m := &storeModel{
		label: map[string]string{}, edges: map[[2]string]bool{}, decision: map[string]decide.Kind{},
		score: map[string]float64{}, suggested: map[string]string{},
	}
	for _, n := range p.nodes {
		m.ids = append(m.ids, n.ID)
		m.label[n.ID] = n.Label
	}
	for _, e := range p.edges {
		if e[0] != e[1] {
			m.edges[edgeOf(p.nodes[e[0]].ID, p.nodes[e[1]].ID)] = true
		}
	}
	return m
}

func edgeOf(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

// plantedClasses are the classes of newPlanted.
var plantedClasses = []string{"alpha", "beta", "gamma", "δelta"}

// A modelWalk makes random changes to a store and to its model.
type modelWalk struct {
	t     *testing.T
	r     *rand.Rand
	model *storeModel
	store *kv.Store
	now   time.Time
}

func (w *modelWalk) id() string { return w.model.ids[w.r.IntN(len(w.model.ids))] }

// update changes the graph and labels in one transaction, which now and then is given up.
func (w *modelWalk) update() {
	m, giveUp := w.model, w.r.IntN(5) == 0
	before := *m
	before.label, before.edges, before.ids = maps.Clone(m.label), maps.Clone(m.edges), slices.Clone(m.ids)
	failure := errors.New("given up")
	err := w.store.Update(func(tx *kv.Tx) error {
		for range 1 + w.r.IntN(6) {
			if err := w.change(tx); err != nil {
				return err
			}
		}
		if giveUp {
			return failure
		}
		return nil
	})
	switch {
	case giveUp && errors.Is(err, failure):
		m.label, m.edges, m.ids = before.label, before.edges, before.ids
	case err != nil:
		w.t.Fatalf("update: %v", err)
	default:
		m.changed = true
	}
}

func (w *modelWalk) change(tx *kv.Tx) error {
	m := w.model
	switch w.r.IntN(5) {
	case 0:
		n := kv.Node{ID: fmt.Sprintf("added %d", len(m.ids)), Label: plantedClasses[w.r.IntN(4)]}
		v, err := tx.AddNode(n)
		if err != nil {
			return err
		}
		m.ids = append(m.ids, n.ID)
		m.label[n.ID] = n.Label
		row := make([]float64, 4)
		row[w.r.IntN(4)] = 1
		return SetPredictions(tx, v, row)
	case 1, 2:
		a, b := w.id(), w.id()
		u, err := tx.Node(a)
		if err != nil {
			return err
		}
		v, err := tx.Node(b)
		if err != nil || u == v {
			return err
		}
		if e := edgeOf(a, b); m.edges[e] {
			delete(m.edges, e)
			return tx.RemoveEdge(u, v)
		}
		m.edges[edgeOf(a, b)] = true
		return tx.AddEdge(u, v)
	default:
		id, label := w.id(), plantedClasses[w.r.IntN(4)]
		v, err := tx.Node(id)
		if err != nil {
			return err
		}
		if w.r.IntN(4) == 0 {
			label = ""
		}
		m.label[id] = label
		return tx.SetLabel(v, label)
	}
}

// options are those of a decision at the next second.
func (w *modelWalk) options() decide.Options {
	w.now = w.now.Add(time.Second)
	return decide.Options{Who: "w", Now: func() time.Time { return w.now }}
}

// decide makes random decisions in one step. Where one of them cannot be made, none is.
func (w *modelWalk) decide() {
	m := w.model
	var reqs []decide.Request
	var want error
	var step modelStep
	entries := m.history
	label, decision := maps.Clone(m.label), maps.Clone(m.decision)
	number := int64(1)
	if n := len(m.history); n > 0 {
		number = m.history[n-1].Step + 1
	}
	asked := map[string]bool{}
	for range 1 + w.r.IntN(5) {
		id := w.id()
		req := decide.Request{Kind: decide.Kind(1 + w.r.IntN(5))}
		if asked[id] && w.r.IntN(10) > 0 {
			continue
		}
		if err := w.store.View(func(tx *kv.Tx) (err error) {
			req.Node, err = tx.Node(id)
			return err
		}); err != nil {
			w.t.Fatal(err)
		}
		to, failure := label[id], error(nil)
		switch req.Kind {
		case decide.Accept:
			if to = m.suggested[id]; to == "" {
				failure = decide.ErrNoSuggestion
			}
		case decide.Reject:
			if to == "" {
				failure = decide.ErrNoLabel
			}
		case decide.Unlabel:
			if to == "" {
				failure = decide.ErrNoLabel
			}
			to = ""
		case decide.Relabel:
			if to = plantedClasses[w.r.IntN(4)]; w.r.IntN(20) == 0 {
				to, failure = "omega", ErrUnknownClass
			}
			req.To = to
		}
		if asked[id] {
			failure = decide.ErrDecidedTwice
		}
		asked[id] = true
		if want == nil || errors.Is(failure, decide.ErrDecidedTwice) {
			want = cmp.Or(failure, want)
		}
		reqs = append(reqs, req)
		score, scored := m.score[id]
		if !scored {
			score = math.NaN()
		}
		d := decide.Decision{
			Seq: int64(len(entries)) + 1, Step: number, ID: id, Kind: req.Kind, From: label[id], To: to,
			Before: decision[id], After: req.Kind, Score: score, Run: m.runOf(id),
		}
		entries = append(entries, d)
		step = append(step, modelStep{{d.Seq, id, req.Kind, label[id], decision[id]}}...)
		label[id], decision[id] = to, req.Kind
	}
	_, err := decide.Write(context.Background(), w.store, reqs, w.options())
	if !errors.Is(err, want) || want == nil && err != nil {
		w.t.Fatalf("decide %+v: got %v, want %v", reqs, err, want)
	}
	if err == nil && len(reqs) > 0 {
		m.history, m.label, m.decision, m.changed = entries, label, decision, true
		m.steps = append(m.steps, step)
	}
}

// runOf is the run that a node was scored by; zero where it was added since.
func (m *storeModel) runOf(id string) int64 {
	if slices.Index(m.ids, id) < m.scored {
		return m.run
	}
	return 0
}

// undo takes back some steps.
func (w *modelWalk) undo() {
	m := w.model
	count := 1 + w.r.IntN(3)
	_, err := Undo(context.Background(), w.store, count, w.options())
	if count > len(m.steps) {
		if !errors.Is(err, decide.ErrNothingToUndo) {
			w.t.Fatalf("undo %d of %d steps: got %v, want ErrNothingToUndo", count, len(m.steps), err)
		}
		return
	}
	if err != nil {
		w.t.Fatalf("undo %d of %d steps: %v", count, len(m.steps), err)
	}
	for range count {
		step := m.steps[len(m.steps)-1]
		m.steps = m.steps[:len(m.steps)-1]
		number := m.history[len(m.history)-1].Step + 1
		for _, e := range slices.Backward(step) {
			score, scored := m.score[e.id]
			if !scored {
				score = math.NaN()
			}
			if undone := m.history[e.seq-1]; e.seq <= m.seen && undone.From != undone.To {
				delete(m.score, e.id) // which is that of the label that is taken back
			}
			m.history = append(m.history, decide.Decision{
				Seq: int64(len(m.history)) + 1, Step: number, ID: e.id, Kind: e.kind, From: m.label[e.id], To: e.label,
				Before: m.decision[e.id], After: e.decision, Score: score, Run: m.runOf(e.id), Undoes: e.seq,
			})
			m.label[e.id], m.decision[e.id] = e.label, e.decision
		}
	}
	m.changed = true
}

// clean scores the store, or is interrupted, and takes the scores into the model. Where nothing was changed since the
// last run they must be those of that run.
func (w *modelWalk) clean() {
	m := w.model
	opt := Options{Seed: 5, Hops: 2, AsGiven: true}
	if w.r.IntN(3) == 0 && interrupted(w.t, w.store, opt, 1+w.r.IntN(6)) {
		return
	}
	before, suggested, same := m.score, m.suggested, !m.changed && m.run > 0
	run := mustClean(w.t, w.store, opt)
	if run.ID <= m.run {
		w.t.Fatalf("got run %d after run %d", run.ID, m.run)
	}
	m.run, m.changed, m.scored, m.seen = run.ID, false, len(m.ids), int64(len(m.history))
	m.score, m.suggested = map[string]float64{}, map[string]string{}
	view(w.t, w.store, func(tx *kv.Tx) error {
		for _, id := range m.ids {
			v, err := tx.Node(id)
			if err != nil {
				return err
			}
			score, err := tx.Value(v, ScoreColumn)
			if err != nil {
				return err
			}
			label, err := tx.Value(v, SuggestedColumn)
			if err != nil {
				return err
			}
			if score.IsNull() != (m.label[id] == "") || label.IsNull() || score.Float() < 0 || score.Float() > 1 {
				w.t.Errorf("node %s, labelled %q: got score %v and suggestion %v", id, m.label[id], score, label)
			}
			if !score.IsNull() {
				m.score[id] = score.Float()
			}
			m.suggested[id] = label.Str()
		}
		return nil
	})
	if same && (!maps.Equal(m.score, before) || !maps.Equal(m.suggested, suggested)) {
		w.t.Errorf("run %d: other scores or suggestions than before, of the same graph", run.ID)
	}
}

func (w *modelWalk) reopen() {
	dir := w.store.Dir()
	if err := w.store.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.store = openPlanted(w.t, dir)
}

func (w *modelWalk) compact() {
	if err := errors.Join(w.store.Compact(context.Background(), nil), index.Compact(context.Background(), w.store)); err != nil {
		w.t.Fatal(err)
	}
}

// agree compares all that the store says with the model.
func (w *modelWalk) agree() {
	w.t.Helper()
	m := w.model
	view(w.t, w.store, func(tx *kv.Tx) error {
		if tx.NumNodes() != len(m.ids) || tx.NumEdges() != int64(len(m.edges)) {
			w.t.Fatalf("got %d nodes and %d edges, want %d and %d", tx.NumNodes(), tx.NumEdges(), len(m.ids), len(m.edges))
		}
		edges := map[[2]string]bool{}
		for e, err := range tx.Edges() {
			if err != nil {
				return err
			}
			u, err := tx.ID(e.U)
			if err != nil {
				return err
			}
			v, err := tx.ID(e.V)
			if err != nil {
				return err
			}
			edges[edgeOf(u, v)] = true
		}
		if !maps.Equal(edges, m.edges) {
			w.t.Fatalf("got edges %v, want %v", edges, m.edges)
		}
		for position, id := range m.ids {
			v, err := tx.NodeAt(position)
			if err != nil {
				return err
			}
			if got, err := tx.ID(v); err != nil || got != id {
				w.t.Fatalf("position %d: got %q, %v, want %q", position, got, err, id)
			}
			if err := w.agreeNode(tx, v, id); err != nil {
				return err
			}
		}
		if err := w.agreeHistory(tx, kv.NoNode, ""); err != nil {
			return err
		}
		return w.agreeQueries(tx)
	})
	mustEndSound(w.t, w.store)
}

func (w *modelWalk) agreeNode(tx *kv.Tx, v kv.NodeID, id string) error {
	m := w.model
	label, err := tx.Value(v, kv.LabelColumn)
	if err != nil {
		return err
	}
	now, err := state(tx, v)
	if err != nil {
		return err
	}
	score, err := valueOrNull(tx, v, ScoreColumn)
	if err != nil {
		return err
	}
	run, err := valueOrNull(tx, v, RunColumn)
	if err != nil {
		return err
	}
	want, scored := m.score[id]
	if label.Str() != m.label[id] || now.decision != m.decision[id] || score.IsNull() == scored || scored && score.Float() != want ||
		run.Int() != m.runOf(id) {
		w.t.Fatalf("node %s: got %v, %v, %v, run %v, want %q, %v, %v (%v), run %d",
			id, label, now.decision, score, run, m.label[id], m.decision[id], want, scored, m.runOf(id))
	}
	return w.agreeHistory(tx, v, id)
}

// agreeHistory compares the entries of a node, or all.
func (w *modelWalk) agreeHistory(tx *kv.Tx, v kv.NodeID, id string) error {
	var got, want []string
	for d, err := range decide.History(context.Background(), tx, v) {
		if err != nil {
			return err
		}
		d.Time, d.EntryTime, d.Node, d.Who = time.Time{}, time.Time{}, 0, ""
		got = append(got, fmt.Sprintf("%+v", d))
	}
	for _, d := range w.model.history {
		if v == kv.NoNode || d.ID == id {
			d.Label = d.To // one person decides
			want = append(want, fmt.Sprintf("%+v", d))
		}
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("history of %q: got\n%v\nwant\n%v", id, got, want)
	}
	return nil
}

// agreeQueries compares suspects, and the nodes of each label, found by way of the indexes.
func (w *modelWalk) agreeQueries(tx *kv.Tx) error {
	m := w.model
	least := w.r.Float64()
	queries := map[string]index.Query{"suspects": {
		Where: index.And{Terms: []index.Predicate{
			index.Compare{Property: ScoreColumn, Op: index.Gt, Value: kv.FloatValue(least)}, index.IsNull{Property: decide.Column}}},
		Order: []index.Order{{Property: ScoreColumn, Descending: true}}, Limit: -1,
	}}
	want := map[string][]string{}
	for _, id := range m.ids {
		if score, ok := m.score[id]; ok && score > least && m.decision[id] == decide.None {
			want["suspects"] = append(want["suspects"], id)
		}
		want[m.label[id]] = append(want[m.label[id]], id)
	}
	slices.SortStableFunc(want["suspects"], func(a, b string) int { return cmp.Compare(m.score[b], m.score[a]) })
	for _, class := range plantedClasses {
		queries[class] = index.Query{
			Where: index.Compare{Property: kv.LabelColumn, Op: index.Eq, Value: kv.StringValue(class)}, Limit: -1,
		}
	}
	for name, query := range queries {
		plan, err := index.NewPlan(tx, query)
		if err != nil {
			return err
		}
		var got []string
		for v, err := range plan.Rows(context.Background()) {
			if err != nil {
				return err
			}
			id, err := tx.ID(v)
			if err != nil {
				return err
			}
			got = append(got, id)
		}
		if !slices.Equal(got, want[name]) {
			w.t.Fatalf("%s, score above %v: got %v, want %v", name, least, got, want[name])
		}
	}
	return nil
}

// modelWalks is the variable of the environment with the number of walks of TestStoreModel.
const modelWalks = "GRAPHCLEANER_TEST_WALKS"

// TestStoreModel makes random changes to stores and to models of them: graph and labels, decisions, undo, compact, clean,
// reopening. Both agree, above all after each reopening.
func TestStoreModel(t *testing.T) {
	walks := 3
	if text := os.Getenv(modelWalks); text != "" {
		var err error
		if walks, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", modelWalks, err)
		}
	}
	operations, agreed, tried := 0, 0, 0
	defer func() {
		t.Logf("durability: model: agreements after %d operations: %d of %d", operations, agreed, tried)
	}()
	agree := func(w *modelWalk) {
		tried++
		if w.agree(); !t.Failed() {
			agreed++
		}
	}
	for seed := range uint64(walks) {
		p := newPlanted(100+seed, 50)
		dir := p.loadDir(t)
		w := &modelWalk{
			t: t, r: rand.New(rand.NewPCG(seed, 9)), model: newStoreModel(p), store: openPlanted(t, dir), now: time.Unix(1e9, 0),
		}
		p.predict(t, w.store)
		if seed%2 == 0 {
			must.Do(t, index.Create(t.Context(), w.store, kv.LabelColumn))
		}
		for range 40 {
			operations++
			switch w.r.IntN(12) {
			case 0, 1, 2:
				w.update()
			case 3, 4, 5, 6:
				w.decide()
			case 7:
				w.undo()
			case 8:
				w.compact()
			case 9:
				w.clean()
			default:
				w.reopen()
				agree(w)
			}
		}
		agree(w)
		must.Do(t, errors.Join(w.store.Close(), os.RemoveAll(dir)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
