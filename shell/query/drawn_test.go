package query

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

// drawnColumns are the properties of drawn stores: one of each kind, under names of which some need quotes.
var drawnColumns = []kv.Column{
	{Name: "flag", Kind: kv.KindBool},
	{Name: "year", Kind: kv.KindInt},
	{Name: "order", Kind: kv.KindFloat},
	{Name: "half \"size\"", Kind: kv.KindSingle},
	{Name: "Größe", Kind: kv.KindString},
	{Name: "venue", Kind: kv.KindClass},
}

// A drawnStore is a store and, read from it value by value, all that it holds.
type drawnStore struct {
	*kv.Store
	kinds   map[string]kv.Kind // of id, degree and the columns
	names   []string           // of kinds, sorted
	rows    []map[string]kv.Value
	lists   map[string][]int // the rows of the neighbours of a node, by its id
	classes []string
}

// drawnShares are the shares of labels that are asked for as if they were properties.
var drawnShares = []string{"share(label, 1)", "share(suggested, 2)", "share('it''s', 1)", "share(label, 3)"}

// writtenName is how a statement names a property or a share.
func writtenName(name string) string {
	if slices.Contains(drawnShares, name) {
		return name
	}
	return QuoteName(name)
}

func writtenNames(names []string) string {
	var written []string
	for _, name := range names {
		written = append(written, writtenName(name))
	}
	return strings.Join(written, ", ")
}

// around are the rows of the nodes within some hops of a row.
func (s *drawnStore) around(row map[string]kv.Value, hops int) (around []map[string]kv.Value) {
	seen := map[string]bool{row["id"].String(): true}
	for last := []map[string]kv.Value{row}; hops > 0; hops-- {
		var next []map[string]kv.Value
		for _, of := range last {
			for _, i := range s.lists[of["id"].String()] {
				if id := s.rows[i]["id"].String(); !seen[id] {
					seen[id] = true
					next = append(next, s.rows[i])
				}
			}
		}
		last, around = next, append(around, next...)
	}
	return around
}

// share is the share of a label by its definition.
func (s *drawnStore) share(row map[string]kv.Value, label kv.Value, hops int) kv.Value {
	same, labelled := 0.0, 0.0
	for _, near := range s.around(row, hops) {
		if !near["label"].IsNull() {
			labelled++
		}
		if near["label"] == label {
			same++
		}
	}
	if label.IsNull() || labelled == 0 {
		return kv.Value{}
	}
	return kv.ValueOf(same / labelled)
}

var drawnTexts = []string{
	"", "a", "A", "it's", "100%", "under_score", `back\slash`, "two words", "数学", "-- no comment", "a;b", `"quoted"`,
	"line\nbreak",
	strings.Repeat("long", 40), strings.Repeat("long", 40) + "er",
}

// drawValue draws one of few values of a kind, null now and then, so that conditions are met.
func drawValue(r *rand.Rand, kind kv.Kind) kv.Value {
	if r.IntN(6) == 0 {
		return kv.Value{}
	}
	switch kind {
	case kv.KindBool:
		return kv.ValueOf(r.IntN(2) == 0)
	case kv.KindInt:
		return kv.ValueOf([]int64{math.MinInt64, -7, -1, 0, 1, 2, 1999, 2024, 1 << 53, 1<<53 + 1, math.MaxInt64}[r.IntN(11)])
	case kv.KindFloat:
		return kv.ValueOf([]float64{-1e300, -1.5, math.Copysign(0, -1), 0, 1e-300, 0.5, 1 << 53, 1999, 6.02e23}[r.IntN(9)])
	case kv.KindSingle:
		return kv.ValueOf(float64(float32(r.IntN(40)) / 40))
	case kv.KindClass:
		return kv.ValueOf([]string{"NeurIPS", "10", "9", "it's", "1e3"}[r.IntN(5)])
	default:
		return kv.ValueOf(drawnTexts[r.IntN(len(drawnTexts))])
	}
}

func drawnID(r *rand.Rand, numbers bool, i int) string {
	if numbers {
		return strconv.Itoa(i*3 - 40)
	}
	return []string{"n", "it's ", "a b", "数", "--"}[r.IntN(5)] + strconv.Itoa(i)
}

// drawStore makes a store of n nodes with scores, some of them with decisions, and indexes on some properties.
func drawStore(t *testing.T, r *rand.Rand, n int) *drawnStore {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	load := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{Properties: drawnColumns}))(t)
	numbers := r.IntN(2) == 0
	var ids []string
	for i := range n {
		node := kv.Node{ID: drawnID(r, numbers, i)}
		if r.IntN(5) > 0 {
			node.Label = []string{"Theory", "7", "Neural Nets", "it's"}[r.IntN(4)]
		}
		for _, c := range drawnColumns {
			node.Values = append(node.Values, drawValue(r, c.Kind))
		}
		must.Do(t, load.AddNode(node))
		ids = append(ids, node.ID)
	}
	for range 2 * n {
		must.Do(t, load.AddEdge(ids[r.IntN(n)], ids[r.IntN(n)], 0))
	}
	must.Get(load.Commit(t.Context(), nil))(t)
	s := &drawnStore{Store: papers.Reopen(t, dir)}
	s.drawScores(t, r)
	s.read(t)
	return s
}

// drawScores writes the columns of a run.
func (s *drawnStore) drawScores(t *testing.T, r *rand.Rand) {
	t.Helper()
	bulk, err := s.Bulk(context.Background())
	must.Do(t, err)
	defer bulk.Abort()
	columns := map[string]*kv.ColumnWriter{}
	kinds := map[string]kv.Kind{
		"score": kv.KindSingle, "suggested": kv.KindClass, "confidence": kv.KindSingle, "run": kv.KindInt,
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		if columns[name], err = bulk.Column(name, kinds[name]); err != nil {
			t.Fatal(err)
		}
	}
	builder := must.Get(index.NewBuilder(bulk, "score"))(t)
	defer builder.Close()
	tx := bulk.Tx()
	for v := range kv.NodeID(tx.NumNodes()) {
		class, err := tx.Label(v)
		must.Do(t, err)
		err = errors.Join(
			columns["suggested"].Put(v, kv.ValueOf(tx.Classes()[r.IntN(len(tx.Classes()))])),
			columns["confidence"].Put(v, kv.ValueOf(float64(float32(r.Float64())))),
			columns["run"].Put(v, kv.ValueOf(1)))
		if class != kv.NoClass { // few scores, some of them equal; a quarter above the threshold
			score := kv.ValueOf(float64(float32(1 - r.Float64()*float64(r.IntN(4))/8)))
			if r.IntN(3) == 0 {
				score = kv.ValueOf(float64(float32(r.IntN(100)) / 100))
			}
			err = errors.Join(err, columns["score"].Put(v, score), builder.Add(v, score))
		}
		must.Do(t, err)
	}
	must.Do(t, builder.Finish())
	must.Do(t, bulk.Commit(func(tx *kv.Tx) error { return errors.Join(papers.PutRun(tx), builder.Mark(tx)) }))
}

// read fills in what the store holds, in the order of the node file.
func (s *drawnStore) read(t *testing.T) {
	t.Helper()
	s.rows, s.kinds = nil, map[string]kv.Kind{"id": kv.KindString, "degree": kv.KindInt, "decision": kv.KindString}
	s.lists = map[string][]int{}
	must.Do(t, s.View(func(tx *kv.Tx) error {
		s.classes = tx.Classes()
		readers := map[string]*kv.ColumnReader{}
		columns := append(tx.Columns(), kv.Column{Name: "degree", Kind: kv.KindInt})
		for _, c := range columns {
			s.kinds[c.Name] = c.Kind
			var err error
			if readers[c.Name], err = tx.Reader(c.Name); err != nil {
				return err
			}
		}
		id, _ := tx.Column("id")
		s.kinds["id"] = id.Kind
		for v, err := range tx.InFileOrder() {
			must.Do(t, err)
			row := map[string]kv.Value{}
			text, err := tx.ID(v)
			must.Do(t, err)
			row["id"] = kv.ValueOf(text)
			if id.Kind == kv.KindInt {
				number := must.Get(strconv.ParseInt(text, 10, 64))(t)
				row["id"] = kv.ValueOf(number)
			}
			for name, reader := range readers {
				if row[name], err = reader.At(v); err != nil {
					return err
				}
			}
			s.rows = append(s.rows, row)
			for u, err := range tx.Neighbors(v) {
				must.Do(t, err)
				position := must.Get(must.Get(tx.Places())(t).Of(u))(t)
				s.lists[row["id"].String()] = append(s.lists[row["id"].String()], position)
			}
		}
		return nil
	}))
	for _, row := range s.rows {
		row[drawnShares[0]], row[drawnShares[1]] = s.share(row, row["label"], 1), s.share(row, row["suggested"], 2)
		row[drawnShares[2]], row[drawnShares[3]] = s.share(row, kv.ValueOf("it's"), 1), s.share(row, row["label"], 3)
	}
	for _, name := range drawnShares {
		s.kinds[name] = kv.KindFloat
	}
	s.names = slices.Sorted(maps.Keys(s.kinds))
}

// change sets values and labels, and decides about nodes.
func (s *drawnStore) change(t *testing.T, r *rand.Rand) {
	t.Helper()
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		for range 1 + len(s.rows)/8 {
			v, c := kv.NodeID(r.IntN(tx.NumNodes())), drawnColumns[r.IntN(len(drawnColumns))]
			must.Do(t, tx.SetValue(v, c.Name, drawValue(r, c.Kind)))
			must.Do(t, tx.SetLabel(kv.NodeID(r.IntN(tx.NumNodes())), []string{"", "Theory", "7"}[r.IntN(3)]))
		}
		return nil
	}))
	for _, who := range []string{"ann", "bob", "cy"} {
		var asked []decide.Request
		for _, v := range r.Perm(len(s.rows))[:r.IntN(1+len(s.rows)/4)] {
			request := decide.Request{Node: kv.NodeID(v),
				Kind: []decide.Kind{decide.Accept, decide.Unsure, decide.Relabel}[r.IntN(3)]}
			if request.Kind == decide.Relabel {
				request.To = s.classes[r.IntN(len(s.classes))]
			}
			asked = append(asked, request)
		}
		must.Get(decide.Write(t.Context(), s.Store, asked, decide.Options{Who: who}))(t)
	}
	s.read(t)
}
