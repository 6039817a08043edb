package query

import (
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
)

// selection is the error of a text that begins with select, as in SQL. It names the statement that the text would be.
func (p *parser) selection() error {
	begin := p.current.pos
	example := "select id from nodes where degree > 3 is: nodes where degree > 3 return id"
	if would := p.translated(); would != "" {
		example = "write " + would
	}
	return &ParseError{Pos: begin, Msg: "select is no statement here; " + example}
}

// translated is the reading statement that a text from select on would be, "" if it is none.
func (p *parser) translated() string {
	// The text is cut into its parts: what is selected, the table, and each clause with its word.
	parts := map[string][]token{}
	part, depth := "select", 0
	clauses := []string{"from", "where", "group", "order", "limit", "offset"}
	for p.advance(); p.current.kind != tokenEnd && !p.current.is(";"); p.advance() {
		t := p.current
		if t.is("(") {
			depth++
		}
		if t.is(")") {
			depth--
		}
		if at := slices.IndexFunc(clauses, t.is); at >= 0 && depth == 0 {
			if part = clauses[at]; parts[part] != nil {
				return ""
			}
			if part == "from" {
				continue
			}
		}
		parts[part] = append(parts[part], t)
	}
	quoteValues(parts["where"])
	table := strings.ToLower(spellTokens(parts["from"]))
	if !slices.Contains(StatementNames(), table) {
		return ""
	}
	var columns, totals []string
	counts := parts["group"] != nil
	for _, item := range items(parts["select"]) {
		text := spellTokens(item)
		isTotal := len(item) > 1 && slices.ContainsFunc(totalFunctions, item[0].is) && item[1].is("(")
		switch {
		case strings.EqualFold(text, "count(*)"):
			counts = true
		case isTotal:
			counts = true
			totals = append(totals, text)
		default:
			columns = append(columns, text)
		}
	}
	if order := spellTokens(parts["order"]); strings.EqualFold(order, "order by random()") && parts["limit"] != nil {
		parts["sample"] = append([]token{{kind: tokenName, text: "sample"}}, parts["limit"][1:]...)
		parts["order"], parts["limit"] = nil, nil
	}
	if slices.Contains(bareStatements, table) && !counts && slices.Equal(columns, []string{"*"}) {
		columns = nil
	}
	returned := columns
	if counts { // the properties of the groups come by themselves, and no others
		table, returned = "count "+table, totals
		group := parts["group"]
		for _, by := range items(group[min(2, len(group)):]) { // behind group by
			columns = slices.DeleteFunc(columns, func(column string) bool { return column == spellTokens(by) })
		}
		if len(columns) > 0 {
			return ""
		}
		parts["order"] = plainCounts(parts["order"])
	}
	words := []string{table}
	for _, clause := range []string{"where", "group", "sample", "order", "limit", "offset"} {
		words = append(words, spellTokens(parts[clause]))
	}
	if len(returned) > 0 {
		words = append(words, "return "+strings.Join(returned, ", "))
	}
	text := strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
	if s, err := Parse(text); err != nil || s.Writes() {
		return ""
	}
	return text
}

// quoteValues makes text of what stands in double quotes where a value is expected, as many write text in SQL.
func quoteValues(where []token) {
	for i := 2; i < len(where); i++ {
		before := where[i-1]
		isValue := before.kind == tokenMark && !before.is("(") && !before.is(")") || before.is("like") ||
			before.is("ilike") ||
			before.is("between") || before.is("(") && where[i-2].is("in")
		if where[i].kind == tokenQuoted && isValue && !slices.Contains(cleaner.ReservedNames, where[i].text) {
			where[i].kind = tokenString
		}
	}
}

// plainCounts writes count(*) as count, the column of groups.
func plainCounts(tokens []token) (plain []token) {
	for i := 0; i < len(tokens); i++ {
		plain = append(plain, tokens[i])
		if tokens[i].is("count") && i+3 < len(tokens) && tokens[i+1].is("(") && tokens[i+2].is("*") && tokens[i+3].is(")") {
			i += 3
		}
	}
	return plain
}

// items cuts a list at its commas, but for those within brackets.
func items(list []token) (items [][]token) {
	depth := 0
	for i, t := range list {
		switch {
		case i == 0 || t.is(",") && depth == 0:
			items = append(items, nil)
			if i > 0 {
				continue
			}
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		}
		items[len(items)-1] = append(items[len(items)-1], t)
	}
	return items
}

// spellTokens writes tokens as a person would.
func spellTokens(tokens []token) string {
	var text strings.Builder
	for i, t := range tokens {
		joined := i == 0 || t.is(",") || t.is(")") || tokens[i-1].is("(") || t.is("(") && isFunction(tokens[i-1])
		if !joined {
			text.WriteByte(' ')
		}
		text.WriteString(t.String())
	}
	return text.String()
}

// isFunction reports whether a bracket behind the word encloses what the word is of.
func isFunction(t token) bool {
	return t.is("count") || t.is("random") || t.is("lower") || t.is("share") || t.is("neighbor") || slices.ContainsFunc(totalFunctions, t.is)
}

// show is the error of a text that begins with show, as in SQL. It names the statement to write.
func (p *parser) show() error {
	begin, would := p.current.pos, "describe"
	if p.advance(); p.current.is("labels") {
		would = "classes"
	}
	if slices.ContainsFunc(StatementNames(), p.current.is) {
		would = strings.ToLower(p.current.text)
	}
	return &ParseError{Pos: begin, Msg: "show is no statement here; write " + would}
}
