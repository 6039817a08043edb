package query

import (
	"fmt"
	"strings"
)

// spell is a statement or an expression in one fixed spelling, which parses to an equal one.
func spell(tree any) string {
	switch s := tree.(type) {
	case *listStatement:
		text := map[bool]string{true: "count "}[s.counts]
		switch {
		case s.suspects:
			text += "suspects"
		case s.promise != nil:
			text += "labels trusted"
		default:
			text += "nodes"
		}
		if g := s.guarantee; g != nil {
			text += " " + g.kind + " " + g.alpha.String()
		}
		if s.promise != nil {
			text += " fdr " + s.promise.share.String()
		}
		return text + spellClauses(s.clauses)
	case *historyStatement:
		return map[bool]string{true: "count "}[s.counts] + "history" + option("", s.id) + spellClauses(s.clauses)
	case *planStatement:
		return "plan " + spell(s.of)
	case *nodeStatement:
		return "node " + join(s.ids)
	case *explainStatement:
		return "explain " + s.id.String()
	case *wordStatement:
		return s.word
	case *neighborsStatement:
		return "neighbors " + s.id.String() + option("hops", s.hops) + spellClauses(s.clauses)
	case *cleanStatement:
		text := "clean" + option("hops", s.hops)
		if s.preset != "" {
			text += " preset " + s.preset
		}
		text += option("expect", s.expect) + option("seed", s.seed)
		return strings.TrimSpace(text + " " + string(s.imported))
	case *decideStatement:
		return spellDecision(s)
	case *rescoreStatement:
		return "rescore" + map[bool]string{true: " full"}[s.full]
	case *auditStatement:
		text := "audit" + option("draw", s.size) + option("seed", s.seed)
		if s.promise != nil {
			text += fmt.Sprintf(" for %v %s", s.promise.kind, s.promise.share)
		}
		return text
	case *undoStatement:
		return "undo"
	case *indexStatement:
		return s.verb + " index on " + s.property.String()
	case *logical:
		parts := make([]string, len(s.terms))
		for i, term := range s.terms {
			parts[i] = bracketed(term)
		}
		return strings.Join(parts, " "+s.operator+" ")
	case *negation:
		return "not " + bracketed(s.term)
	case *test:
		return spellTest(s)
	}
	return fmt.Sprintf("%T", tree)
}

func spellDecision(s *decideStatement) string {
	text := s.kind.String()
	if s.ids != nil {
		text += " " + join(s.ids)
	}
	text += option("", s.label)
	if s.proviso != nil {
		text += " if " + spell(s.proviso)
	}
	text += map[bool]string{true: " all"}[s.all]
	if s.where != nil {
		text += " where " + spell(s.where)
	}
	return text + option("because", s.why)
}

func spellTest(t *test) string {
	text := t.property.String()
	switch {
	case t.operator == operatorTrue:
		return text
	case t.operator == operatorNull:
		return text + " is null"
	case t.operator == "in":
		return text + " in (" + join(t.values) + ")"
	case t.other != nil:
		return text + " " + t.operator + " " + t.other.String()
	}
	return text + " " + t.operator + " " + t.values[0].String()
}

func spellClauses(c clauses) (text string) {
	if c.where != nil {
		text += " where " + spell(c.where)
	}
	if c.sample != nil {
		text += option("sample", c.sample.size) + option("seed", c.sample.seed)
	}
	if c.groupBy != nil {
		text += " group by " + join(c.groupBy)
	}
	for i, t := range c.totals {
		text += []string{" return ", ", "}[min(i, 1)] + t.String()
	}
	for i, term := range c.order {
		text += []string{" order by ", ", "}[min(i, 1)] + term.by.String() + map[bool]string{true: " desc"}[term.descending]
	}
	text += option("limit", c.limit)
	if r := c.returned; r != nil {
		text += " return " + map[bool]string{true: "*"}[r.all] + join(r.columns)
	}
	return text
}

// option is a word with a literal, or nothing.
func option(word string, l *literal) string {
	if l == nil {
		return ""
	}
	return strings.TrimSuffix(" "+word, " ") + " " + l.String()
}

func join[T fmt.Stringer](parts []T) string {
	var texts []string
	for _, part := range parts {
		texts = append(texts, part.String())
	}
	return strings.Join(texts, ", ")
}

func bracketed(term expression) string {
	if _, nested := term.(*logical); nested {
		return "(" + spell(term) + ")"
	}
	return spell(term)
}
