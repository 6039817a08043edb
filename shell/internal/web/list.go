package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

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
	More  bool   `json:"more,omitempty"` // there may be more than Count: counting takes too long
	Rows  []row  `json:"rows"`

	Typed    string   `json:"-"` // the filter line: Where, or words that it stands for
	Error    string   `json:"-"` // of the filter line: there are no rows
	ReadOnly bool     `json:"-"`
	Pages    int      `json:"pages"`
	Notices  []string `json:"notices,omitempty"`
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

// pageRows are the rows of a page.
const pageRows = 50

// countWithin is how long a list is counted.
const countWithin = time.Second

var listParameters = []parameter{
	{"of", "`suspects` or `nodes`. Empty: suspects."}, {"where", "A condition."},
	{"sort", "A property, and `desc` behind it for the greatest first. Empty: the order of the statement."}, {"page", "From 1."},
}

// orders are the columns that a list can be sorted by.
var orders = []string{"id", kv.LabelColumn, cleaner.SuggestedColumn, cleaner.ScoreColumn, cleaner.ConfidenceColumn, decide.Column}

// operators are in conditions, and hardly ever in words. So are parentheses.
const operators = "=<>()"

// list lists. What is no condition of this store, and looks like words, asks for the nodes whose title or text has
// them.
func (s *Server) list(r *http.Request) (answer, error) {
	a := answer{page: "list", title: "List"}
	view := list{
		Of: r.FormValue("of"), Typed: strings.TrimSpace(r.FormValue("where")), Sort: r.FormValue("sort"), Page: 1, Pages: 1, Rows: []row{},
		ReadOnly: s.ReadOnly,
	}
	if err := cmp.Or(checkOf(&view.Of), view.check(r)); err != nil {
		return a, err
	}
	view.Where = view.Typed
	err := s.snapshot(func(tx *kv.Tx) error {
		err := s.fill(r.Context(), tx, &view)
		if _, wrong := query.Position(err); wrong && !strings.ContainsAny(view.Typed, operators) {
			words, failed := s.search(tx, view.Typed)
			if failed != nil || words != "" {
				view.Where = words
				err = cmp.Or(failed, s.fill(r.Context(), tx, &view))
			}
		}
		return err
	})
	if _, wrong := query.Position(err); wrong && !wantsJSON(r) {
		a.status, view.Error, err = http.StatusBadRequest, err.Error(), nil
	}
	a.view = view
	return a, err
}

// check refuses an order or a page that no list has.
func (l *list) check(r *http.Request) (err error) {
	if property, desc, _ := strings.Cut(l.Sort, " "); l.Sort != "" && (!slices.Contains(orders, property) || desc != "" && desc != "desc") {
		return badRequest("The order is %q: want one of %s, with desc behind it or not.", l.Sort, strings.Join(orders, ", "))
	}
	if text := r.FormValue("page"); r.Form.Has("page") {
		if l.Page, err = strconv.Atoi(text); err != nil || l.Page < 1 || l.Page > 1<<20 {
			return badRequest("The page is %q: want a number from 1.", text)
		}
	}
	return nil
}

// checkOf refuses what is neither suspects nor nodes. Suspects may stay unsaid.
func checkOf(of *string) error {
	if *of = cmp.Or(*of, "suspects"); *of != "suspects" && *of != "nodes" {
		return badRequest("The list is of %q: want suspects or nodes.", wording.Short(*of))
	}
	return nil
}

// search is the condition of the node with an id, and of nodes whose title or text has some words. It is empty if
// nothing can have them.
func (s *Server) search(tx *kv.Tx, typed string) (string, error) {
	var tests []string
	switch _, err := tx.Node(typed); {
	case err == nil:
		tests = append(tests, "id = "+query.Quote(typed))
	case !errors.Is(err, kv.ErrNotFound):
		return "", err
	}
	words := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(strings.Join(strings.Fields(typed), " "))
	for _, column := range []string{s.Columns.Title, s.Columns.Text} {
		if column != "" {
			tests = append(tests, query.QuoteName(column)+" ilike "+query.Quote("%"+words+"%"))
		}
	}
	return strings.Join(tests, " or "), nil
}

// fill finds the rows of a page, and counts all if that does not take long.
func (s *Server) fill(ctx context.Context, tx *kv.Tx, l *list) error {
	condition, err := query.ParseCondition(l.Where)
	if err != nil {
		return err
	}
	if err := s.findRows(ctx, tx, l, condition); err != nil {
		return err
	}
	l.Count = int64((l.Page-1)*pageRows + len(l.Rows))
	if first := l.Page == 1; len(l.Rows) == pageRows || len(l.Rows) == 0 && !first {
		within, stop := context.WithTimeout(ctx, countWithin)
		defer stop()
		n, err := s.countNodes(within, tx, l.Of, condition)
		switch {
		case err == nil:
			l.Count = n
		case within.Err() != nil && ctx.Err() == nil:
			l.More = true
		default:
			return err
		}
	}
	l.Pages = max(1, int((l.Count+pageRows-1)/pageRows))
	if len(l.Rows) == 0 && l.Page > l.Pages { // the last page has less
		l.Page = l.Pages
		return s.findRows(ctx, tx, l, condition)
	}
	return nil
}

// countNodes counts suspects or nodes.
func (s *Server) countNodes(ctx context.Context, tx *kv.Tx, of string, where query.Condition) (n int64, err error) {
	statement, err := query.Parse("count " + of)
	if err != nil {
		return 0, err
	}
	result, err := statement.Where(where).Query(ctx, tx, s.Query)
	if err != nil {
		return 0, err
	}
	for row, err := range result.Rows() {
		if err != nil {
			return 0, err
		}
		n = row[0].Int()
	}
	return n, nil
}

// findRows finds the rows of a page.
func (s *Server) findRows(ctx context.Context, tx *kv.Tx, l *list, where query.Condition) error {
	names := []string{"id", kv.LabelColumn, decide.Column, decide.DecidedByColumn, decide.DisputedColumn}
	if s.Columns.Title != "" {
		names = append(names, query.QuoteName(s.Columns.Title))
	}
	scores := len(names)
	switch _, err := query.LastRun(tx); {
	case err == nil:
		names = append(names, cleaner.SuggestedColumn, cleaner.ScoreColumn, cleaner.ConfidenceColumn)
	case !errors.Is(err, query.ErrNotCleaned):
		return err
	}
	order := ""
	if l.Sort != "" {
		order = " order by " + l.Sort
	}
	statement, err := query.Parse(fmt.Sprintf("%s%s limit %d offset %d return %s", l.Of, order, pageRows, (l.Page-1)*pageRows, strings.Join(names, ", ")))
	if err != nil {
		return err
	}
	result, err := statement.Where(where).Query(ctx, tx, s.Query)
	if err != nil {
		return err
	}
	about := survey.New(tx, s.Columns)
	l.Rows = []row{}
	for of, err := range result.Rows() {
		if err != nil {
			return err
		}
		r := row{ID: of[0].String(), Label: of[1].String(), Decision: of[2].String(), DecidedBy: of[3].String(), Disputed: !of[4].IsNull()}
		r.Title = r.ID
		if s.Columns.Title != "" && of[5].String() != "" {
			r.Title = picture.Shorten(print.EscapeControls(of[5].String()), picture.NodeLength)
		}
		if len(of) > scores {
			r.Suggested, r.Score, r.Confidence = of[scores].String(), known(of[scores+1]), known(of[scores+2])
		}
		r.Colors = [2]int{about.ClassPlace(r.Label), about.ClassPlace(r.Suggested)}
		l.Rows = append(l.Rows, r)
	}
	l.Notices = result.Notices()
	return nil
}

// known is a number, nil if it is null.
func known(value kv.Value) *float64 {
	if value.IsNull() {
		return nil
	}
	return finite(value.Float())
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
