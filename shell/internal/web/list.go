package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A list is suspects, or nodes, that meet a condition.
type list struct {
	Of    string `json:"of"` // suspects or nodes
	Where string `json:"where"`
	Sort  string `json:"sort"` // a property, with desc behind it or not; "" is the order of the statement
	Page  int    `json:"page"` // from 1
	Count int64  `json:"count"`
	Rows  []row  `json:"rows"`

	Typed    string       `json:"-"` // the filter line: Where, or words that it stands for
	Error    *markedError `json:"-"` // of the filter line: the list is that before it
	More     bool         `json:"-"` // there may be more than Count: they are being counted
	ReadOnly bool         `json:"-"`
	Pages    int          `json:"pages"`
	Filters  []filter     `json:"filters"`
	Notices  []string     `json:"notices,omitempty"`
}

// A row is a node of a list.
type row struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	Label      string   `json:"label"`
	Suggested  string   `json:"suggested"`
	Score      *float64 `json:"score"`
	Confidence *float64 `json:"confidence"`
	Decision   string   `json:"decision"`
	DecidedBy  string   `json:"decided_by,omitempty"`
	Disputed   bool     `json:"disputed,omitempty"`
	Colors     [2]int   `json:"-"`
}

// A markedError is a condition with a mark under the word that is wrong.
type markedError struct{ Before, Word, After, Error string }

// pageRows are the rows of a page.
const pageRows = 50

var listParameters = []parameter{
	{"of", "`suspects` or `nodes`. Empty: suspects."}, {"where", "A condition."},
	{"sort", "A property, and `desc` behind it for the greatest first. Empty: the order of the statement."}, {"page", "From 1."},
}

// orders are the columns that a list can be sorted by.
var orders = []string{"id", kv.LabelColumn, cleaner.SuggestedColumn, cleaner.ScoreColumn, cleaner.ConfidenceColumn, decide.Column}

// list lists. Where the filter line has an error, the page has the list that it was typed at.
func (s *Server) list(r *http.Request) (answer, error) {
	a := answer{page: "list", title: "List"}
	err := s.snapshot(func(tx *kv.Tx) error {
		view, err := s.listOf(r, tx, r.URL.Query())
		if _, wrong := query.Position(err); wrong && !wantsJSON(r) {
			a.status = http.StatusBadRequest
			typed, of, marked := view.Typed, view.Of, markWord(view.Typed, err)
			was, _ := url.ParseQuery(strings.TrimPrefix(r.FormValue("was"), "list?")) //nolint:errcheck // what can be read of it
			if view, err = s.listOf(r, tx, was); err != nil {
				view, err = s.listOf(r, tx, url.Values{"of": {of}})
			}
			view.Typed, view.Error = typed, marked
		}
		if err == nil {
			view.Filters, err = savedFilters(tx)
		}
		a.view = view
		return err
	})
	return a, err
}

// listOf is the list that the fields of an address name.
func (s *Server) listOf(r *http.Request, tx *kv.Tx, fields url.Values) (list, error) {
	view := list{Of: fields.Get("of"), Typed: strings.TrimSpace(fields.Get("where")), Sort: fields.Get("sort"), Page: 1, Pages: 1, Rows: []row{}, ReadOnly: s.ReadOnly}
	if err := checkOf(&view.Of); err != nil {
		return view, err
	}
	if property, desc, _ := strings.Cut(view.Sort, " "); view.Sort != "" && (!slices.Contains(orders, property) || desc != "" && desc != "desc") {
		return view, badRequest("The order is %q: want one of %s, with desc behind it or not.", view.Sort, strings.Join(orders, ", "))
	}
	if text := fields.Get("page"); fields.Has("page") {
		page, err := strconv.Atoi(text)
		if err != nil || page < 1 || page > 1<<20 {
			return view, badRequest("The page is %q: want a number from 1.", text)
		}
		view.Page = page
	}
	view.Where = s.conditionOf(tx, view.Typed)
	return view, s.fill(r.Context(), tx, &view, wantsJSON(r))
}

// plainWords are what people type in search of a text: a condition has signs, or begins with a property and a word of the language.
var plainWords = regexp.MustCompile(`^[\pL\pN][\pL\pN\pM ._,:;/&+-]*$`)

// conditionOf is the condition that the filter line stands for. Plain words ask for nodes whose title or text has them.
func (s *Server) conditionOf(tx *kv.Tx, typed string) string {
	if !plainWords.MatchString(typed) {
		return typed
	}
	words := strings.Fields(typed)
	candidates, _ := query.Complete(tx, "suspects where ")
	isProperty := func(word string) bool {
		return slices.ContainsFunc(candidates, func(c query.Candidate) bool { return strings.EqualFold(c.Text, word) })
	}
	goesOn := len(words) == 1 || slices.Contains([]string{"is", "in", "like", "ilike", "between", "not", "and", "or"}, strings.ToLower(words[1]))
	if strings.EqualFold(words[0], "not") || isProperty(words[0]) && goesOn {
		return typed
	}
	var tests []string
	for _, column := range []string{s.Columns.Title, s.Columns.Text} {
		if column == "" {
			continue
		}
		if !isProperty(column) {
			column = `"` + strings.ReplaceAll(column, `"`, `""`) + `"`
		}
		tests = append(tests, column+" ilike "+query.Quote("%"+strings.ReplaceAll(strings.Join(words, " "), "_", `\_`)+"%"))
	}
	if tests == nil {
		return typed
	}
	return strings.Join(tests, " or ")
}

// Only is the address of the list with one class alone, in a property.
func (l list) Only(property, class string) string {
	test := property + " = " + query.Quote(class)
	if class == "" {
		test = property + " is null"
	}
	switch {
	case l.Where == "" || strings.Contains(l.Where, "--"): // behind a comment there is nothing more
		l.Where = test
	case !strings.Contains(l.Where, test):
		l.Where = test + " and (" + l.Where + ")"
	}
	return l.link(l.Sort, 1)
}

// checkOf refuses what is neither suspects nor nodes. Suspects may stay unsaid.
func checkOf(of *string) error {
	if *of = cmp.Or(*of, "suspects"); *of != "suspects" && *of != "nodes" {
		return badRequest("The list is of %q: want suspects or nodes.", wording.Short(*of))
	}
	return nil
}

// fill finds the rows of a page, and then counts all. Who is not patient gets the count only if it does not take long.
func (s *Server) fill(ctx context.Context, tx *kv.Tx, l *list, patient bool) error {
	condition, err := query.ParseCondition(l.Where)
	if err != nil {
		return err
	}
	commit, err := tx.LastCommit()
	if err != nil {
		return err
	}
	of := selection{of: l.Of, where: l.Where, condition: condition}
	if l.Sort != "" {
		of.order = " order by " + l.Sort
	}
	nodes, notices, err := s.page(ctx, tx, commit, of, (l.Page-1)*pageRows, l.Page*pageRows)
	if err != nil {
		return err
	}
	switch l.Count = int64((l.Page-1)*pageRows + len(nodes)); {
	case len(nodes) > 0 && len(nodes) < pageRows, l.Count == 0:
	case patient || len(nodes) == 0:
		if l.Count, err = s.countNow(ctx, tx, commit, of); err != nil {
			return err
		}
	default:
		if n, ok := s.countSoon(ctx, commit, of); ok {
			l.Count = n
		} else {
			l.More = true
		}
	}
	l.Pages = max(1, int((l.Count+pageRows-1)/pageRows))
	if l.Page > l.Pages { // the last page has less
		l.Page = l.Pages
		if nodes, notices, err = s.page(ctx, tx, commit, of, (l.Page-1)*pageRows, l.Page*pageRows); err != nil {
			return err
		}
	}
	l.Notices = notices
	names := []string{"id", kv.LabelColumn, decide.Column, decide.DecidedByColumn, decide.DisputedColumn}
	switch _, err := query.LastRun(tx); {
	case err == nil:
		names = append(names, cleaner.SuggestedColumn, cleaner.ScoreColumn, cleaner.ConfidenceColumn)
	case !errors.Is(err, query.ErrNotCleaned):
		return err
	}
	scored := slices.Contains(names, cleaner.ScoreColumn)
	if s.Columns.Title != "" {
		names = append(names, s.Columns.Title)
	}
	cells, err := query.NewFetcher(tx, names, s.Query.Workers)
	if err != nil {
		return err
	}
	rows, err := cells.Fetch(ctx, nodes)
	if err != nil {
		return err
	}
	about := survey.New(tx, kv.Both, s.Columns)
	for _, values := range rows {
		l.Rows = append(l.Rows, rowOf(about, values, scored))
	}
	return nil
}

// rowOf is a row of the columns of a list: those of a run are there if scored, and the title may be the last.
func rowOf(about *survey.Surveyor, values []kv.Value, scored bool) row {
	r := row{ID: values[0].String(), Label: values[1].String(), Decision: values[2].String(), DecidedBy: values[3].String(), Disputed: !values[4].IsNull()}
	rest := values[5:]
	if scored {
		number := func(value kv.Value) *float64 {
			if value.IsNull() {
				return nil
			}
			return finite(value.Float())
		}
		r.Suggested, r.Score, r.Confidence = rest[0].String(), number(rest[1]), number(rest[2])
		rest = rest[3:]
	}
	r.Title = r.ID
	if len(rest) > 0 && rest[0].String() != "" {
		r.Title = picture.Shorten(print.EscapeControls(rest[0].String()), picture.NodeLength)
	}
	r.Colors = [2]int{about.ClassPlace(r.Label), about.ClassPlace(r.Suggested)}
	return r
}

// markWord finds the word that an error is about.
func markWord(where string, err error) *markedError {
	at, _ := query.Position(err)
	offset := min(max(at.Offset, 0), len(where))
	begin, end := 0, offset
	for piece := range query.Pieces(where) {
		if begin <= offset && offset < begin+len(piece.Text) {
			end = begin + len(piece.Text)
		}
		begin += len(piece.Text)
	}
	text := strings.TrimPrefix(err.Error(), at.String()+": ")
	return &markedError{Before: where[:offset], Word: where[offset:end], After: where[end:], Error: text}
}

// SortLink is the address of the list in the order of a property, or in the opposite order if it has that order.
func (l list) SortLink(property string) string {
	if l.Sort == property {
		property += " desc"
	}
	return l.link(property, 1)
}

// Sorted says how the list is sorted by a property, as aria-sort does.
func (l list) Sorted(property string) string {
	switch {
	case l.Sort == property:
		return "ascending"
	case l.Sort == property+" desc", l.Sort == "" && property == cleaner.ScoreColumn && l.Of == "suspects":
		return "descending"
	}
	return "none"
}

// PageLink is the address of another page of the list.
func (l list) PageLink(page int) string { return l.link(l.Sort, page) }

// Here is the address of the list as it is.
func (l list) Here() string { return l.link(l.Sort, l.Page) }

func (l list) link(sort string, page int) string {
	values := url.Values{"of": {l.Of}, "where": {l.Where}}
	if sort != "" {
		values.Set("sort", sort)
	}
	if page > 1 {
		values.Set("page", strconv.Itoa(page))
	}
	return "list?" + values.Encode()
}

// A bulk is a decision about many nodes.
type bulk struct {
	Of       string   `json:"of,omitempty"`
	Where    string   `json:"where,omitempty"`
	IDs      []string `json:"ids,omitempty"` // without them, all that meet the condition
	Decision string   `json:"decision"`
	Label    string   `json:"label,omitempty"`
	Why      string   `json:"why,omitempty"`
	Confirm  string   `json:"confirm,omitempty"` // that of the first answer; without it nothing is decided

	place
}

// A bulkReply is the question, or what was done.
type bulkReply struct {
	Question string   `json:"question,omitempty"`
	First    []string `json:"first,omitempty"`   // of the nodes
	Confirm  string   `json:"confirm,omitempty"` // stands for the question and these nodes
	Said     string   `json:"said,omitempty"`

	Bulk bulk `json:"-"`
}

// mostIDs bounds the nodes that are named one by one.
const mostIDs = 10_000

// bulk decides about many nodes, behind one question.
func (s *Server) bulk(r *http.Request) (answer, error) {
	var b bulk
	err := s.checkWritable()
	if err == nil {
		err = bring(r, &b, func() {
			b.place.form(r)
			b.Of, b.Where, b.IDs = r.PostFormValue("of"), r.PostFormValue("where"), r.PostForm["ids"]
			if r.PostFormValue("all") != "" {
				b.IDs = nil
			} else if b.IDs == nil {
				b.IDs = []string{}
			}
			b.Decision, b.Label, b.Why, b.Confirm = r.PostFormValue("decision"), r.PostFormValue("label"), r.PostFormValue("why"), r.PostFormValue("confirm")
		})
	}
	if err != nil {
		return answer{}, err
	}
	kind, err := decide.ParseKind(b.Decision)
	if err != nil {
		return answer{}, badRequest("The decision is %q: want accept, reject, relabel, unlabel or unsure.", b.Decision)
	}
	if err := cmp.Or(checkOf(&b.Of), checkWhy(b.Why)); err != nil {
		return answer{}, err
	}
	if kind == decide.Relabel {
		if err := s.snapshot(func(tx *kv.Tx) error { return checkClass(tx, b.Label) }); err != nil {
			return answer{}, err
		}
	}
	text, condition, err := b.statement(kind)
	if err != nil {
		return answer{}, err
	}
	statement, err := query.Parse(text)
	if err != nil {
		return answer{}, err
	}
	statement = statement.Where(condition)
	var asked bulkReply
	opt := s.Query
	opt.Notice = func(line string) { asked.First = append(asked.First, strings.TrimSpace(line)) }
	opt.Confirm = func(_ context.Context, about query.Question) (bool, error) {
		// The same nodes as they were seen, or the person is asked again.
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%x", text, about.Digest))
		asked.Question, asked.Confirm = questionOf(about), hex.EncodeToString(sum[:])
		return asked.Confirm == b.Confirm, nil
	}
	var view bulkReply
	exec := func() error {
		// The end of the page ends it, and nothing is decided. A client that leaves does not.
		result, err := statement.Exec(s.ctx, s.Store, opt)
		if err != nil {
			return err
		}
		defer result.Close()
		view.Said = bulkSaid(kind, result.Entries())
		s.mu.Lock()
		defer s.mu.Unlock()
		if entries := result.Entries(); entries.Steps > 0 {
			s.remember(pastReply{step: entries.Step}, view.Said)
		} else {
			s.said = view.Said
		}
		return nil
	}
	if b.Confirm == "" {
		err = exec() // which asks
	} else {
		s.scores.pause()
		err = s.inTurn(exec)
		s.settle()
	}
	if errors.Is(err, query.ErrNotConfirmed) {
		b.Back = b.next()
		asked.Bulk = b
		if err := s.addTitles(asked.First); err != nil {
			return answer{}, err
		}
		return answer{page: "bulk", title: "Decide about many", view: asked}, nil
	}
	return answer{view: view, seeOther: b.next()}, err
}

// questionOf asks as the buttons of the page do.
func questionOf(about query.Question) string {
	if about.Kind == decide.Reject {
		return fmt.Sprintf("Are the given labels of %s right?", wording.Nodes(about.Nodes))
	}
	return about.Text
}

// bulkSaid says what a decision about many nodes did.
func bulkSaid(kind decide.Kind, made decide.Entries) string {
	if made.Steps == 0 {
		return "Nothing is decided: the condition is true of no node that the decision can be about."
	}
	said := wording.Nodes(made.Len()) + " " + wording.Decided(kind)
	if kind == decide.Reject {
		said = wording.Nodes(made.Len()) + ": the given labels are right"
	}
	if made.Disputed > 0 {
		said += "; people disagree about " + wording.Nodes(made.Disputed)
	}
	return said + "."
}

// statement is the decision as a statement, and the condition that it is to have.
func (b *bulk) statement(kind decide.Kind) (text string, where query.Condition, err error) {
	text = kind.String()
	if kind == decide.Relabel {
		text += " " + query.Quote(b.Label)
	}
	if b.Of == "nodes" || b.IDs != nil {
		text += " all"
	}
	condition := b.Where
	switch {
	case b.IDs != nil && len(b.IDs) == 0:
		return "", where, badRequest("No node is selected.")
	case len(b.IDs) > mostIDs:
		return "", where, badRequest("%d nodes are selected: want at most %d, or all that meet the condition.", len(b.IDs), mostIDs)
	case b.IDs != nil:
		quoted := make([]string, len(b.IDs))
		for i, id := range b.IDs {
			quoted[i] = query.Quote(id)
		}
		// Nodes that a person selects by hand may be decided already.
		condition = fmt.Sprintf("id in (%s) and (decision is null or decision is not null)", strings.Join(quoted, ", "))
	}
	if where, err = query.ParseCondition(condition); err != nil {
		return "", where, err
	}
	text += " where id is not null"
	if b.Why != "" {
		text += " because " + query.Quote(b.Why)
	}
	return text, where, nil
}

// A filter is a condition under a name.
type filter struct {
	Name   string `json:"name"`
	Where  string `json:"where,omitempty"`
	Remove bool   `json:"remove,omitempty"`
}

// documentSpace is where the store keeps what pages keep.
const documentSpace = "review"

// Bounds of the filters, and the document of the store that has them.
const (
	filterKey   = "filters"
	mostFilters = 100
	filterName  = 80      // characters
	filterWhere = 2 << 10 // characters
)

// savedFilters are those of everybody who reviews the store.
func savedFilters(tx *kv.Tx) ([]filter, error) {
	filters := []filter{}
	err := tx.Document(documentSpace, filterKey, &filters)
	if errors.Is(err, kv.ErrNotFound) {
		err = nil
	}
	return filters, err
}

// saveFilter saves a filter, or removes it.
func (s *Server) saveFilter(r *http.Request) (answer, error) {
	var f filter
	err := s.checkWritable()
	if err == nil {
		err = bring(r, &f, func() {
			f = filter{Name: r.PostFormValue("name"), Where: r.PostFormValue("where"), Remove: r.PostFormValue("remove") != ""}
		})
	}
	if err != nil {
		return answer{}, err
	}
	if f.Name = strings.TrimSpace(f.Name); f.Name == "" || utf8.RuneCountInString(f.Name) > filterName || strings.ContainsFunc(f.Name, decide.IsControl) {
		return answer{}, badRequest("The name of the filter is %q: want one of 1 to %d characters.", f.Name, filterName)
	}
	if n := utf8.RuneCountInString(f.Where); n > filterWhere {
		return answer{}, badRequest("The condition has %d characters: want at most %d in a filter that is saved.", n, filterWhere)
	}
	if _, err := query.ParseCondition(f.Where); err != nil && !f.Remove {
		return answer{}, err
	}
	err = s.Store.Update(func(tx *kv.Tx) error {
		filters, err := savedFilters(tx)
		if err != nil {
			return err
		}
		filters = slices.DeleteFunc(filters, func(other filter) bool { return other.Name == f.Name })
		if !f.Remove {
			filters = append(filters, filter{Name: f.Name, Where: f.Where})
		}
		if len(filters) > mostFilters {
			return badRequest("There are %d filters: remove one before.", mostFilters)
		}
		slices.SortFunc(filters, func(a, b filter) int { return strings.Compare(a.Name, b.Name) })
		return tx.PutDocument(documentSpace, filterKey, filters)
	})
	said := "The filter " + f.Name + " is saved."
	if f.Remove {
		said = "The filter " + f.Name + " is removed."
	}
	return answer{view: reply{Said: said}, seeOther: "list?where=" + url.QueryEscape(f.Where)}, err
}

// A completion is what can be typed next.
type completion struct {
	Word       string      `json:"word"` // the last part of the text, which a candidate replaces
	Candidates []candidate `json:"candidates"`
}

type candidate struct {
	Text string `json:"text"`
	Note string `json:"note,omitempty"`
}

// mostCandidates bounds a completion.
const mostCandidates = 30

// complete completes a condition.
func (s *Server) complete(r *http.Request) (answer, error) {
	view := completion{Candidates: []candidate{}}
	err := s.snapshot(func(tx *kv.Tx) error {
		candidates, word := query.Complete(tx, "suspects where "+r.FormValue("text"))
		view.Word = word
		for _, c := range candidates[:min(len(candidates), mostCandidates)] {
			view.Candidates = append(view.Candidates, candidate{c.Text, c.Note})
		}
		return nil
	})
	return answer{page: "completion", title: "Completion", view: view}, err
}
