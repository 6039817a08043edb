package query

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/kv"
)

func truth(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
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
		c = condition{of: func(map[string]kv.Value) float64 { return 1 }}
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
	for _, name := range s.names {
		if !slices.Contains(names, name) && r.IntN(4) == 0 {
			names = append(names, name)
		}
	}
	tail = append(tail, " return "+writtenNames(names))
	for _, row := range found {
		q.want = append(q.want, rowText(row, names))
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
	rows, err := answered(context.Background(), s.Store, Options{}, q.text, q.args...)
	return rowsFrom(rows, func(row []kv.Value) string {
		return strings.Join(rowsFrom(row, func(v kv.Value) string { return strconv.Quote(v.String()) }), " ")
	}), err
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
		limit := r.IntN(5)
		want = want[:min(limit, len(want))]
		text += fmt.Sprintf(" limit %d", limit)
	}
	for _, workers := range []int{1, 4} {
		got, err := answered(context.Background(), s.Store, Options{Workers: workers}, text, c.args...)
		if err != nil {
			t.Fatalf("%s: %s with %v: %v", where, text, c.args, err)
		}
		if !slices.EqualFunc(got, want, func(a, b []kv.Value) bool {
			return slices.EqualFunc(a, b, func(x, y kv.Value) bool { return groupText(x) == groupText(y) })
		}) {
			t.Fatalf("%s: %s with %v by %d workers:\ngot  %v\nwant %v", where, text, c.args, workers, got, want)
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
		case function == "min" && (total.IsNull() || plainCompare(value, total) < 0), function == "max" &&
			(total.IsNull() || plainCompare(value, total) > 0):
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

// TestAnswersEqualAFullScan draws stores and questions, and holds that the answer through the language is that of the
// definition over every row, before and after changes. That indexes change no answer is a test of package index.
func TestAnswersEqualAFullScan(t *testing.T) {
	for seed := range uint64(longtest.Of(6, 10)) {
		r := rand.New(rand.NewPCG(seed, 77))
		s := drawStore(t, r, []int{1, 3, 150, 400, 60, 4200, 30, 700, 200, 90}[seed])
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
