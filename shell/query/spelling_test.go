package query

import (
	"fmt"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// spell is a statement or an expression in one fixed spelling, which parses to an equal one.
func spell(tree any) string { return tree.(fmt.Stringer).String() }

func (s *suspectsStatement) String() string {
	text := "suspects"
	if g := s.guarantee; g != nil {
		text += " " + g.kind + " " + g.alpha.String()
		if g.rate != nil {
			text += " p " + g.rate.String()
		}
	}
	return text + s.clauses.String()
}

func (s *nodesStatement) String() string { return "nodes" + s.clauses.String() }

func (s *countStatement) String() string {
	text := "count " + spell(s.of)
	for i, by := range s.groupBy {
		text += []string{" group by ", ", "}[min(i, 1)] + by.String()
	}
	for i, t := range s.totals {
		text += []string{" return ", ", "}[min(i, 1)] + t.String()
		if t.as != nil {
			text += " as " + t.as.String()
		}
	}
	text += spellOrder(s.order)
	if s.limit != nil {
		text += " limit " + s.limit.String()
	}
	if s.offset != nil {
		text += " offset " + s.offset.String()
	}
	return text
}

func spellOrder(order []orderTerm) (text string) {
	for i, term := range order {
		text += []string{" order by ", ", "}[min(i, 1)]
		if term.total != nil {
			text += term.total.String()
		} else {
			text += term.by.String()
		}
		if term.descending {
			text += " desc"
		}
	}
	return text
}

func (s *planStatement) String() string    { return "plan " + spell(s.of) }
func (s *nodeStatement) String() string    { return "node " + spellIDs(s.ids) }
func (s *classesStatement) String() string { return "classes" + s.clauses.String() }
func (s *explainStatement) String() string { return "explain " + s.id.String() }
func (s *wordStatement) String() string    { return s.word }

func (s *neighborsStatement) String() string {
	text := "neighbors " + s.id.String()
	if s.hops != nil {
		text += " hops " + s.hops.String()
	}
	return text + s.clauses.String()
}

func (s *cleanStatement) String() string {
	text := "clean"
	option := func(name, value string) {
		if value != "" {
			text += " " + name + " " + value
		}
	}
	option("hops", s.hops.orNothing())
	option("preset", string(s.preset))
	if s.direction != kv.Both {
		option("direction", s.direction.String())
	}
	option("threshold", s.threshold.orNothing())
	option("expect", s.expect.orNothing())
	option("seed", s.seed.orNothing())
	if s.imported != "" {
		text += " " + string(s.imported)
	}
	return text
}

func spellIDs(ids []literal) string {
	var texts []string
	for _, id := range ids {
		texts = append(texts, id.String())
	}
	return strings.Join(texts, ", ")
}

func (s *decideStatement) String() string {
	text := s.kind.String()
	if s.ids != nil {
		text += " " + spellIDs(s.ids)
	}
	if s.label != nil {
		text += " " + s.label.String()
	}
	if s.proviso != nil {
		text += " if " + spell(s.proviso)
	}
	if s.all {
		text += " all"
	}
	if s.where != nil {
		text += " where " + spell(s.where)
	}
	if s.limit != nil {
		text += " limit " + s.limit.String()
	}
	if s.why != nil {
		text += " because " + s.why.String()
	}
	return text
}

func (*rescoreStatement) String() string { return "rescore" }
func (s *auditStatement) String() string {
	if s.size == nil {
		return "audit"
	}
	text := "audit draw " + s.size.String()
	if s.seed != nil {
		text += " seed " + s.seed.String()
	}
	return text
}
func (s *undoStatement) String() string { return strings.TrimSpace("undo " + s.steps.orNothing()) }
func (s *historyStatement) String() string {
	text := "history"
	if s.id != nil {
		text += " " + s.id.String()
	}
	return text + s.clauses.String()
}
func (s *indexStatement) String() string { return s.verb + " index on " + s.property.String() }

func (c *clauses) String() string {
	var text strings.Builder
	if c.where != nil {
		text.WriteString(" where " + spell(c.where))
	}
	text.WriteString(c.sample.String())
	text.WriteString(spellOrder(c.order))
	if c.limit != nil {
		text.WriteString(" limit " + c.limit.String())
	}
	if c.offset != nil {
		text.WriteString(" offset " + c.offset.String())
	}
	if r := c.returned; r != nil {
		text.WriteString(" return" + map[bool]string{true: " distinct"}[r.distinct] + map[bool]string{true: " *"}[r.all])
		for i, column := range r.columns {
			text.WriteString([]string{" ", ", "}[min(i, 1)])
			if i == 0 && !r.distinct && strings.EqualFold(column.of.text, "distinct") {
				text.WriteString(`"` + column.of.text + `"`)
			} else {
				text.WriteString(column.of.String())
			}
			if column.as != nil {
				text.WriteString(" as " + column.as.String())
			}
		}
	}
	return text.String()
}

// orNothing is the text of a literal that may be left out.
func (l *literal) orNothing() string {
	if l == nil {
		return ""
	}
	return l.String()
}

func (e *logical) String() string {
	parts := make([]string, len(e.terms))
	for i, term := range e.terms {
		parts[i] = spell(term)
		if _, nested := term.(*logical); nested {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	return strings.Join(parts, " "+e.operator+" ")
}

func (e *negation) String() string {
	if _, nested := e.term.(*logical); nested {
		return "not (" + spell(e.term) + ")"
	}
	return "not " + spell(e.term)
}

func (e *comparison) String() string {
	return e.property.String() + " " + e.operator + " " + e.value.String()
}

func (e *pair) String() string {
	return e.property.String() + " " + e.operator + " " + e.other.String()
}

func (e *membership) String() string {
	parts := make([]string, len(e.values))
	for i, value := range e.values {
		parts[i] = value.String()
	}
	return e.property.String() + " in (" + strings.Join(parts, ", ") + ")"
}

func (e *likeness) String() string {
	return e.property.String() + map[bool]string{false: " like ", true: " ilike "}[e.anyCase] + e.pattern.String()
}

func (e *lowered) String() string {
	text := "lower(" + e.property.String() + ") " + e.operator + " "
	if e.operator != "in" {
		return text + e.values[0].String()
	}
	parts := make([]string, len(e.values))
	for i, value := range e.values {
		parts[i] = value.String()
	}
	return text + "(" + strings.Join(parts, ", ") + ")"
}

func (e *between) String() string {
	return e.property.String() + " between " + e.low.String() + " and " + e.high.String()
}

func (e *bare) String() string { return e.property.String() }

func (e *neighbor) String() string {
	if e.hops == nil {
		return "neighbor(" + spell(e.where) + ")"
	}
	return "neighbor(" + spell(e.where) + ", " + e.hops.String() + ")"
}

func (e *isNull) String() string { return e.property.String() + " is null" }
