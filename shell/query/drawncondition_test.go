package query

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A condition is a text of the language, and what it means: 1 true, 0 false, ½ unknown.
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
	return c.of(row) == 1 && (isScored && (has("score") || score.Float() > 0.97) && (has("decision") || row["decision"].IsNull()) ||
		has("disputed") && !row["disputed"].IsNull() || has("decided_by") && !row["decided_by"].IsNull())
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
			return a
		case 1:
			b := s.drawCondition(r, depth-1, first+len(a.args))
			return condition{
				text: "(" + a.text + ") or\n(" + b.text + ")", args: append(a.args, b.args...),
				has: slices.Concat(a.has, b.has),
				of:  func(row map[string]kv.Value) float64 { return max(a.of(row), b.of(row)) },
			}
		default:
			b := s.drawCondition(r, depth-1, first+len(a.args))
			return condition{
				text: "(" + a.text + ") AND (" + b.text + ")", args: append(a.args, b.args...),
				has: slices.Concat(a.has, b.has),
				of:  func(row map[string]kv.Value) float64 { return min(a.of(row), b.of(row)) },
			}
		}
	}
	name := s.names[r.IntN(len(s.names))]
	c := condition{has: []string{name}}
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
	other := s.drawOther(r, name)
	switch kind := r.IntN(7); {
	case kind == 6:
		not, c.has = false, append(c.has, other)
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
	case kind == 2 && isText && r.IntN(2) == 0:
		pattern := []string{"%", "A%", "%A%", "n_", "N_%", "LONG%", "IT'%", "%r%"}[r.IntN(8)]
		c.text += "ilike " + Quote(pattern)
		c.of = func(row map[string]kv.Value) float64 {
			if row[name].IsNull() {
				return 0.5
			}
			return truth(likes([]rune(strings.ToLower(row[name].String())), []rune(strings.ToLower(pattern))))
		}
	case kind == 2 && isText:
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
