package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
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
	"", "a", "A", "it's", "100%", "under_score", `back\slash`, "two words", "数学", "-- no comment", "a;b", `"quoted"`, "line\nbreak",
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
	bulk, err := s.Bulk()
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

// A condition is a text of the language, and what it means: 1 true, 0 false, ½ unknown.
type condition struct {
	text string
	of   func(row map[string]kv.Value) float64
	args []any
	// The conjunctions of tests, one of which must be true for the condition to be, and those of its negation.
	alternatives, negated []alternative
}

// An alternative is true where all its tests are. If one of them is of score, or of decision, that replaces what suspects
// asks of these. If one is of disputed, or of decided_by, nodes with a value of that come in addition.
type alternative struct {
	tests                                 []func(row map[string]kv.Value) float64
	ofScore, ofDecision, ofDispute, ofWho bool
}

// holds reports whether all tests are true.
func (a alternative) holds(row map[string]kv.Value) bool {
	return !slices.ContainsFunc(a.tests, func(test func(map[string]kv.Value) float64) bool { return test(row) != 1 })
}

// together are the alternatives of two conditions joined by and.
func together(a, b []alternative) (joined []alternative) {
	for _, x := range a {
		for _, y := range b {
			joined = append(joined, alternative{
				tests:   slices.Concat(x.tests, y.tests),
				ofScore: x.ofScore || y.ofScore, ofDecision: x.ofDecision || y.ofDecision,
				ofDispute: x.ofDispute || y.ofDispute, ofWho: x.ofWho || y.ofWho,
			})
		}
	}
	return joined
}

// suspects says whether a row is a suspect that the condition is true of.
func (c condition) suspects(row map[string]kv.Value) bool {
	score, label, suggested := row["score"], row["label"], row["suggested"]
	isScored := !score.IsNull() && !label.IsNull() && !suggested.IsNull() && label != suggested
	return slices.ContainsFunc(c.alternatives, func(a alternative) bool {
		return a.holds(row) && (isScored && (a.ofScore || score.Float() > 0.97) && (a.ofDecision || row["decision"].IsNull()) ||
			a.ofDispute && !row["disputed"].IsNull() || a.ofWho && !row["decided_by"].IsNull())
	})
}

// drawCondition draws a condition of a depth. Of its constants some are parameters, numbered from first.
func (s *drawnStore) drawCondition(r *rand.Rand, depth, first int) condition {
	if depth > 0 && r.IntN(3) > 0 {
		a := s.drawCondition(r, depth-1, first)
		switch r.IntN(4) {
		case 0:
			not := []string{"not (%s)", "NOT (%s)"}[r.IntN(2)]
			inner := a.of
			a.text, a.of = fmt.Sprintf(not, a.text), func(row map[string]kv.Value) float64 { return 1 - inner(row) }
			a.alternatives, a.negated = a.negated, a.alternatives
			return a
		case 1:
			b := s.drawCondition(r, depth-1, first+len(a.args))
			return condition{
				text: "(" + a.text + ") or\n(" + b.text + ")", args: append(a.args, b.args...),
				alternatives: slices.Concat(a.alternatives, b.alternatives), negated: together(a.negated, b.negated),
				of: func(row map[string]kv.Value) float64 { return max(a.of(row), b.of(row)) },
			}
		default:
			b := s.drawCondition(r, depth-1, first+len(a.args))
			return condition{
				text: "(" + a.text + ") AND (" + b.text + ")", args: append(a.args, b.args...),
				alternatives: together(a.alternatives, b.alternatives), negated: slices.Concat(a.negated, b.negated),
				of: func(row map[string]kv.Value) float64 { return min(a.of(row), b.of(row)) },
			}
		}
	}
	if depth > 0 && r.IntN(5) == 0 {
		inner, hops := s.drawCondition(r, depth-1, first), 1+r.IntN(2)
		holds := func(row map[string]kv.Value) float64 {
			return truth(slices.ContainsFunc(s.around(row, hops), func(near map[string]kv.Value) bool { return inner.of(near) == 1 }))
		}
		fails := func(row map[string]kv.Value) float64 { return 1 - holds(row) }
		return condition{
			text: fmt.Sprintf("neighbor(%s%s)", inner.text, []string{"", ", 2"}[hops-1]), args: inner.args, of: holds,
			alternatives: []alternative{{tests: []func(map[string]kv.Value) float64{holds}}},
			negated:      []alternative{{tests: []func(map[string]kv.Value) float64{fails}}},
		}
	}
	name := s.names[r.IntN(len(s.names))]
	var c condition
	// constant draws one, to compare by order or not, and returns its text.
	constant := func(ordered bool) (kv.Value, string) {
		value := s.drawConstant(r, name)
		if r.IntN(6) == 0 {
			c.args = append(c.args, value)
			return value, "$" + strconv.Itoa(first+len(c.args)-1)
		}
		return value, s.spell(r, name, value, ordered)
	}
	quoted := writtenName(name)
	if r.IntN(8) == 0 && !slices.Contains(drawnShares, name) {
		quoted = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	not := r.IntN(3) == 0
	c.text = quoted + " "
	if not {
		c.text += "not "
	}
	isText := s.kinds[name] == kv.KindString || s.kinds[name] == kv.KindClass || name == "id"
	other, isPair := s.drawOther(r, name), false
	switch kind := r.IntN(8); {
	case kind == 7:
		not, isPair = false, true
		operator := []string{"=", "!=", "<>", "<", "<=", ">", ">="}[r.IntN(7)]
		c.text = quoted + operator + writtenName(other)
		c.of = func(row map[string]kv.Value) float64 {
			if row[other].IsNull() {
				return 0.5
			}
			return meets(row[name], operator, row[other])
		}
	case kind < 3 && name == "disputed" && !not:
		c.text = quoted
		c.of = func(row map[string]kv.Value) float64 { return truth(!row[name].IsNull()) }
	case kind == 1 && s.kinds[name] == kv.KindBool && !not:
		c.text = quoted
		c.of = func(row map[string]kv.Value) float64 { return meets(row[name], "=", kv.ValueOf(true)) }
	case kind == 0:
		c.text = quoted + " is null"
		if not {
			c.text = quoted + " is not null"
		}
		c.of = func(row map[string]kv.Value) float64 { return truth(row[name].IsNull()) }
	case kind == 1:
		values := make([]kv.Value, 1+r.IntN(4))
		texts := make([]string, len(values))
		for i := range values {
			values[i], texts[i] = constant(false)
		}
		c.text += "in (" + strings.Join(texts, ",") + ")"
		c.of = func(row map[string]kv.Value) float64 {
			greatest := 0.0
			for _, value := range values {
				greatest = max(greatest, meets(row[name], "=", value))
			}
			return greatest
		}
	case kind == 2:
		low, lowText := constant(true)
		high, highText := constant(true)
		c.text += "between " + lowText + " and " + highText
		c.of = func(row map[string]kv.Value) float64 {
			return min(meets(row[name], ">=", low), meets(row[name], "<=", high))
		}
	case kind == 3 && isText && r.IntN(2) == 0:
		lower := func(v kv.Value) string { return strings.ToLower(v.String()) }
		texts := []string{strings.ToLower(drawnTexts[r.IntN(len(drawnTexts))]), strings.ToLower(s.drawConstant(r, name).String()), "theory", "a"}
		texts = texts[:1+r.IntN(len(texts))]
		is := func(row map[string]kv.Value) float64 { return truth(slices.Contains(texts, lower(row[name]))) }
		c.text = "lower(" + quoted + ") " + map[bool]string{true: "not "}[not]
		switch quotedTexts := quoteAll(texts); {
		case len(texts) == 1 && not:
			c.text = "lower(" + quoted + ") != " + quotedTexts
		case len(texts) == 1:
			c.text += "= " + quotedTexts
		case len(texts) == 2:
			c.text += "in (" + quotedTexts + ")"
		case len(texts) == 3: // ilike
			pattern := []string{"%", "A%", "%A%", "n_", "N_%", "LONG%", "IT''%", "%r%"}[r.IntN(8)]
			c.text = quoted + map[bool]string{true: " not"}[not] + " ilike '" + pattern + "'"
			pattern = strings.ToLower(strings.ReplaceAll(pattern, "''", "'"))
			is = func(row map[string]kv.Value) float64 { return truth(likes([]rune(lower(row[name])), []rune(pattern))) }
		default:
			c.text += "like '%a%'"
			is = func(row map[string]kv.Value) float64 { return truth(strings.Contains(lower(row[name]), "a")) }
		}
		c.of = func(row map[string]kv.Value) float64 {
			if row[name].IsNull() {
				return 0.5
			}
			return is(row)
		}
	case kind == 3 && isText:
		pattern := []string{"%", "a%", "%a%", "_", "", "long%", "%er", `100\%`, "%'%", "n_", "%1%", "it%s", "_%_", "数%", "%\n%"}[r.IntN(15)]
		c.text += "like " + Quote(pattern)
		c.of = func(row map[string]kv.Value) float64 {
			if row[name].IsNull() {
				return 0.5
			}
			return truth(likes([]rune(row[name].String()), []rune(pattern)))
		}
	default:
		not = false
		operator := []string{"=", "!=", "<>", "<", "<=", ">", ">="}[r.IntN(7)]
		value, text := constant(strings.ContainsAny(operator, "<>") && operator != "<>")
		c.text = quoted + []string{"", " "}[r.IntN(2)] + operator + " " + text
		c.of = func(row map[string]kv.Value) float64 { return meets(row[name], operator, value) }
	}
	if not {
		inner := c.of
		c.of = func(row map[string]kv.Value) float64 { return 1 - inner(row) }
	}
	holds := c.of
	fails := func(row map[string]kv.Value) float64 { return 1 - holds(row) }
	speaks := func(of string) bool { return name == of || isPair && other == of }
	spoken := alternative{
		ofScore: speaks("score"), ofDecision: speaks("decision"), ofDispute: speaks("disputed"), ofWho: speaks("decided_by"),
	}
	spoken.tests = []func(map[string]kv.Value) float64{holds}
	c.alternatives = []alternative{spoken}
	spoken.tests = []func(map[string]kv.Value) float64{fails}
	c.negated = []alternative{spoken}
	return c
}

// drawOther draws a property that another one, or the same, can be compared with.
func (s *drawnStore) drawOther(r *rand.Rand, name string) string {
	class := func(name string) kv.Kind {
		switch kind := s.kinds[name]; kind {
		case kv.KindSingle, kv.KindInt:
			return kv.KindFloat
		case kv.KindClass:
			return kv.KindString
		default:
			return kind
		}
	}
	for {
		if other := s.names[r.IntN(len(s.names))]; class(other) == class(name) {
			return other
		}
	}
}

// drawConstant draws a constant that a property can be compared with, most often one that it holds somewhere.
func (s *drawnStore) drawConstant(r *rand.Rand, name string) kv.Value {
	if held := s.rows[r.IntN(len(s.rows))][name]; !held.IsNull() && r.IntN(2) == 0 {
		return held
	}
	switch kind := s.kinds[name]; kind {
	case kv.KindInt, kv.KindFloat, kv.KindSingle:
		if name == "id" && r.IntN(2) == 0 {
			return kv.ValueOf(int64(r.IntN(100)))
		}
		for {
			if value := drawValue(r, []kv.Kind{kv.KindInt, kv.KindFloat, kv.KindSingle}[r.IntN(3)]); !value.IsNull() {
				return value
			}
		}
	case kv.KindClass:
		return kv.ValueOf(s.classes[r.IntN(len(s.classes))])
	default:
		for {
			if value := drawValue(r, kind); !value.IsNull() {
				return value
			}
		}
	}
}

// spell writes a constant in one of the ways that the language has for it, to compare by order or not.
func (s *drawnStore) spell(r *rand.Rand, name string, value kv.Value, ordered bool) string {
	switch value.Kind() {
	case kv.KindString:
		_, err := strconv.ParseFloat(value.Str(), 64)
		if err == nil && s.kinds[name] == kv.KindClass && !ordered && r.IntN(2) == 0 {
			return value.Str() // classes that look like numbers may be written so
		}
		return Quote(value.Str())
	case kv.KindFloat:
		return strconv.FormatFloat(value.Float(), "geE"[r.IntN(3)], -1, 64)
	case kv.KindInt:
		if value.Int() >= 0 && r.IntN(4) == 0 {
			return "+" + value.String()
		}
	}
	return value.String()
}

// quoteAll quotes texts for a list.
func quoteAll(texts []string) string {
	var quoted []string
	for _, text := range texts {
		quoted = append(quoted, Quote(text))
	}
	return strings.Join(quoted, ", ")
}

func truth(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

func likes(text, pattern []rune) bool {
	switch {
	case len(pattern) == 0:
		return len(text) == 0
	case pattern[0] == '%':
		return likes(text, pattern[1:]) || len(text) > 0 && likes(text[1:], pattern)
	case pattern[0] == '\\' && len(pattern) > 1:
		return len(text) > 0 && text[0] == pattern[1] && likes(text[1:], pattern[2:])
	default:
		return len(text) > 0 && (pattern[0] == '_' || pattern[0] == text[0]) && likes(text[1:], pattern[1:])
	}
}

// meets is the truth of a comparison.
func meets(value kv.Value, operator string, with kv.Value) float64 {
	if value.IsNull() {
		return 0.5
	}
	c := plainCompare(value, with)
	return truth(map[string]bool{
		"=": c == 0, "!=": c != 0, "<>": c != 0, "<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0,
	}[operator])
}

// plainCompare orders two values of one property.
func plainCompare(a, b kv.Value) int {
	exactly := func(v kv.Value) *big.Float {
		if v.Kind() == kv.KindInt {
			return new(big.Float).SetInt64(v.Int())
		}
		return new(big.Float).SetFloat64(v.Float())
	}
	switch a.Kind() {
	case kv.KindString:
		return cmp.Compare(a.Str(), b.Str())
	case kv.KindBool:
		return cmp.Compare(truth(a.Bool()), truth(b.Bool()))
	default:
		return exactly(a).Cmp(exactly(b))
	}
}

// A drawnOrder is a clause "order by", and what it means.
type drawnOrder struct {
	text  string
	order func(a, b map[string]kv.Value) int
}

func (s *drawnStore) drawOrder(r *rand.Rand) drawnOrder {
	var texts []string
	type key struct {
		name string
		down bool
	}
	var keys []key
	for range 1 + r.IntN(2) {
		k := key{name: s.names[r.IntN(len(s.names))], down: r.IntN(2) == 0}
		keys = append(keys, k)
		direction := []string{"", " asc"}[r.IntN(2)]
		if k.down {
			direction = " DESC"
		}
		texts = append(texts, writtenName(k.name)+direction)
	}
	return drawnOrder{" order by " + strings.Join(texts, ", "), func(a, b map[string]kv.Value) int {
		for _, k := range keys {
			if c := orderedBy(a[k.name], b[k.name], k.down); c != 0 {
				return c
			}
		}
		return 0
	}}
}

// orderedBy orders two values of one property, null last in either direction.
func orderedBy(a, b kv.Value, down bool) int {
	switch {
	case a.IsNull() || b.IsNull():
		return cmp.Compare(truth(a.IsNull()), truth(b.IsNull()))
	case down:
		return plainCompare(b, a)
	default:
		return plainCompare(a, b)
	}
}

// A question is a statement and its answer by definition.
type question struct {
	text string
	args []any
	want []string // a line a row
}

// drawQuestion draws a list of nodes or suspects.
func (s *drawnStore) drawQuestion(r *rand.Rand) question {
	statement := []string{"nodes", "suspects"}[r.IntN(2)]
	q := question{text: statement}
	c := s.drawCondition(r, r.IntN(4), 1)
	if r.IntN(8) == 0 {
		c = condition{of: func(map[string]kv.Value) float64 { return 1 }, alternatives: make([]alternative, 1)}
	}
	if c.text != "" {
		q.text += " where " + c.text
	}
	q.args = c.args
	var found []map[string]kv.Value
	for _, row := range s.rows {
		if statement == "nodes" && c.of(row) == 1 || statement == "suspects" && c.suspects(row) {
			found = append(found, row)
		}
	}
	by := drawnOrder{order: func(map[string]kv.Value, map[string]kv.Value) int { return 0 }}
	if statement == "suspects" {
		by.order = func(a, b map[string]kv.Value) int { return orderedBy(a["score"], b["score"], true) }
	}
	if r.IntN(3) > 0 {
		by = s.drawOrder(r)
	}
	slices.SortStableFunc(found, by.order)
	tail := []string{by.text}
	names := []string{"id"}
	distinct := r.IntN(4) == 0
	if distinct { // without the id, which makes all rows differ
		names = []string{s.names[r.IntN(len(s.names))]}
	}
	for _, name := range s.names {
		if !slices.Contains(names, name) && r.IntN(4) == 0 {
			names = append(names, name)
		}
	}
	returned := make([]string, len(names))
	for i, name := range names {
		returned[i] = writtenName(name)
		if r.IntN(5) == 0 {
			returned[i] += fmt.Sprintf(` as "other %d"`, i)
		}
	}
	clause := " return "
	if distinct {
		clause += "distinct "
	}
	tail = append(tail, clause+strings.Join(returned, ", "))
	seen := map[string]bool{}
	for _, row := range found {
		line, key := rowText(row, names), ""
		for _, name := range names {
			key += groupText(row[name]) + " "
		}
		if !distinct || !seen[key] {
			q.want = append(q.want, line)
		}
		seen[key] = true
	}
	if r.IntN(3) == 0 {
		offset := r.IntN(1 + []int{3, 20, len(s.rows)}[r.IntN(3)])
		q.want = q.want[min(offset, len(q.want)):]
		tail = append(tail, " offset "+strconv.Itoa(offset))
	}
	if r.IntN(2) == 0 {
		limit := r.IntN(1 + []int{3, 20, len(s.rows)}[r.IntN(3)])
		q.want = q.want[:min(limit, len(q.want))]
		tail = append(tail, " limit "+strconv.Itoa(limit))
	}
	r.Shuffle(len(tail), func(i, j int) { tail[i], tail[j] = tail[j], tail[i] })
	q.text += strings.Join(tail, "")
	return q
}

func rowText(row map[string]kv.Value, names []string) string {
	var cells []string
	for _, name := range names {
		cells = append(cells, strconv.Quote(row[name].String()))
	}
	return strings.Join(cells, " ")
}

// ask answers a question through the language.
func (s *drawnStore) ask(q question) ([]string, error) {
	tx := s.Begin()
	defer tx.Close()
	answer, err := Query(context.Background(), tx, Options{}, q.text, q.args...)
	if err != nil {
		return nil, err
	}
	var rows []string
	for row, err := range answer.Rows() {
		if err != nil {
			return nil, err
		}
		var cells []string
		for _, value := range row.Values {
			cells = append(cells, strconv.Quote(value.String()))
		}
		rows = append(rows, strings.Join(cells, " "))
	}
	return rows, nil
}

// tryQuestions asks questions, and how many rows they have, also in groups.
func (s *drawnStore) tryQuestions(t *testing.T, r *rand.Rand, where string, count int) {
	t.Helper()
	for i := range count {
		q := s.drawQuestion(r)
		got, err := s.ask(q)
		if err != nil || !slices.Equal(got, q.want) {
			t.Fatalf("%s, question %d: %s with %v\ngot  %d rows %v, %v\nwant %d rows %v",
				where, i, q.text, q.args, len(got), got, err, len(q.want), q.want)
		}
		s.tryCount(t, r, where)
	}
}

func (s *drawnStore) tryCount(t *testing.T, r *rand.Rand, where string) {
	t.Helper()
	c, total := s.drawCondition(r, r.IntN(3), 1), 0
	for _, row := range s.rows {
		if c.of(row) == 1 {
			total++
		}
	}
	text := "count nodes where " + c.text
	if got, err := s.ask(question{text: text, args: c.args}); err != nil || got[0] != strconv.Quote(strconv.Itoa(total)) {
		t.Fatalf("%s: %s with %v: got %v, %v, want %d", where, text, c.args, got, err, total)
	}
	s.tryGroups(t, r, where, text, c)
}

// tryGroups counts in groups, with totals, in some order.
func (s *drawnStore) tryGroups(t *testing.T, r *rand.Rand, where, text string, c condition) {
	t.Helper()
	var by []string
	for _, i := range r.Perm(len(s.names))[:1+r.IntN(3)] {
		by = append(by, s.names[i])
	}
	text += " group by " + writtenNames(by)
	type drawnTotal struct{ function, of, text string }
	var totals []drawnTotal
	for _, i := range r.Perm(len(s.names))[:r.IntN(4)] {
		functions := []string{"min", "max", "avg", "sum"}
		if kind := s.kinds[s.names[i]]; kind != kv.KindInt && kind != kv.KindFloat && kind != kv.KindSingle {
			functions = functions[:2]
		}
		f := functions[r.IntN(len(functions))]
		totals = append(totals, drawnTotal{f, s.names[i], f + "(" + writtenName(s.names[i]) + ")"})
	}
	groups := map[string][]map[string]kv.Value{} // the rows of each
	for _, row := range s.rows {
		if c.of(row) == 1 {
			key := ""
			for _, name := range by {
				key += groupText(row[name]) + " "
			}
			groups[key] = append(groups[key], row)
		}
	}
	var want [][]kv.Value
	for _, rows := range groups {
		var line []kv.Value
		for _, name := range by {
			line = append(line, rows[0][name])
		}
		line = append(line, kv.ValueOf(len(rows)))
		for _, total := range totals {
			value, fits := totalOf(rows, total.function, total.of, s.kinds[total.of])
			if !fits {
				return // which is an error
			}
			line = append(line, value)
		}
		want = append(want, line)
	}
	columns := slices.Clone(by)
	columns = append(columns, "count")
	for i, total := range totals {
		text += []string{" return ", ", "}[min(i, 1)] + total.text
		columns = append(columns, total.text)
	}
	place, down := len(by), true
	if r.IntN(2) == 0 {
		place, down = r.IntN(len(columns)), r.IntN(2) == 0
		written := columns[place]
		if place < len(by) {
			written = writtenName(written)
		}
		text += " order by " + written + []string{"", " desc"}[int(truth(down))]
	}
	slices.SortFunc(want, func(a, b []kv.Value) int {
		if order := orderedBy(a[place], b[place], down); order != 0 {
			return order
		}
		for i := range by {
			if order := orderedBy(a[i], b[i], false); order != 0 {
				return order
			}
		}
		return 0
	})
	if r.IntN(3) == 0 {
		offset, limit := r.IntN(3), r.IntN(5)
		want = want[min(offset, len(want)):]
		want = want[:min(limit, len(want))]
		text += fmt.Sprintf(" offset %d limit %d", offset, limit)
	}
	for _, memory := range []int64{0, 1} {
		var got [][]kv.Value
		tx := s.Begin()
		answer, err := Query(context.Background(), tx, Options{MemoryBudget: memory}, text, c.args...)
		if err != nil {
			t.Fatalf("%s: %s with %v: %v", where, text, c.args, err)
		}
		for row, err := range answer.Rows() {
			if err != nil {
				t.Fatalf("%s: %s: %v", where, text, err)
			}
			got = append(got, slices.Clone(row.Values))
		}
		tx.Close()
		if !slices.EqualFunc(got, want, func(a, b []kv.Value) bool {
			return slices.EqualFunc(a, b, func(x, y kv.Value) bool { return groupText(x) == groupText(y) })
		}) {
			t.Fatalf("%s: %s with %v in %d bytes:\ngot  %v\nwant %v", where, text, c.args, memory, got, want)
		}
	}
}

// totalOf is a total of rows by its definition; fits is false if it is an integer out of range.
func totalOf(rows []map[string]kv.Value, function, name string, kind kv.Kind) (total kv.Value, fits bool) {
	sum, count := new(big.Rat), int64(0)
	for _, row := range rows {
		value := row[name]
		if value.IsNull() {
			continue
		}
		count++
		switch {
		case function == "min" && (total.IsNull() || plainCompare(value, total) < 0), function == "max" && (total.IsNull() || plainCompare(value, total) > 0):
			total = value
		case value.Kind() == kv.KindInt:
			sum.Add(sum, new(big.Rat).SetInt64(value.Int()))
		case value.Kind() == kv.KindFloat:
			sum.Add(sum, new(big.Rat).SetFloat64(value.Float()))
		}
	}
	switch {
	case count == 0 || function == "min" || function == "max":
		return total, true
	case function == "avg":
		sum.Quo(sum, new(big.Rat).SetInt64(count))
	case kind == kv.KindInt:
		return kv.ValueOf(sum.Num().Int64()), sum.Num().IsInt64()
	}
	x, _ := sum.Float64()
	return kv.ValueOf(x), true
}

// groupText tells values apart that are not equal.
func groupText(value kv.Value) string {
	switch {
	case value.IsNull():
		return "null"
	case value.Kind() == kv.KindFloat && value.Float() == 0:
		return "0"
	}
	return strconv.Quote(value.String())
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
			request := decide.Request{Node: kv.NodeID(v), Kind: []decide.Kind{decide.Accept, decide.Unsure, decide.Relabel}[r.IntN(3)]}
			if request.Kind == decide.Relabel {
				request.To = s.classes[r.IntN(len(s.classes))]
			}
			asked = append(asked, request)
		}
		must.Get(decide.Write(t.Context(), s.Store, asked, decide.Options{Who: who}))(t)
	}
	s.read(t)
}

// TestAnswersEqualAFullScan draws stores and questions, and holds that the answer through the language is that of the definition over every
// row, before and after changes. That indexes change no answer is a test of package index.
func TestAnswersEqualAFullScan(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 77))
		s := drawStore(t, r, []int{1, 3, 30, 150, 400, 60, 700, 200, 90, 4200}[seed])
		count := longtest.Of(16, 300)
		if len(s.rows) > 4096 { // more than one block a column
			count = longtest.Of(3, 36)
		}
		for round := range 2 {
			s.tryQuestions(t, r, fmt.Sprintf("seed %d, round %d", seed, round), count)
			s.change(t, r)
		}
	}
}
