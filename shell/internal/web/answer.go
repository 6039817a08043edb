package web

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

//go:embed page.html page.css page.js icon.svg
var assets embed.FS

// An answer is the reply to a request: a page, or another address.
type answer struct {
	page, title string
	view        any
	problem     string // above the page
	status      int    // 0: 200
	seeOther    string // where the browser goes next, after a change
}

// nodePath is where a node is shown that was asked for by its id.
const nodePath = "/node"

// routes are the pages and the changes.
var routes = map[string]func(s *Server, r *http.Request) (answer, error){
	"GET /review":     (*Server).review,
	"GET " + nodePath: (*Server).node,
	"GET /audit":      (*Server).audit,
	"GET /progress":   (*Server).showProgress,
	"POST /decide":    (*Server).decide,
	"POST /skip":      (*Server).skip,
	"POST /undo":      (*Server).undo,
	"POST /many":      (*Server).many,
}

// handler answers all requests.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, serve := range routes {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, serve) })
	}
	for _, pattern := range []string{"GET /ask", "POST /ask"} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if wantsJSON(r) {
				s.tell(w, r)
			} else {
				s.answer(w, r, (*Server).ask)
			}
		})
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { goTo(w, "review") })
	for name, text := range map[string]string{
		"page.css": assetText("page.css") + picture.Style, "page.js": assetText("page.js"),
		"icon.svg": assetText("icon.svg"),
	} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			// The address of an asset has its version.
			w.Header().Set("Cache-Control", "private, max-age=86400")
			http.ServeContent(w, r, name, time.Time{}, strings.NewReader(text))
		})
	}
	return s.admitted(mux)
}

// answer runs what serves a request, and writes the answer or the error.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, serve func(*Server, *http.Request) (answer, error)) {
	var a answer
	err := guard(func() (err error) {
		if err = readForm(r); err == nil {
			a, err = serve(s, r)
		}
		return err
	})
	switch {
	case errors.Is(err, cleaner.ErrNotCleaned) && !wantsJSON(r):
		s.write(w, r, answer{page: "unscored", title: "No scores yet"})
	case err != nil:
		s.fail(w, r, err)
	default:
		s.write(w, r, a)
	}
}

// readForm reads the fields of a request, and refuses those that are no UTF-8.
func readForm(r *http.Request) error {
	err := r.ParseForm()
	for name, values := range r.Form {
		for _, value := range append(values, name) {
			if err == nil && !utf8.ValidString(value) {
				err = fmt.Errorf("%q is not UTF-8", value)
			}
		}
	}
	if err != nil && !errors.As(err, new(*http.MaxBytesError)) {
		err = badRequest("The fields are not as they should be: %v.", err)
	}
	return err
}

// guard runs a function. A panic ends the function alone, with an error.
func guard(fn func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("a fault of the program ended this: %v\n%s", fault, debug.Stack())
		}
	}()
	return fn()
}

// write writes an answer.
func (s *Server) write(w http.ResponseWriter, r *http.Request, a answer) {
	if a.seeOther != "" {
		goTo(w, a.seeOther)
		return
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	var body bytes.Buffer
	if err := pages().ExecuteTemplate(&body, "page", s.frame(r, a)); err != nil {
		panic(err) // the templates are wrong
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(a.status)
	w.Write(body.Bytes()) //nolint:errcheck // the client is gone
}

// wantsJSON reports whether a request is that of a program.
func wantsJSON(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "application/json")
}

// A frame has the values that all pages show.
type frame struct {
	Page, Title string
	Store, Who  string
	ReadOnly    bool
	Problem     string
	Said        string // what the last reply did
	Undo        int64  // the reply that undo takes back, 0 if there is none
	Progress    *progress
	Where, Back string // the filter of the queue, and where undo leads
	List        string // the statement that lists suspects
	View        any
}

func (s *Server) frame(r *http.Request, a answer) frame {
	f := frame{
		Page: a.page, Title: a.title, Store: s.Name, Who: s.Query.Who, ReadOnly: s.ReadOnly, Problem: a.problem,
		Where: s.whereOf(r), List: s.listing("suspects"), View: a.view, Progress: s.progress.last.Load(),
	}
	switch a.page {
	case auditPage:
		f.Back = auditPage
	case askPage:
		f.Back = askAddress(r.FormValue("statement"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Said = s.said
	if s.wasSkip {
		f.Undo = -int64(len(s.skipped))
	} else if shown, isAudit := a.view.(*audit); !s.ReadOnly && (!isAudit || shown.Audit != nil && shown.Decided > 0) {
		s.snapshot(func(tx *kv.Tx) (err error) { //nolint:errcheck // without it the page offers no undo
			f.Undo, err = decide.LastOwnStep(r.Context(), tx, s.Query.Who, earlierReads)
			return err
		})
	}
	return f
}

// earlierReads is how many entries of the history are looked at for the last step of a person.
const earlierReads = 100_000

// A problem is an error as programs get it.
type problem struct {
	Error  string `json:"error"`
	Column int    `json:"column,omitempty"` // of the statement or condition, from 1: where the error is
}

// A requestError is a fault in a request.
type requestError struct {
	status int
	text   string
}

func (e *requestError) Error() string { return e.text }

func badRequest(format string, args ...any) error {
	return refuse(http.StatusBadRequest, fmt.Sprintf(format, args...))
}

func refuse(status int, text string) error { return &requestError{status, text} }

// sentence is an error for people.
func sentence(err error) string { return wording.Sentence(wording.Plain(err)) + "." }

// problemOf says what an error is to a client.
func problemOf(err error) (int, problem) {
	if wrong, ok := errors.AsType[*requestError](err); ok {
		return wrong.status, problem{Error: wrong.text}
	}
	p := problem{Error: sentence(err)}
	if at, ok := query.Position(err); ok {
		p.Column = at.Column
		return http.StatusBadRequest, p
	}
	for _, sort := range []struct {
		of     error
		status int
		text   string
	}{
		{decide.ErrChanged, http.StatusConflict, ""}, {cleaner.ErrNotCleaned, http.StatusConflict, ""},
		{decide.ErrNoLabel, http.StatusConflict, ""}, {decide.ErrNoSuggestion, http.StatusConflict, ""},
		{decide.ErrNothingToUndo, http.StatusConflict, ""}, {query.ErrNotConfirmed, http.StatusConflict, ""},
		{cleaner.ErrAudit, http.StatusConflict, ""}, {decide.ErrOptions, http.StatusBadRequest, ""},
		{kv.ErrNotFound, http.StatusNotFound, "The store does not have this any more: it was removed meanwhile."},
		{kv.ErrReadOnly, http.StatusForbidden, "The store is open to be read only."},
		{context.Canceled, http.StatusServiceUnavailable, "The page is being closed."},
	} {
		if errors.Is(err, sort.of) {
			if sort.text != "" {
				p.Error = sort.text
			}
			return sort.status, p
		}
	}
	if errors.As(err, new(*http.MaxBytesError)) {
		p.Error = fmt.Sprintf("The request is too large: want at most %d KiB.", maxBody>>10)
		return http.StatusRequestEntityTooLarge, p
	}
	return http.StatusInternalServerError, p
}

// fail writes an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, p := problemOf(err)
	if !wantsJSON(r) {
		s.write(w, r, answer{page: "problem", title: "Not done", problem: p.Error, status: status})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(p) //nolint:errcheck // the client is gone
}

// snapshot runs a function in one snapshot of the store.
func (s *Server) snapshot(fn func(tx *kv.Tx) error) error {
	tx := s.Store.Begin()
	defer tx.Close()
	if err := tx.Err(); err != nil {
		return err
	}
	return fn(tx)
}

// askAddress is where the answer of a statement is.
func askAddress(statement string) string {
	return "ask?" + url.Values{"statement": {statement}}.Encode()
}

// pages are parsed when the first is asked for: most commands show none.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).Parse(assetText("page.html")))
})

// assetVersion is in the addresses of assets, so that no browser shows those of an earlier version.
var assetVersion = sync.OnceValue(func() string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(assetText("page.css")+assetText("page.js")+picture.Style)))
})

func assetText(name string) string {
	text, err := fs.ReadFile(assets, name)
	if err != nil {
		panic(err) // it is in the program
	}
	return string(text)
}

// A shownClass is a class as the template "label" shows it.
type shownClass struct {
	Name  string
	Color int // its place among classes
}

// functions are those of the templates.
var functions = template.FuncMap{
	"swatch":    func(class int) template.HTML { return template.HTML(picture.Swatch(class)) },
	"svg":       func(text string) template.HTML { return template.HTML(text) },
	"percent":   percent,
	"plain":     print.EscapeControls,
	"named":     func(name string, class int) shownClass { return shownClass{name, class} },
	"next":      func(i, by int) int { return i + by },
	"fold":      fold,
	"pair":      func(a, b any) [2]any { return [2]any{a, b} },
	"statement": func(word, id string) string { return word + " " + query.Quote(id) },
	"ask":       askAddress,
	"version":   assetVersion,
}

// fold divides a long text in its beginning and the rest, between words.
func fold(text string, most int) (parts [2]string) {
	parts[0] = text
	runes := []rune(text)
	if len(runes) <= most+most/4 {
		return parts
	}
	begin := string(runes[:most])
	if at := strings.LastIndexAny(begin, " \n"); at > len(begin)/2 {
		begin = begin[:at]
	}
	return [2]string{begin, text[len(begin):]}
}

// percent is a share in percent that is not rounded to 0 or 1.
func percent(share float64) string {
	switch {
	case share > 0.999 && share < 1:
		return "over 99.9%"
	case share < 0.001 && share > 0:
		return "under 0.1%"
	}
	return wording.Percent(share)
}
