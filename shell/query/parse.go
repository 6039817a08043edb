package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// parse reads one statement that starts at a place; a semicolon may end it.
func parse(text string, at Pos) (statement, error) {
	p := newParser(text, at)
	return p.statement()
}

// statement = body [ ";" ] .
func (p *parser) statement() (statement, error) {
	s, err := p.body()
	if err != nil {
		return nil, err
	}
	if p.acceptAs(";", "the end of the statement") {
		p.wants = append(p.wants, want{label: "nothing after the statement"})
	}
	if p.current.kind != tokenEnd {
		return nil, p.fail()
	}
	return s, nil
}

// body = suspects | nodes | labels | count | plan | node | neighbors | explain | clean | rescore | audit | decide | undo | history | index
//
//	| classes | "agreement" | … .
func (p *parser) body() (statement, error) {
	first := p.current
	switch {
	case p.accept("suspects"):
		return p.suspects()
	case p.accept("nodes"):
		return p.nodes()
	case p.accept("labels"):
		return p.labels()
	case p.accept("count"):
		return p.count()
	case p.accept("plan"):
		return p.plan()
	case p.accept("node"):
		return p.node()
	case p.accept("neighbors"):
		p.list = "neighbors"
		return p.neighbors()
	case p.accept("explain"):
		return p.explain()
	case p.accept("classes"):
		p.list = "classes"
		s := &classesStatement{}
		return s, p.filters(&s.clauses)
	case p.accept("clean"):
		return p.clean()
	case p.accept("rescore"):
		return &rescoreStatement{full: p.accept("full")}, nil
	case p.accept("audit"):
		return p.audit()
	case p.accept("undo"):
		return p.undo()
	case p.accept("history"):
		p.list = "history"
		return p.history()
	}
	for _, kind := range decisionKinds {
		if p.accept(kind.String()) {
			return p.decide(kind)
		}
	}
	for _, verb := range []string{"create", "drop"} {
		if p.accept(verb) {
			return p.index(verb)
		}
	}
	for _, word := range bareStatements {
		if p.accept(word) {
			return &wordStatement{word: word}, nil
		}
	}
	if first.is("select") {
		return nil, p.selection()
	}
	if first.is("show") {
		return nil, p.show()
	}
	if slices.ContainsFunc(wordsOf(allClauses), first.is) {
		return nil, &ParseError{Pos: first.pos, Msg: fmt.Sprintf("%s is no statement, and belongs behind one, as in: suspects %[1]s …", first)}
	}
	if first.kind == tokenName {
		return nil, &ParseError{Pos: first.pos, Msg: fmt.Sprintf("unknown statement %s%s (statements: %s)",
			first.text, wording.DidYouMean(first.text, readingNames()), strings.Join(StatementNames(), ", "))}
	}
	p.wants = []want{{label: "a statement (" + strings.Join(StatementNames(), ", ") + ")", words: StatementNames()}}
	return nil, p.fail()
}

// readingNames are the names of the statements that only read, which may be tried without harm.
func readingNames() []string {
	return slices.DeleteFunc(StatementNames(), func(name string) bool {
		isDecision := slices.ContainsFunc(decisionKinds, func(kind decide.Kind) bool { return kind.String() == name })
		return isDecision || slices.Contains([]string{"audit", "clean", "create", "drop", "rescore", "undo"}, name)
	})
}

// bareStatements are those of one word.
var bareStatements = []string{"agreement", "describe", "noise", "runs", "stats"}

// suspects = "suspects" [ guarantee | fdr ] clauses .
func (p *parser) suspects() (statement, error) {
	s, err := p.chosenSuspects()
	if err != nil {
		return nil, err
	}
	return s, p.clauses(&s.clauses)
}

// chosenSuspects = [ guarantee | fdr ] .
func (p *parser) chosenSuspects() (s *suspectsStatement, err error) {
	s = &suspectsStatement{}
	if s.guarantee, err = p.guarantee(); err != nil || s.guarantee != nil {
		return s, err
	}
	if p.accept("fdr") {
		s.promise, err = p.promised(cleaner.ListSuspects)
	}
	return s, err
}

// promised reads the share behind fdr.
func (p *parser) promised(kind cleaner.ListKind) (*promise, error) {
	share, err := p.number("a share, as 0.1")
	return &promise{kind: kind, share: share}, err
}

// labels = "labels" trusted clauses .
func (p *parser) labels() (statement, error) {
	s := &nodesStatement{}
	var err error
	if s.promise, err = p.trusted(); err != nil {
		return nil, err
	}
	return s, p.clauses(&s.clauses)
}

// trusted = "trusted" "fdr" number .
func (p *parser) trusted() (*promise, error) {
	for _, word := range []string{"trusted", "fdr"} {
		if err := p.expect(word); err != nil {
			return nil, err
		}
	}
	return p.promised(cleaner.ListTrusted)
}

// guarantee = ( "fpr" | "fnr" ) number [ "p" number ] .
func (p *parser) guarantee() (*guarantee, error) {
	for _, kind := range []string{"fpr", "fnr"} {
		if !p.accept(kind) {
			continue
		}
		alpha, err := p.number("an error rate, as 0.05")
		if err != nil {
			return nil, err
		}
		g := &guarantee{kind: kind, alpha: alpha}
		if p.accept("p") {
			rate, err := p.number("a mislabel rate, as 0.1")
			if err != nil {
				return nil, err
			}
			g.rate = &rate
		}
		return g, nil
	}
	return nil, nil
}

// nodes = "nodes" clauses .
func (p *parser) nodes() (statement, error) {
	s := &nodesStatement{}
	return s, p.clauses(&s.clauses)
}

// clauses = { where | sample | order | limit | offset | return } , each at most once.
func (p *parser) clauses(c *clauses) error { return p.clausesOf(c, allClauses) }

// filters = { where | order | limit | offset | return } , each at most once.
func (p *parser) filters(c *clauses) error { return p.clausesOf(c, filterClauses) }

// A clause begins with its word.
type clause struct {
	word string
	has  func(*clauses) bool
	read func(*parser, *clauses) error
}

var (
	allClauses = []clause{
		{"where", func(c *clauses) bool { return c.where != nil }, func(p *parser, c *clauses) (err error) {
			c.where, err = p.expression()
			return err
		}},
		{"sample", func(c *clauses) bool { return c.sample != nil }, func(p *parser, c *clauses) (err error) {
			c.sample, err = p.sample()
			return err
		}},
		{"order", func(c *clauses) bool { return c.order != nil }, func(p *parser, c *clauses) (err error) {
			c.order, err = p.order(false)
			return err
		}},
		{"limit", func(c *clauses) bool { return c.limit != nil }, func(p *parser, c *clauses) (err error) {
			c.limit, err = p.limit()
			return err
		}},
		{"offset", func(c *clauses) bool { return c.offset != nil }, func(p *parser, c *clauses) (err error) {
			c.offset, err = p.offset()
			return err
		}},
		{"return", func(c *clauses) bool { return c.returned != nil }, func(p *parser, c *clauses) (err error) {
			c.returned, err = p.returned()
			return err
		}},
	}

	// filterClauses are those of rows that are not drawn at random, and filterWords their words.
	filterClauses = slices.DeleteFunc(slices.Clone(allClauses), func(c clause) bool { return c.word == "sample" })
	filterWords   = wordsOf(filterClauses)
)

func wordsOf(of []clause) (words []string) {
	for _, c := range of {
		words = append(words, c.word)
	}
	return words
}

func (p *parser) clausesOf(c *clauses, known []clause) error {
	for {
		i := slices.IndexFunc(known, func(of clause) bool { return !of.has(c) && p.accept(of.word) })
		if i < 0 {
			return nil
		}
		if err := known[i].read(p, c); err != nil {
			return err
		}
	}
}

// sample = "sample" number [ "seed" number ] .
func (p *parser) sample() (*sample, error) {
	size, err := p.number("a number of rows")
	if err != nil {
		return nil, err
	}
	s := &sample{size: &size}
	if p.accept("seed") {
		seed, err := p.number("a whole number")
		if err != nil {
			return nil, err
		}
		s.seed = &seed
	}
	return s, nil
}

// limit = "limit" number .
func (p *parser) limit() (*literal, error) {
	limit, err := p.number("a number of rows")
	return &limit, err
}

// offset = "offset" number .
func (p *parser) offset() (*literal, error) {
	offset, err := p.number("a number of rows to leave out")
	return &offset, err
}

// returned = "return" [ "distinct" ] ( "*" | figure [ "as" property ] { "," figure [ "as" property ] } ) .
func (p *parser) returned() (*returned, error) {
	r := &returned{}
	ahead := *p
	ahead.wants = nil
	ahead.advance()
	switch { // alone, distinct is a property
	case !p.current.is("distinct"):
		p.wants = append(p.wants, want{words: []string{"distinct"}})
	case ahead.current.is("*") || ahead.atProperty() || ahead.current.kind == tokenEnd:
		p.advance()
		r.distinct = true
	}
	if r.all = p.acceptAs("*", "* (all)"); r.all {
		return r, nil
	}
	for {
		of, err := p.figure()
		if err != nil {
			return nil, err
		}
		column := returnedColumn{of: of}
		if p.accept("as") {
			if column.as, err = p.alias(); err != nil {
				return nil, err
			}
		}
		if r.columns = append(r.columns, column); !p.accept(",") {
			return r, nil
		}
	}
}

// order = "order" "by" figure [ "asc" | "desc" ] { "," figure [ "asc" | "desc" ] } . Groups are ordered by totals too.
func (p *parser) order(ofGroups bool) ([]orderTerm, error) {
	if err := p.expect("by"); err != nil {
		return nil, err
	}
	var terms []orderTerm
	for {
		var term orderTerm
		var err error
		if ofGroups && p.atFunction(totalFunctions...) {
			term.total, err = p.total()
		} else {
			term.by, err = p.figure()
		}
		if err != nil {
			return nil, err
		}
		ascending := p.accept("asc")
		term.descending = !ascending && p.accept("desc")
		if terms = append(terms, term); !p.accept(",") {
			return terms, nil
		}
	}
}

// figures = figure { "," figure } .
func (p *parser) figures() ([]name, error) {
	var names []name
	for {
		n, err := p.figure()
		if err != nil {
			return nil, err
		}
		names = append(names, n)
		if !p.accept(",") {
			return names, nil
		}
	}
}

// count = "count" ( "suspects" [ guarantee | fdr ] | "nodes" | "labels" trusted | "history" ) [ where ] ( [ totals ] | group { totals | rank | limit | offset } ) .
func (p *parser) count() (statement, error) {
	s, err := p.countOfNodes()
	if err == nil && s == nil && p.accept("history") {
		p.list = "history"
		history := &historyStatement{}
		s = &countStatement{of: history}
		err = p.counted(s, &history.clauses)
	}
	if err == nil && s == nil {
		err = p.fail()
	}
	return s, err
}

// countOfNodes reads a count of suspects or nodes, nil of anything else.
func (p *parser) countOfNodes() (*countStatement, error) {
	s := &countStatement{}
	var of *clauses
	switch {
	case p.accept("suspects"):
		suspects, err := p.chosenSuspects()
		if err != nil {
			return nil, err
		}
		s.of, of = suspects, &suspects.clauses
	case p.accept("nodes"):
		nodes := &nodesStatement{}
		s.of, of = nodes, &nodes.clauses
	case p.accept("labels"):
		trusted, err := p.trusted()
		if err != nil {
			return nil, err
		}
		nodes := &nodesStatement{promise: trusted}
		s.of, of = nodes, &nodes.clauses
	default:
		return nil, nil
	}
	return s, p.counted(s, of)
}

// counted reads what a count counts, and in which groups.
func (p *parser) counted(s *countStatement, of *clauses) error {
	if p.accept("where") {
		var err error
		if of.where, err = p.expression(); err != nil {
			return err
		}
	}
	var err error
	for err == nil {
		switch {
		case s.groupBy == nil && s.totals == nil && p.accept("group"):
			if err = p.expect("by"); err == nil {
				s.groupBy, err = p.figures()
			}
		case s.totals == nil && p.accept("return"):
			s.totals, err = p.totals()
		case s.groupBy != nil && s.order == nil && p.accept("order"):
			s.order, err = p.order(true)
		case s.groupBy != nil && s.limit == nil && p.accept("limit"):
			s.limit, err = p.limit()
		case s.groupBy != nil && s.offset == nil && p.accept("offset"):
			s.offset, err = p.offset()
		default:
			return nil
		}
	}
	return err
}

// totals = "return" total [ "as" property ] { "," total [ "as" property ] } .
func (p *parser) totals() ([]total, error) {
	var totals []total
	for {
		t, err := p.total()
		if err != nil {
			return nil, err
		}
		if p.accept("as") {
			if t.as, err = p.alias(); err != nil {
				return nil, err
			}
		}
		if totals = append(totals, *t); !p.accept(",") {
			return totals, nil
		}
	}
}

// alias is a property, as a name that the statement gives to a column.
func (p *parser) alias() (*name, error) {
	if !p.atProperty() {
		p.wants = append(p.wants, want{label: "a name for the column"})
		return nil, p.fail()
	}
	as, err := p.property()
	return &as, err
}

// totalFunctions are what totals have of the values of a property.
var totalFunctions = []string{"min", "max", "avg", "sum"}

// total = ( "min" | "max" | "avg" | "sum" ) "(" figure ")" .
func (p *parser) total() (*total, error) {
	for _, function := range totalFunctions {
		t := &total{function: function, pos: p.current.pos}
		if !p.accept(function) {
			continue
		}
		err := p.expect("(")
		if err == nil {
			t.of, err = p.figure()
		}
		if err == nil {
			err = p.expect(")")
		}
		return t, err
	}
	return nil, p.fail()
}

// plan = "plan" ( suspects | nodes | labels | count ) .
func (p *parser) plan() (statement, error) {
	count := func() (statement, error) {
		s, err := p.countOfNodes()
		if err == nil && s == nil {
			err = p.fail()
		}
		return s, err
	}
	for _, of := range []struct {
		name  string
		parse func() (statement, error)
	}{{"suspects", p.suspects}, {"nodes", p.nodes}, {"labels", p.labels}, {"count", count}} {
		if p.accept(of.name) {
			s, err := of.parse()
			return &planStatement{of: s}, err
		}
	}
	return nil, p.fail()
}

// node = "node" ids .
func (p *parser) node() (statement, error) {
	ids, err := p.ids()
	return &nodeStatement{ids: ids}, err
}

// explain = "explain" id .
func (p *parser) explain() (statement, error) {
	first := p.current
	id, err := p.id()
	if err == nil && p.current.kind == tokenName && (first.is("suspects") || first.is("nodes") || first.is("count")) {
		return nil, &ParseError{Pos: first.pos,
			Msg: fmt.Sprintf("explain is about a node; how a query is answered says: plan %s …", first)}
	}
	return &explainStatement{id: id}, err
}

// neighbors = "neighbors" id [ "hops" number ] filters .
func (p *parser) neighbors() (statement, error) {
	id, err := p.id()
	if err != nil {
		return nil, err
	}
	s := &neighborsStatement{id: id}
	if p.accept("hops") {
		hops, err := p.number("a number of hops")
		if err != nil {
			return nil, err
		}
		s.hops = &hops
	}
	return s, p.filters(&s.clauses)
}

// clean = "clean" { "hops" number | "preset" ( "default" | "paper" ) | "direction" ( "out" | "in" | "both" )
//
//	| "threshold" number | "expect" number | "seed" number | imported } , each at most once.
func (p *parser) clean() (statement, error) {
	s := &cleanStatement{}
	number := func(into **literal, label string) error {
		l, err := p.number(label)
		*into = &l
		return err
	}
	type option struct {
		name string
		read func() error
	}
	options := []option{
		{"hops", func() error { return number(&s.hops, "a number of hops") }},
		{"preset", func() (err error) {
			s.preset, err = oneOf(p, cleaner.PresetDefault, cleaner.PresetPaper)
			return err
		}},
		{"direction", func() (err error) {
			s.direction, err = oneOf(p, kv.Out, kv.In, kv.Both)
			return err
		}},
		{"threshold", func() error { return number(&s.threshold, "a score between 0 and 1") }},
		{"expect", func() error { return number(&s.expect, "a share between 0 and 1") }},
		{"seed", func() error { return number(&s.seed, "a whole number") }},
	}
	for {
		i := slices.IndexFunc(options, func(o option) bool { return p.accept(o.name) })
		if i < 0 && s.imported == "" {
			if err := p.imported(&s.imported); err != nil {
				return nil, err
			}
			if s.imported != "" {
				continue
			}
		}
		if i < 0 {
			return s, nil
		}
		if err := options[i].read(); err != nil {
			return nil, err
		}
		options = slices.Delete(options, i, i+1)
	}
}

// imported = [ "out" "of" "fold" | "in" "sample" | "as" "given" ] .
func (p *parser) imported(into *cleaner.Imported) error {
	for _, imported := range []cleaner.Imported{cleaner.OutOfFold, cleaner.InSample, cleaner.AsGiven} {
		words := strings.Fields(string(imported))
		if !p.accept(words[0]) {
			continue
		}
		*into = imported
		for _, word := range words[1:] {
			if err := p.expect(word); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// oneOf reads one of some words, each the printed form of a value.
func oneOf[T any](p *parser, values ...T) (none T, err error) {
	for _, value := range values {
		if p.accept(fmt.Sprint(value)) {
			return value, nil
		}
	}
	return none, p.fail()
}

// atEnd reports whether a statement is over where one more thing could follow.
func (p *parser) atEnd(more want) bool {
	if p.current.kind != tokenEnd && !p.current.is(";") {
		return false
	}
	p.wants = append(p.wants, more)
	return true
}

// index = ( "create" | "drop" ) "index" "on" property .
func (p *parser) index(verb string) (statement, error) {
	for _, word := range []string{"index", "on"} {
		if err := p.expect(word); err != nil {
			return nil, err
		}
	}
	property, err := p.property()
	return &indexStatement{verb: verb, property: property}, err
}
