package query

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/cockroachdb/datadriven"

	"github.com/graphcleaner/graphcleaner/internal/longtest"
)

// A grammarRule is one expression of the grammar in the package documentation: its operator and its parts.
type grammarRule struct {
	operator string // word, mark, rule, choice, sequence, option, repeat
	text     string // of a word, mark or rule
	parts    []*grammarRule
}

// lexical are the rules that one token meets, with texts for them.
var lexical = map[string][]string{
	"string": {"'Theory'", "'it''s'", "''"}, "number": {"7", "-1.5e3", ".25", "$2"}, "parameter": {"$1", "$12"},
	"name": {"label", "score", "année"}, "word": {"p1", "b-2/c:3", "7"}, "property": {"label", `"old style"`, "suggested"},
}

// readGrammar reads the rules of doc.go above the lexical ones.
func readGrammar(t *testing.T) map[string]*grammarRule {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(doc), "//	statement  =")
	text, _, found := strings.Cut("//	statement  ="+text, "//	value      =")
	if !found {
		t.Fatal("doc.go has no grammar from statement to value")
	}
	rules := map[string]*grammarRule{
		"value": {operator: "choice", parts: []*grammarRule{
			{operator: "rule", text: "string"}, {operator: "rule", text: "number"}, {operator: "rule", text: "parameter"},
			{operator: "word", text: "true"}, {operator: "word", text: "false"},
		}},
		"id": {operator: "choice", parts: []*grammarRule{
			{operator: "rule", text: "string"}, {operator: "rule", text: "parameter"}, {operator: "rule", text: "word"},
		}},
	}
	var tokens []string
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "//")
		if remark := strings.Index(line, " .  "); remark >= 0 { // such as "(each once at most)"
			line = line[:remark+2]
		}
		if remark := strings.Index(line, " . ("); remark >= 0 {
			line = line[:remark+2]
		}
		tokens = append(tokens, strings.Fields(line)...)
	}
	for len(tokens) > 0 {
		if len(tokens) < 4 || tokens[1] != "=" {
			t.Fatalf("got %v in the grammar, want NAME = … .", tokens[:min(4, len(tokens))])
		}
		end := slices.Index(tokens, ".")
		if end < 0 {
			t.Fatalf("the rule %s has no end", tokens[0])
		}
		if name, rest := tokens[0], tokens[2:end]; lexical[name] == nil {
			rules[name] = readChoice(t, &rest)
			if len(rest) > 0 {
				t.Fatalf("the rule %s has %v behind its end", name, rest)
			}
		}
		tokens = tokens[end+1:]
	}
	return rules
}

func readChoice(t *testing.T, tokens *[]string) *grammarRule {
	t.Helper()
	choice := &grammarRule{operator: "choice"}
	for {
		sequence := &grammarRule{operator: "sequence"}
		for len(*tokens) > 0 && !slices.Contains([]string{"|", ")", "]", "}"}, (*tokens)[0]) {
			sequence.parts = append(sequence.parts, readPart(t, tokens))
		}
		choice.parts = append(choice.parts, sequence)
		if len(*tokens) == 0 || (*tokens)[0] != "|" {
			break
		}
		*tokens = (*tokens)[1:]
	}
	return choice
}

func readPart(t *testing.T, tokens *[]string) *grammarRule {
	t.Helper()
	token := (*tokens)[0]
	*tokens = (*tokens)[1:]
	closing := map[string]string{"(": ")", "[": "]", "{": "}"}[token]
	if closing != "" {
		inner := readChoice(t, tokens)
		if len(*tokens) == 0 || (*tokens)[0] != closing {
			t.Fatalf("the grammar has a %s that no %s closes", token, closing)
		}
		*tokens = (*tokens)[1:]
		return &grammarRule{operator: map[string]string{"(": "choice", "[": "option", "{": "repeat"}[token], parts: []*grammarRule{inner}}
	}
	if text, ok := strings.CutPrefix(token, `"`); ok {
		text = strings.TrimSuffix(text, `"`)
		if unicode.IsLetter([]rune(text)[0]) {
			return &grammarRule{operator: "word", text: text}
		}
		return &grammarRule{operator: "mark", text: text}
	}
	return &grammarRule{operator: "rule", text: token}
}

// A grammarWriter writes texts by the rules.
type grammarWriter struct {
	t     *testing.T
	rules map[string]*grammarRule
	r     *rand.Rand
	out   []string
	depth int
}

func (w *grammarWriter) write(g *grammarRule) {
	switch g.operator {
	case "word", "mark":
		w.out = append(w.out, g.text)
	case "rule":
		if texts := lexical[g.text]; texts != nil {
			w.out = append(w.out, texts[w.r.IntN(len(texts))])
			return
		}
		if w.rules[g.text] == nil {
			w.t.Fatalf("the grammar names %s, and has no such rule", g.text)
		}
		w.depth++
		w.write(w.rules[g.text])
		w.depth--
	case "choice":
		part := w.r.IntN(len(g.parts))
		if w.depth > 10 { // of a term, the test, which comes last
			part = len(g.parts) - 1
		}
		w.write(g.parts[part])
	case "sequence":
		for _, part := range g.parts {
			w.write(part)
		}
	case "option":
		if w.r.IntN(2) == 0 {
			w.write(g.parts[0])
		}
	case "repeat": // of several alternatives each is taken once at most
		alternatives := g.parts[0].parts
		if len(alternatives) > 1 {
			for _, i := range w.r.Perm(len(alternatives))[:w.r.IntN(len(alternatives)+1)] {
				w.write(alternatives[i])
			}
			return
		}
		for range w.r.IntN(3) {
			w.write(g.parts[0])
		}
	}
}

// ends are the places in tokens where a text by a rule ends that begins at a place.
func (g *grammarRule) ends(rules map[string]*grammarRule, tokens []token, at int) []int {
	after := func(places []int, part *grammarRule) (ends []int) {
		for _, place := range places {
			for _, end := range part.ends(rules, tokens, place) {
				if !slices.Contains(ends, end) {
					ends = append(ends, end)
				}
			}
		}
		return ends
	}
	switch g.operator {
	case "word", "mark":
		if tokens[at].is(g.text) {
			return []int{at + 1}
		}
		return nil
	case "rule":
		if lexical[g.text] == nil {
			return rules[g.text].ends(rules, tokens, at)
		}
		t, isName := tokens[at], tokens[at].kind == tokenName
		meets := map[string]bool{
			"string": t.kind == tokenString, "number": t.kind == tokenNumber || t.kind == tokenParam, "parameter": t.kind == tokenParam,
			"name": isName, "word": isName || t.kind == tokenNumber,
			"property": t.kind == tokenQuoted || isName && !reserved[strings.ToLower(t.text)],
		}
		if meets[g.text] {
			return []int{at + 1}
		}
		return nil
	case "choice":
		var ends []int
		for _, part := range g.parts {
			ends = append(ends, part.ends(rules, tokens, at)...)
		}
		return ends
	case "option":
		return append(g.parts[0].ends(rules, tokens, at), at)
	case "repeat":
		all := []int{at}
		for next := all; len(next) > 0; {
			next = slices.DeleteFunc(after(next, g.parts[0]), func(end int) bool { return slices.Contains(all, end) })
			all = append(all, next...)
		}
		return all
	default:
		places := []int{at}
		for _, part := range g.parts {
			places = after(places, part)
		}
		return places
	}
}

// TestGrammarIsParsed writes statements by the grammar of the package documentation. The parser must read all of them.
func TestGrammarIsParsed(t *testing.T) {
	rules := readGrammar(t)
	for seed := range uint64(longtest.Of(20_000, 500_000)) {
		w := &grammarWriter{t: t, rules: rules, r: rand.New(rand.NewPCG(seed, 3))}
		w.write(rules["statement"])
		text := strings.Join(w.out, " ")
		s, err := parse(text, startOfText)
		if err != nil {
			t.Fatalf("seed %d: the grammar has %q, and the parser does not: %v", seed, text, err)
		}
		if again, err := parse(spell(s), startOfText); err != nil || spell(again) != spell(s) {
			t.Fatalf("seed %d: %q is %q, which parses to %v, %v", seed, text, spell(s), again, err)
		}
	}
}

// TestParsedIsInGrammar holds that the grammar has every statement of the tests and of the manual that the parser reads.
func TestParsedIsInGrammar(t *testing.T) {
	rules := readGrammar(t)
	texts := slices.Clone(fuzzedTexts)
	for _, page := range manual {
		texts = append(texts, page.Example)
	}
	datadriven.Walk(t, "testdata/parse", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			texts = append(texts, d.Input)
			return d.Expected
		})
	})
	count := 0
	for _, text := range texts {
		s, err := parse(text, startOfText)
		if err != nil {
			continue
		}
		count++
		var tokens []token
		scan := newScanner(spell(s), startOfText)
		for t := scan.next(); ; t = scan.next() {
			tokens = append(tokens, t)
			if t.kind == tokenEnd {
				break
			}
		}
		if slices.ContainsFunc(tokens, func(t token) bool { return t.kind == tokenBad }) {
			continue // an id that is more than one token
		}
		if ends := rules["statement"].ends(rules, tokens, 0); !slices.Contains(ends, len(tokens)-1) {
			t.Errorf("the parser has %q, and the grammar does not", spell(s))
		}
	}
	if count < 50 {
		t.Errorf("only %d statements were read: the test misses its point", count)
	}
}
