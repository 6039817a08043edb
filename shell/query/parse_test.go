package query

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
)

// TestParse runs testdata/parse: "parse" prints a statement's fixed spelling or its error, "scan" its
// tokens, one a line.
func TestParse(t *testing.T) {
	datadriven.Walk(t, "testdata/parse", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "parse":
				s, err := parse(d.Input, startOfText)
				if err != nil {
					return err.Error()
				}
				if word := strings.ToLower(strings.Fields(spell(s))[0]); !slices.Contains(StatementNames(), word) {
					t.Errorf("the manual has no page on %s", word)
				}
				return spell(s)
			case "scan":
				return tokens(d.Input)
			default:
				d.Fatalf(t, "got the command %q, want parse or scan", d.Cmd)
				return ""
			}
		})
	})
}

func tokens(text string) string {
	kinds := map[tokenKind]string{
		tokenName: "name", tokenQuoted: "quoted", tokenString: "string", tokenNumber: "number",
		tokenParam: "param", tokenMark: "mark", tokenBad: "bad",
	}
	var out strings.Builder
	s := newScanner(text, startOfText)
	for t := s.next(); t.kind != tokenEnd; t = s.next() {
		out.WriteString(t.pos.String() + " " + kinds[t.kind] + " " + t.text + "\n")
	}
	return out.String()
}

func TestTextErrorStartsWhereTheTextDoes(t *testing.T) {
	at := Pos{Offset: 100, Line: 7, Column: 3}
	_, err := parse("nodes\n where >= 1", at)
	parseError, ok := errors.AsType[*TextError](err)
	want := Pos{Offset: 113, Line: 8, Column: 8}
	if !ok || parseError.Pos != want {
		t.Errorf("parse from %+v: got %v, want an error at %+v", at, err, want)
	}
}

func TestCheckCondition(t *testing.T) {
	for where, want := range map[string]string{"score >": "1:8: ", "score > 0.5 limit 3": "1:13: got limit, want",
		"scroe > 1": ""} {
		err := CheckCondition(where)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("condition %q: got error %v, want %q", where, err, want)
		}
	}
}

func TestDeepNestingIsRefused(t *testing.T) {
	for _, text := range []string{
		"nodes where " + strings.Repeat("(", 100_000),
		"nodes where " + strings.Repeat("not ", 100_000),
	} {
		if _, err := parse(text, startOfText); err == nil || !strings.Contains(err.Error(), "nested") {
			t.Errorf("parse(%.20q…): got %v, want an error about nesting", text, err)
		}
	}
}

// TestManual holds that every statement of the grammar has a page, and that the examples parse.
func TestManual(t *testing.T) {
	names := StatementNames()
	if !slices.IsSorted(names) {
		t.Errorf("the pages are not in order: %v", names)
	}
	for _, name := range names {
		if _, err := parse(name, startOfText); err != nil && strings.Contains(err.Error(), "want a statement") {
			t.Errorf("%s is no statement: %v", name, err)
		}
	}
	for _, page := range append(slices.Clone(Manual()), Conditions()) {
		if page.Usage == "" || page.Summary == "" || page.Text == "" {
			t.Errorf("the page of %s lacks a part: %+v", page.Name, page)
		}
		for _, example := range page.Examples {
			if _, err := parse(example, startOfText); err != nil || page.Name != "conditions" &&
				!strings.HasPrefix(example, page.Name) {
				t.Errorf("the example %q of %s: %v", example, page.Name, err)
			}
		}
	}
}

// FuzzParse holds that no text panics, that every error points into the text, and that the fixed
// spelling of a statement parses to itself.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"suspects where score>0.97", "suspects fpr 0.05 order by score desc, id limit 3 return id",
		"nodes where label in ('a', 'it''s') and not (degree >= 3 or split is not null)",
		`count nodes where "a b" not like 'x%' group by label;`, "node it--s", "neighbors 'a b' hops 2 limit $1",
		"plan nodes where x in (-1e3, +5)", "explain $2 -- why", "nodes where a = 'open",
		"clean hops 2 preset paper", "clean as given seed 3", "clean out of fold", "clean seed 3 in sample", "undo --who ann",
		"node 1,--b",
		"accept a, 'b c' because 'it''s'", "accept all where a because 'b'", "relabel 'X' where score > 1 because $1",
		"relabel a, b 3", "undo", "history x;",
		"nodes where a is null", "suspects SAMPLE 50 seed 1 where a = 'b' limit $1", "create index on \"a b\"",
		"count nodes where a = 1 group by min, b return min(min), sum(\"a b\") order by count, min(min) desc limit 1",
		"count nodes return max(a)",
		"nodes return share('x', 2), a", "labels trusted fdr 0.05", "suspects return *", "nodes where a not like 'X%' or " +
			"share(label) > b",
		"history limit 3 where a = 'b'", "history 'limit' order by a", "neighbors where hops 2 return hop where a > 1",
		"count history group by a",
		"nodes where a != b or \"in\" >= \"a b\"", "\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parse(text, startOfText)
		if err != nil {
			pos, ok := Position(err)
			if !ok || pos.Offset > len(text) {
				t.Fatalf("parse(%q): got error %v, want a position inside %d bytes", text, err, len(text))
			}
			before := text[:pos.Offset]
			if line := 1 + strings.Count(before, "\n"); pos.Line != line {
				t.Fatalf("parse(%q): got line %d for offset %d, want %d", text, pos.Line, pos.Offset, line)
			}
			if column := 1 + utf8.RuneCountInString(before[1+strings.LastIndex(before, "\n"):]); pos.Column != column {
				t.Fatalf("parse(%q): got column %d for offset %d, want %d", text, pos.Column, pos.Offset, column)
			}
			return
		}
		spelled := spell(s)
		again, err := parse(spelled, startOfText)
		if err != nil || spell(again) != spelled {
			t.Fatalf("parse(%q) is %q, which parses to %v, %v", text, spelled, again, err)
		}
	})
}
