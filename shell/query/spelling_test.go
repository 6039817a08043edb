package query

import (
	"fmt"
	"strings"
)

// spell is a statement in one fixed spelling, which parses to an equal one.
func spell(s Statement) string {
	text := s.name
	switch {
	case s.name == "plan" && s.counts:
		text += " count " + s.rows
	case s.rows != "" && s.rows != s.name:
		text += " " + s.rows
	case s.property.text != "":
		text += " index on " + s.property.String()
	case s.full:
		text += " full"
	}
	if s.name == "audit" {
		text += option("draw", s.size)
	}
	if b := s.bound; b != nil {
		text += map[bool]string{true: " for"}[s.name == "audit"] + " " + b.kind + map[bool]string{true: " fdr"}[b.kind == "trusted"] +
			" " + b.share.String()
	}
	if s.ids != nil {
		text += " " + join(s.ids)
	}
	text += option("", s.label)
	if s.proviso != nil {
		text += " if " + spellCondition(s.proviso)
	}
	text += map[bool]string{true: " all"}[s.all] + option("hops", s.hops)
	if s.preset != "" {
		text += " preset " + s.preset
	}
	text += option("expect", s.expect)
	if s.rows == "" {
		text += option("seed", s.seed)
	}
	if s.imported != "" {
		text += " " + string(s.imported)
	}
	return text + spellClauses(s) + option("because", s.why)
}

func spellCondition(e *expression) string {
	parts := make([]string, len(e.terms))
	for i, term := range e.terms {
		if parts[i] = spellCondition(term); term.operator == "and" || term.operator == "or" {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	text := e.property.String()
	switch {
	case e.operator == "not":
		return "not " + parts[0]
	case e.terms != nil:
		return strings.Join(parts, " "+e.operator+" ")
	case e.operator == operatorTrue:
		return text
	case e.operator == operatorNull:
		return text + " is null"
	case e.operator == "in":
		return text + " in (" + join(e.values) + ")"
	case e.other != nil:
		return text + " " + e.operator + " " + e.other.String()
	}
	return text + " " + e.operator + " " + e.values[0].String()
}

func spellClauses(c Statement) (text string) {
	if c.where != nil {
		text += " where " + spellCondition(c.where)
	}
	if c.rows != "" {
		text += option("sample", c.size) + option("seed", c.seed)
	}
	if c.groupBy != nil {
		text += " group by " + join(c.groupBy)
	}
	if c.totals != nil {
		text += " return " + join(c.totals)
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
