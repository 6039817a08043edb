package index

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

var testSchema = schema{
	"score": {name: "score", kind: kv.KindFloat},
	"year":  {name: "year", kind: kv.KindInt},
	"label": {name: "label", kind: kv.KindString},
	"flag":  {name: "flag", kind: kv.KindBool},
	"id":    {name: "id", kind: kv.KindInt},
	"split": {name: "split", kind: kv.KindString, absent: true},
}

var (
	number = kv.ValueOf[float64]
	text   = kv.ValueOf[string]
	null   = kv.Value{}
)

func score(op Op, f float64) Predicate { return Compare{"score", op, number(f)} }
func year(op Op, i int64) Predicate    { return Compare{"year", op, kv.ValueOf(i)} }
func label(op Op, s string) Predicate  { return Compare{"label", op, text(s)} }
func and(terms ...Predicate) Predicate { return And{terms} }
func or(terms ...Predicate) Predicate  { return Or{terms} }
func not(term Predicate) Predicate     { return Not{term} }

func TestSimplify(t *testing.T) {
	for _, c := range []struct {
		p    Predicate
		want string
	}{
		{nil, "true"},
		{and(), "true"},
		{and(and(score(Gt, 1), and(label(Eq, "a"))), year(Lt, 3)), `(and (gt score 1) (eq label "a") (lt year 3))`},
		{or(score(Gt, 1), or(label(Eq, "a"), or())), `(or (gt score 1) (eq label "a"))`},
		{and(score(Gt, 1), or(and(), year(Eq, 1))), "(gt score 1)"},
		{and(score(Gt, 1), or()), "false"},

		// Not is pushed down and turns each comparison into its opposite.
		{not(and(score(Gt, 1), label(Eq, "a"))), `(or (le score 1) (ne label "a"))`},
		{not(or(score(Lt, 1), not(year(Ge, 2)))), "(and (ge score 1) (ge year 2))"},
		{not(not(score(Eq, 1))), "(eq score 1)"},
		{not(IsNull{"year"}), "(not (null year))"},
		{not(Like{Property: "label", Pattern: "a%"}), `(not (like label "a%"))`},
		{not(In{"year", []kv.Value{kv.ValueOf(2), kv.ValueOf(1), kv.ValueOf(2)}}), "(not (in year 1 2))"},

		// Two properties.
		{and(year(Gt, 1), CompareProperties{"year", Lt, "score"}, year(Gt, 2)), "(and (gt year 2) (lt year score))"},
		{not(CompareProperties{"year", Lt, "score"}), "(ge year score)"},
		{or(CompareProperties{"year", Eq, "score"}, CompareProperties{"year", Eq, "score"}), "(eq year score)"},
		{CompareProperties{"label", Ne, "split"}, "false"},
		{not(CompareProperties{"split", Ne, "label"}), "false"},

		// Ranges of one property.
		{and(score(Gt, 1), score(Gt, 2), score(Lt, 9), score(Le, 9)), "(and (gt score 2) (lt score 9))"},
		{and(score(Ge, 1), score(Gt, 1)), "(gt score 1)"},
		{and(score(Ge, 2), score(Le, 2)), "(eq score 2)"},
		{and(score(Gt, 2), score(Le, 2)), "false"},
		{and(score(Gt, 5), label(Eq, "a"), score(Lt, 3)), "false"},
		{and(score(Gt, 1), not(IsNull{"score"})), "(gt score 1)"},
		{and(score(Gt, 1), IsNull{"score"}), "false"},
		{and(score(Gt, 1), score(Ne, 0), score(Ne, 3)), "(and (gt score 1) (ne score 3))"},
		{and(year(Ne, 1), year(Ne, 2)), "(not (in year 1 2))"},

		// Points.
		{or(label(Eq, "b"), label(Eq, "a"), label(Eq, "b")), `(in label "a" "b")`},
		{or(In{"label", []kv.Value{text("a")}}, label(Eq, "c")), `(in label "a" "c")`},
		{and(In{"year", []kv.Value{kv.ValueOf(1), kv.ValueOf(2), kv.ValueOf(3)}}, year(Gt, 1), year(Ne, 3)), "(eq year 2)"},
		{and(year(Eq, 1), year(Eq, 2)), "false"},
		{and(In{"label", []kv.Value{text("ab"), text("b")}}, Like{Property: "label", Pattern: "a%"}), `(eq label "ab")`},
		{Like{Property: "label", Pattern: `a\%`}, `(eq label "a%")`},
		{not(Like{Property: "label", Pattern: `a\_`}), `(ne label "a_")`},

		// Null.
		{label(Eq, "a"), `(eq label "a")`},
		{Compare{"score", Eq, null}, "false"},
		{not(Compare{"score", Eq, null}), "false"},
		{In{"year", []kv.Value{null}}, "false"},
		{In{"year", []kv.Value{null, kv.ValueOf(1)}}, "(eq year 1)"},
		{not(In{"year", []kv.Value{null, kv.ValueOf(1)}}), "false"},
		{In{"year", nil}, "false"},
		{not(In{"year", nil}), "true"},

		// Constants of another kind of number.
		{Compare{"year", Gt, number(2018.5)}, "(gt year 2018)"},
		{Compare{"year", Le, number(2018.5)}, "(le year 2018)"},
		{Compare{"year", Lt, number(2018.5)}, "(le year 2018)"},
		{Compare{"year", Eq, number(2018)}, "(eq year 2018)"},
		{Compare{"year", Eq, number(2018.5)}, "false"},
		{Compare{"year", Ne, number(2018.5)}, "(not (null year))"},
		{Compare{"year", Lt, number(math.Inf(-1))}, "false"},
		{Compare{"year", Gt, number(math.Inf(-1))}, "(not (null year))"},
		{Compare{"score", Ge, kv.ValueOf(1<<53 + 1)}, "(gt score 9.007199254740992e+15)"},
		{Compare{"id", Eq, text("17")}, "(eq id 17)"},
		{Compare{"id", Eq, text("017")}, "false"},
		{Compare{"id", Ne, text("x")}, "(not (null id))"},

		// A built-in property the store does not have.
		{Compare{"split", Eq, text("train")}, "false"},
		{not(Compare{"split", Eq, text("train")}), "false"},
		{IsNull{"split"}, "true"},
		{not(IsNull{"split"}), "false"},
		{and(score(Gt, 1), IsNull{"split"}), "(gt score 1)"},
	} {
		got := testSchema.simplify(c.p)
		if got.String() != c.want {
			t.Errorf("simplify %v: got %v, want %s", c.p, got, c.want)
		}
		if again := testSchema.simplify(got); again.String() != c.want {
			t.Errorf("simplify %v once more: got %v, want %s", got, again, c.want)
		}
	}
}

func TestLike(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"%", "", true}, {"%%", "abc", true},
		{"abc", "abc", true}, {"abc", "Abc", false}, {"a_c", "abc", true}, {"a_c", "ac", false},
		{"_", "é", true}, {"_", "数", true}, {"__", "é", false},
		{"a%", "a", true}, {"a%", "ba", false}, {"%a", "ba", true}, {"%a", "ab", false},
		{"%aa%", "a", false}, {"%aa%aa%", "aaa", false}, {"%aa%aa%", "aaaa", true},
		{"a%a", "a", false}, {"a%a", "aa", true}, {"%ab%b", "ab", false}, {"%ab%b", "abb", true},
		{`100\%`, "100%", true}, {`100\%`, "1000", false}, {`a\_`, "a_", true}, {`a\_`, "ab", false},
		{`a\\`, `a\`, true}, {`a\`, `a\`, true}, {"%_", "", false}, {"%_", "ab", true}, {"_%_", "a", false},
	} {
		if got := (Like{Pattern: c.pattern}).parse().match(c.text); got != c.want {
			t.Errorf("%q like %q: got %t, want %t", c.text, c.pattern, got, c.want)
		}
		if slow := slowLike([]rune(c.text), []rune(c.pattern)); slow != c.want {
			t.Errorf("the definition of %q like %q: got %t, want %t", c.text, c.pattern, slow, c.want)
		}
	}
}

func TestTypeError(t *testing.T) {
	for _, c := range []struct {
		p    Predicate
		want string // "" for none
	}{
		{label(Gt, "a"), ""},
		{Compare{"label", Eq, number(1)}, "property label holds strings and cannot be compared with the number 1"},
		{not(Compare{"score", Gt, text("high")}),
			`property score holds numbers and cannot be compared with the string "high"`},
		{or(In{"year", []kv.Value{kv.ValueOf(1), text("2019")}}),
			`property year holds integers and cannot be compared with the string "2019": want 2019 without quotes`},
		{Like{Property: "year", Pattern: "20%"}, `property year holds integers and cannot be compared with the string "20%"`},
		{CompareProperties{"year", Lt, "score"}, ""},
		{CompareProperties{"year", Lt, "label"}, "property year holds integers and cannot be compared with label, which " +
			"holds strings"},
		{Compare{"flag", Eq, kv.ValueOf(1)}, "property flag holds true or false and cannot be compared with the number 1"},
		{Compare{"score", Eq, kv.ValueOf(true)}, "property score holds numbers and cannot be compared with true"},
		{Compare{"year", Lt, number(1.5)}, ""},
		{Compare{"score", Lt, kv.ValueOf(1)}, ""},
		{Compare{"score", Lt, null}, ""},
		{Compare{"id", Eq, text("x")}, ""},
		{Compare{"id", Lt, text("12")},
			`the ids of this store are integers, and text has no order among them: got the string "12", want a number without quotes`},
		{Compare{"id", Lt, text("x")},
			`the ids of this store are integers, and text has no order among them: got the string "x", want a number without quotes`},
		{Compare{"id", Eq, text("12")}, ""},
		{Compare{"id", Eq, kv.ValueOf(true)}, "ids cannot be compared with true"},
		{Like{Property: "id", Pattern: "1%"}, ""},
		{Compare{"split", Eq, number(1)}, "property split holds strings and cannot be compared with the number 1"},
	} {
		err := testSchema.check(c.p)
		got := ""
		if err != nil {
			got = err.Error()
			var typed *TypeError
			if !errors.As(err, &typed) || typed.Property == "" {
				t.Errorf("check %v: got %T, want a *TypeError naming its property", c.p, err)
			}
		}
		if got != c.want {
			t.Errorf("check %v:\ngot  %s\nwant %s", c.p, got, c.want)
		}
	}
}

func TestProperties(t *testing.T) {
	p := and(score(Gt, 1), not(or(label(Eq, "a"), score(Lt, 2))), IsNull{"split"}, In{"id", nil},
		Like{Property: "label", Pattern: "x"})
	if got, want := Properties(p), []string{"score", "label", "split", "id"}; !slices.Equal(got, want) {
		t.Errorf("properties of %v: got %q, want %q", p, got, want)
	}
	if got := Properties(nil); len(got) > 0 {
		t.Errorf("properties of no predicate: got %q, want none", got)
	}
}
