package query

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// lexical are the rules that one token meets, with texts for them.
var lexical = map[string][]string{
	"string": {"'Theory'", "'it''s'", "''"}, "number": {"7", "-1.5e3", ".25", "$2"}, "parameter": {"$1", "$12"},
	"name": {"label", "score", "année"}, "word": {"p1", "b-2/c:3", "7"}, "property": {"label", `"old style"`, "suggested"},
}

// readGrammar returns the rules of the grammar, with those of values and ids.
func readGrammar(t *testing.T) map[string]*grammarRule {
	t.Helper()
	read := must.Get(grammar())(t)
	rules := maps.Clone(read)
	rules["value"] = &grammarRule{operator: "choice", parts: []*grammarRule{
		{operator: "rule", text: "string"}, {operator: "rule", text: "number"}, {operator: "rule", text: "parameter"},
		{operator: "word", text: "true"}, {operator: "word", text: "false"},
	}}
	rules["id"] = &grammarRule{operator: "choice", parts: []*grammarRule{
		{operator: "rule", text: "string"}, {operator: "rule", text: "parameter"}, {operator: "rule", text: "word"},
	}}
	return rules
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
	for seed := range uint64(longtest.Of(2_000, 500_000)) {
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

// TestManualIsOfTheGrammar holds that every statement of the manual has its forms from the grammar, and has pages for some of them.
func TestManualIsOfTheGrammar(t *testing.T) {
	must.Get(grammar())(t)
	usage := map[string][]string{}
	for _, page := range Manual() {
		usage[page.Name] = page.Usage
		if len(page.Usage) == 0 || !strings.HasPrefix(page.Usage[0], page.Name) {
			t.Errorf("the usage of %s is %q", page.Name, page.Usage)
		}
	}
	for name, want := range map[string][]string{
		"unsure": {"unsure ID, … [if CONDITION] [because 'WHY']", "unsure [all] where CONDITION [limit N] [because 'WHY']"},
		"plan":   {"plan suspects …", "plan nodes …", "plan labels …", "plan count …"},
		"suspects": {"suspects [fpr|fnr N [p N]|fdr N] [where CONDITION] [sample N [seed N]] [order by P [asc|desc], …] [limit N] [offset N] " +
			"[return [distinct] (*|P [as NAME], …)]"},
		"count": {
			"count (suspects [fpr|fnr N [p N]|fdr N]|nodes|labels trusted fdr N) [where CONDITION] ([return (min|max|avg|sum)(P) [as NAME], …]|" +
				"group by P, … [return (min|max|avg|sum)(P) [as NAME], …] [order by (min|max|avg|sum)(P)|P [asc|desc], …] [limit N] [offset N])",
			"count history [where CONDITION] ([return (min|max|avg|sum)(P) [as NAME], …]|" +
				"group by P, … [return (min|max|avg|sum)(P) [as NAME], …] [order by (min|max|avg|sum)(P)|P [asc|desc], …] [limit N] [offset N])",
		},
	} {
		if !slices.Equal(usage[name], want) {
			t.Errorf("the usage of %s is\n%s\nwant\n%s", name, strings.Join(usage[name], "\n"), strings.Join(want, "\n"))
		}
	}
}
