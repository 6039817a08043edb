package query

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A condition is a text of the language, and what it means: 1 true, 0 false, ½ unknown. What each comparison means is
// tested in package index.
type condition struct {
	text string
	of   func(row map[string]kv.Value) float64
	args []any
	has  []string // the properties in it
}

// suspects says whether a row is a suspect that the condition is true of. A property in the condition may replace a
// part of the definition.
func (c condition) suspects(row map[string]kv.Value) bool {
	has := func(name string) bool { return slices.Contains(c.has, name) }
	score, label, suggested := row["score"], row["label"], row["suggested"]
	isScored := !score.IsNull() && !label.IsNull() && !suggested.IsNull() && label != suggested
	return c.of(row) == 1 &&
		(isScored && (has("score") || score.Float() > 0.97) && (has("decision") || row["decision"].IsNull()) ||
			has("disputed") && !row["disputed"].IsNull() || has("decided_by") && !row["decided_by"].IsNull())
}

// drawCondition draws a condition of a depth. Of its constants some are parameters, numbered from first.
func (s *drawnStore) drawCondition(r *rand.Rand, depth, first int) condition {
	if depth == 0 || r.IntN(3) == 0 {
		return s.drawTest(r, first)
	}
	a := s.drawCondition(r, depth-1, first)
	if r.IntN(4) == 0 {
		return condition{"NOT (" + a.text + ")", func(row map[string]kv.Value) float64 { return 1 - a.of(row) },
			a.args, a.has}
	}
	b := s.drawCondition(r, depth-1, first+len(a.args))
	joined := condition{
		text: "(" + a.text + ") AND (" + b.text + ")", args: append(a.args, b.args...), has: slices.Concat(a.has, b.has),
		of: func(row map[string]kv.Value) float64 { return min(a.of(row), b.of(row)) },
	}
	if r.IntN(3) == 0 {
		joined.text = "(" + a.text + ") or\n(" + b.text + ")"
		joined.of = func(row map[string]kv.Value) float64 { return max(a.of(row), b.of(row)) }
	}
	return joined
}

// drawTest draws a comparison of a property with nothing, or with a constant that it has somewhere.
func (s *drawnStore) drawTest(r *rand.Rand, first int) condition {
	name := s.names[r.IntN(len(s.names))]
	c := condition{has: []string{name}, text: writtenName(name) + " is null"}
	value := s.rows[r.IntN(len(s.rows))][name]
	if value.IsNull() || r.IntN(5) == 0 {
		c.of = func(row map[string]kv.Value) float64 { return truth(row[name].IsNull()) }
		return c
	}
	operator := []string{"=", "!=", "<>", "<", "<=", ">", ">="}[r.IntN(7)]
	c.of = func(row map[string]kv.Value) float64 { return meets(row[name], operator, value) }
	ordered := operator != "<>" && strings.ContainsAny(operator, "<>")
	text := s.spell(r, name, value, ordered)
	if r.IntN(6) == 0 {
		c.args, text = []any{value}, "$"+strconv.Itoa(first)
	}
	c.text = writtenName(name) + []string{"", " "}[r.IntN(2)] + operator + " " + text
	return c
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
