package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

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
type markedError struct {
	Before, Word, After, Error string
	Words                      string // the condition that finds the text as words, if there is one
}

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
			if err == nil {
				marked.Words, err = s.search(tx, typed)
			}
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
	view := list{Of: fields.Get("of"), Typed: strings.TrimSpace(fields.Get("where")), Sort: fields.Get("sort"), Page: 1,
		Pages: 1, Rows: []row{}, ReadOnly: s.ReadOnly}
	if err := checkOf(&view.Of); err != nil {
		return view, err
	}
	if property, desc, _ := strings.Cut(view.Sort, " "); view.Sort != "" && (!slices.Contains(orders, property) || desc != "" && desc != "desc") {
		return view, badRequest("The order is %q: want one of %s, with desc behind it or not.", view.Sort,
			strings.Join(orders, ", "))
	}
	if text := fields.Get("page"); fields.Has("page") {
		page, err := strconv.Atoi(text)
		if err != nil || page < 1 || page > 1<<20 {
			return view, badRequest("The page is %q: want a number from 1.", text)
		}
		view.Page = page
	}
	var err error
	if view.Where, err = s.conditionOf(tx, view.Typed); err != nil {
		return view, err
	}
	return view, s.fill(r.Context(), tx, &view, wantsJSON(r))
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

// Everywhere is the address of the list of all nodes under the same filter line.
func (l list) Everywhere() string {
	return "list?" + url.Values{"of": {"nodes"}, "where": {l.Typed}}.Encode()
}

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
