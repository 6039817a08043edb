package query

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// packageText has the grammar of the language, in the comment on the package.
//
//go:embed doc.go
var packageText string

// A grammarRule is an expression of the grammar: its operator and its parts.
type grammarRule struct {
	operator string // word, mark, rule, choice, sequence, option, repeat
	text     string // of a word, mark or rule
	parts    []*grammarRule
}

// tokenRules are the rules that one token meets.
var tokenRules = []string{"string", "number", "parameter", "name", "word", "property", "value", "id"}

// grammar are the rules of the grammar by their names, without tokenRules.
var grammar = sync.OnceValues(func() (map[string]*grammarRule, error) {
	_, text, begins := strings.Cut(packageText, "//	statement  =")
	text, _, ends := strings.Cut(text, "//	value      =")
	if !begins || !ends {
		return nil, fmt.Errorf("the grammar does not reach from statement to value")
	}
	var tokens []string
	for line := range strings.Lines("statement =" + text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "//")
		if remark := strings.Index(line, " .  "); remark >= 0 { // such as "(each once at most)"
			line = line[:remark+2]
		}
		if remark := strings.Index(line, " . ("); remark >= 0 {
			line = line[:remark+2]
		}
		tokens = append(tokens, strings.Fields(line)...)
	}
	rules := map[string]*grammarRule{}
	for len(tokens) > 0 {
		end := slices.Index(tokens, ".")
		if end < 3 || tokens[1] != "=" {
			return nil, fmt.Errorf("got %v in the grammar, want a rule", tokens[:min(4, len(tokens))])
		}
		if name, body := tokens[0], tokens[2:end]; !slices.Contains(tokenRules, name) {
			rule, rest, err := readChoice(body)
			if err != nil || len(rest) > 0 {
				return nil, fmt.Errorf("the rule %s ends before %v: %w", name, rest, err)
			}
			rules[name] = rule
		}
		tokens = tokens[end+1:]
	}
	return rules, nil
})

// readChoice reads alternatives, up to the end or to a bracket that closes.
func readChoice(tokens []string) (choice *grammarRule, rest []string, err error) {
	choice = &grammarRule{operator: "choice"}
	for {
		sequence := &grammarRule{operator: "sequence"}
		for len(tokens) > 0 && !slices.Contains([]string{"|", ")", "]", "}"}, tokens[0]) {
			var part *grammarRule
			if part, tokens, err = readPart(tokens); err != nil {
				return nil, nil, err
			}
			sequence.parts = append(sequence.parts, part)
		}
		choice.parts = append(choice.parts, sequence)
		if len(tokens) == 0 || tokens[0] != "|" {
			return choice, tokens, nil
		}
		tokens = tokens[1:]
	}
}

// readPart reads a word, the name of a rule, or what stands in brackets.
func readPart(tokens []string) (part *grammarRule, rest []string, err error) {
	token, rest := tokens[0], tokens[1:]
	bracket := map[string][2]string{"(": {")", "choice"}, "[": {"]", "option"}, "{": {"}", "repeat"}}[token]
	if bracket[0] != "" {
		inner, rest, err := readChoice(rest)
		if err != nil {
			return nil, nil, err
		}
		if len(rest) == 0 || rest[0] != bracket[0] {
			return nil, nil, fmt.Errorf("no %s closes a %s", bracket[0], token)
		}
		return &grammarRule{operator: bracket[1], parts: []*grammarRule{inner}}, rest[1:], nil
	}
	if text, ok := strings.CutPrefix(token, `"`); ok {
		text = strings.TrimSuffix(text, `"`)
		if unicode.IsLetter([]rune(text)[0]) {
			return &grammarRule{operator: "word", text: text}, rest, nil
		}
		return &grammarRule{operator: "mark", text: text}, rest, nil
	}
	return &grammarRule{operator: "rule", text: token}, rest, nil
}

// placeholders stand in the manual for what a user fills in, and for what another page has.
var placeholders = map[string]string{
	"id": "ID", "number": "N", "property": "NAME", "figure": "P", "expression": "CONDITION", "class": "'CLASS'", "time": "'TIME'", "why": "'WHY'",
	"suspects": "suspects …", "nodes": "nodes …", "labels": "labels …", "tally": "count …",
}

// usages are the forms of a statement, as the manual shows them; none if the grammar has no such statement.
func (u usageWriter) usages(statement string) []string {
	for _, alternative := range u.rules["statement"].parts {
		first := alternative.parts[0]
		if first.operator == "word" && first.text == statement {
			return []string{statement}
		}
		if first.operator == "rule" {
			if forms := u.forms(u.rules[first.text], statement); len(forms) > 0 {
				return forms
			}
		}
	}
	return nil
}

// A usageWriter writes expressions of the grammar as the manual shows them.
type usageWriter struct{ rules map[string]*grammarRule }

// forms are the alternatives of a rule that begin with a word.
func (u usageWriter) forms(rule *grammarRule, word string) (forms []string) {
	for _, alternative := range rule.parts {
		begins := slices.Contains(u.words(alternative.parts[0]), word)
		if !begins {
			continue
		}
		rest := alternative.parts[1:]
		if len(rest) > 0 && rest[0].operator == "choice" && len(rest) < 3 { // each of these is a form
			for _, way := range rest[0].parts[0].parts {
				forms = append(forms, u.sequence(word, append(slices.Clone(way.parts), rest[1:]...)))
			}
			continue
		}
		forms = append(forms, u.sequence(word, rest))
	}
	return forms
}

// words are those that an expression may be.
func (u usageWriter) words(g *grammarRule) (words []string) {
	switch g.operator {
	case "word":
		return []string{g.text}
	case "choice":
		for _, part := range g.parts {
			words = append(words, u.words(part)...)
		}
	case "sequence":
		if len(g.parts) == 1 {
			return u.words(g.parts[0])
		}
	}
	return words
}

// sequence joins parts behind a word.
func (u usageWriter) sequence(word string, parts []*grammarRule) string {
	texts := []string{word}
	for i, part := range parts {
		if part.operator == "repeat" && i > 0 && len(part.parts[0].parts) == 1 { // { "," figure } behind a figure
			last := texts[len(texts)-1]
			texts[len(texts)-1] = last + ", …"
			continue
		}
		text := u.text(part)
		if part.operator == "choice" && i+1 < len(parts) && parts[i+1].operator == "mark" { // (min|max)(P)
			text = "(" + text + ")"
		}
		texts = append(texts, text)
	}
	text := strings.TrimSpace(strings.Join(texts, " "))
	return strings.NewReplacer(" ( ", "(", " )", ")").Replace(text)
}

// ways are the alternatives of a choice.
func (u usageWriter) ways(choice *grammarRule) string {
	var ways []string
	for _, part := range choice.parts {
		ways = append(ways, u.text(part))
	}
	return strings.Join(ways, "|")
}

// text is an expression.
func (u usageWriter) text(g *grammarRule) string {
	switch g.operator {
	case "rule":
		if text := placeholders[g.text]; text != "" {
			return text
		}
		return u.text(u.rules[g.text])
	case "sequence":
		return u.sequence("", g.parts)
	case "choice":
		text := u.ways(g)
		if len(g.parts) > 1 && strings.Contains(text, " ") {
			return "(" + text + ")"
		}
		return text
	case "option":
		return "[" + u.ways(g.parts[0]) + "]"
	case "repeat": // each of the alternatives once at most
		var each []string
		for _, part := range g.parts[0].parts {
			each = append(each, "["+u.text(part)+"]")
		}
		return strings.Join(each, " ")
	default:
		return g.text
	}
}
