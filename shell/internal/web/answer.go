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
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/figure"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

//go:embed page.html page.css page.js icon.svg openapi.json
var assets embed.FS

// A route is one thing that the page, or a program, can ask for. The OpenAPI file is made from the routes.
type route struct {
	method, path, summary string
	parameters            []parameter // of the address
	body                  any         // what a request brings: a struct, or nil
	view                  any         // what the answer is in JSON: a value of its type
	serve                 func(s *Server, r *http.Request) (answer, error)
}

// A parameter is a name in the query of an address.
type parameter struct{ name, about string }

// An answer is what becomes of a request. Browsers get the page with that name, programs the view as JSON.
type answer struct {
	page, title string
	view        any
	status      int    // 0: 200
	seeOther    string // where a browser goes next, after a change
}

// nodePath is where a node is shown that was asked for by its id.
const nodePath = "/node"

// routes are all that the server answers, beside assets.
func routes() []route {
	where := parameter{"where", "A condition, as behind `suspects where`. Empty: all suspects."}
	id := parameter{"id", "The id of a node."}
	return []route{
		{"GET", "/review", "The next suspect of the queue.",
			[]parameter{where, {"not", "The id of a node to pass over."}}, nil, card{}, (*Server).review},
		{"GET", nodePath, "A node with its neighbours.", []parameter{id, where}, nil, card{}, (*Server).node},
		{"GET", "/numbers", "The numbers behind a score, as of the statement explain.", []parameter{id}, nil, numbers{}, (*Server).numbers},
		{"POST", "/decide", "Decide about a node.", nil, decision{}, reply{}, (*Server).decide},
		{"POST", "/skip", "Put a node at the end of the queue.", nil, skipping{}, reply{}, (*Server).skip},
		{"POST", "/undo", "Take back the last reply, whose undo is the step.", nil, undoing{}, reply{}, (*Server).undo},
		{"POST", "/again", "Bring skipped nodes back into the queue.", nil, place{}, reply{}, (*Server).again},
		{"GET", "/list", "Suspects, or nodes, that meet a condition.", listParameters, nil, list{}, (*Server).list},
		{"POST", "/bulk", "Decide about many nodes. The first answer is a question. To decide, ask again with what it has to confirm.", nil, bulk{}, bulkReply{}, (*Server).bulk},
		{"GET", "/progress", "How far the review is, and how many wrong labels are left.", nil, nil, progress{}, (*Server).showProgress},
		{"GET", "/audit", "Where the audit stands, and a draw that nobody has decided on, blind: without score and suggestion.", nil, nil, audit{}, (*Server).audit},
		{"POST", "/draw", "Draw so many labels in all, and ask for them.", nil, drawing{}, audit{}, (*Server).draw},
		{"GET", "/overview", "The store at a glance.", nil, nil, overview{}, (*Server).overview},
		{"GET", "/history", "What was decided, the newest first.", []parameter{{"before", "Entries before the one with this number."}}, nil, past{}, (*Server).history},
	}
}

// answer is serve. Programs name the parameters of the route, each once.
func (r route) answer(s *Server, request *http.Request) (answer, error) {
	for name, values := range request.URL.Query() {
		isKnown := slices.ContainsFunc(r.parameters, func(p parameter) bool { return p.name == name })
		if wantsJSON(request) && (!isKnown || len(values) > 1) {
			return answer{}, badRequest("%s got the parameter %q: want those of openapi.json, each once.", r.path, name)
		}
	}
	return r.serve(s, request)
}

// handler answers all requests.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes() {
		mux.HandleFunc(r.method+" "+r.path,
			func(w http.ResponseWriter, request *http.Request) { s.answer(w, request, r.answer) })
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { goTo(w, "review") })
	mux.HandleFunc("GET "+eventsPath, s.stream)
	mux.HandleFunc("GET "+healthPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, "ok\n") //nolint:errcheck // the client is gone
	})
	mux.HandleFunc("GET /export/{name}", s.export)
	for name, text := range map[string]string{
		"page.css": assetText("page.css") + picture.Style + figure.Style, "page.js": assetText("page.js"), "icon.svg": assetText("icon.svg"), "openapi.json": assetText("openapi.json"),
	} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			// The address of an asset has its version.
			w.Header().Set("Cache-Control", "private, max-age=86400")
			http.ServeContent(w, r, name, time.Time{}, strings.NewReader(text))
		})
	}
	return s.admitted(mux)
}

// answer runs what serves a request, and writes the answer or the error. A panic ends the request alone.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, serve func(*Server, *http.Request) (answer, error)) {
	s.activity.begin()
	defer s.activity.end()
	var a answer
	err := guard(func() (err error) {
		if _, err = checked(url.ParseQuery(r.URL.RawQuery)); err == nil {
			a, err = serve(s, r)
		}
		return err
	})
	switch {
	case errors.Is(err, query.ErrNotCleaned) && !wantsJSON(r):
		s.write(w, r, answer{page: "unscored", title: "No scores yet"})
	case err != nil:
		s.fail(w, r, err)
	default:
		s.write(w, r, a)
	}
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

// write writes an answer in the form that the client asks for.
func (s *Server) write(w http.ResponseWriter, r *http.Request, a answer) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	var body bytes.Buffer
	if wantsJSON(r) {
		w.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(&body)
		encoder.SetEscapeHTML(true)
		if err := encoder.Encode(a.view); err != nil {
			panic(err) // views have only what JSON has
		}
	} else if a.seeOther != "" {
		goTo(w, a.seeOther)
		return
	} else {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err := pages().ExecuteTemplate(&body, "page", s.frame(r, a)); err != nil {
			panic(err) // the templates are wrong
		}
	}
	w.Header().Set("Vary", "Accept")
	w.WriteHeader(a.status)
	if _, err := w.Write(body.Bytes()); err != nil {
		return // the client is gone
	}
}

// wantsJSON reports whether a request is that of a program.
func wantsJSON(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "application/json")
}

// A frame is what all pages have.
type frame struct {
	Page, Title string
	Store, Who  string
	ReadOnly    bool
	Said        string // what the last reply did
	Undo        int64  // the reply that undo takes back, 0 if there is none
	Progress    *progress
	Where       string // the filter
	View        any
}

func (s *Server) frame(r *http.Request, a answer) frame {
	f := frame{Page: a.page, Title: a.title, Store: s.Name, Who: s.Query.Who, ReadOnly: s.ReadOnly, Where: r.FormValue("where"), View: a.view}
	s.mu.Lock()
	f.Said, f.Undo = s.said, s.lastSkip
	s.mu.Unlock()
	if f.Undo == 0 {
		s.snapshot(func(tx *kv.Tx) (err error) { //nolint:errcheck // without it the page offers no undo
			f.Undo, err = s.lastStep(r.Context(), tx)
			return err
		})
	}
	if c, ok := a.view.(*card); ok {
		f.Where = c.Where
		if r.URL.Path == nodePath && f.Said != "" && !strings.Contains(f.Said, c.ID) {
			f.Said = "Earlier: " + f.Said
		}
	}
	f.Progress = s.latestProgress(r.Context())
	return f
}

// A problem is an error as the page and programs get it.
type problem struct {
	Error  string `json:"error"`
	Column int    `json:"column,omitempty"` // of the condition, from 1: where the error is
}

// A requestError is what is wrong with a request.
type requestError struct {
	status int
	problem
	cause error // may be nil
}

func (e *requestError) Error() string { return e.problem.Error }
func (e *requestError) Unwrap() error { return e.cause }

func badRequest(format string, args ...any) error {
	return refuse(http.StatusBadRequest, fmt.Sprintf(format, args...))
}

func refuse(status int, text string) error {
	return &requestError{status: status, problem: problem{Error: text}}
}

// sentence is an error for people.
func sentence(err error) string { return wording.Sentence(wording.Plain(err)) + "." }

// problemOf says what an error is to a client.
func problemOf(err error) (int, problem) {
	if wrong, ok := errors.AsType[*requestError](err); ok {
		return wrong.status, wrong.problem
	}
	p := problem{Error: sentence(err)}
	switch at, ok := query.Position(err); {
	case ok:
		p.Column = at.Column
		return http.StatusBadRequest, p
	case errors.As(err, new(*http.MaxBytesError)):
		return http.StatusRequestEntityTooLarge, problem{Error: fmt.Sprintf("The request is too large: want at most %d KiB.", maxBody>>10)}
	case errors.Is(err, decide.ErrChanged), errors.Is(err, query.ErrNotCleaned), errors.Is(err, decide.ErrNoLabel),
		errors.Is(err, decide.ErrNoSuggestion), errors.Is(err, decide.ErrNothingToUndo), errors.Is(err, cleaner.ErrAudit):
		return http.StatusConflict, p
	case errors.Is(err, decide.ErrUnknownClass):
		return http.StatusNotFound, p
	case errors.Is(err, kv.ErrNotFound):
		return http.StatusNotFound, problem{Error: "The store does not have this any more: it was removed meanwhile."}
	case errors.Is(err, kv.ErrReadOnly):
		return http.StatusForbidden, problem{Error: "The store is open to be read only."}
	case errors.Is(err, decide.ErrOptions):
		return http.StatusBadRequest, p
	case errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable, problem{Error: "The page is being closed."}
	}
	return http.StatusInternalServerError, p
}

// fail writes an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, p := problemOf(err)
	s.write(w, r, answer{page: "problem", title: "Not done", view: p, status: status})
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

// pages are parsed when the first is asked for: most commands show none.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).Parse(assetText("page.html")))
})

// assetVersion is in the addresses of assets, so that no browser shows those of an earlier version.
var assetVersion = sync.OnceValue(func() string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(assetText("page.css")+assetText("page.js")+picture.Style+figure.Style)))
})

func assetText(name string) string {
	text, err := fs.ReadFile(assets, name)
	if err != nil {
		panic(err) // it is in the program
	}
	return string(text)
}
