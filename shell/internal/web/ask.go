package web

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// askPage is the name of the page that answers statements, and where it is.
const askPage = "ask"

// An asked is a statement with its answer.
type asked struct {
	Statement string
	Notices   []string
	Text      string // an answer that is no list

	Columns  []query.ColumnInfo
	Rows     [][]string
	ID       int    // the column of the id, -1: none
	AreNodes bool   // rows are nodes, which can be selected
	Next     string // the address of the next rows, if there are more

	Changes  bool     // the statement changes the store, and has not run
	Question string   // before it does
	First    []string // of the nodes that it is about
	Confirm  string   // stands for the question and these nodes
	Back     string
}

// pageRows are the rows of a page.
const pageRows = 100

// listing is the statement that lists nodes with their titles.
func (s *Server) listing(of string) string {
	title := ""
	if s.title != "" {
		title = ", " + query.QuoteName(s.title)
	}
	return of + " return id" + title + ", label, suggested, score, confidence, decision"
}

// ask answers a statement. One that changes the store runs only if the request is a change.
func (s *Server) ask(r *http.Request) (answer, error) {
	view := &asked{Statement: r.FormValue("statement"), ID: -1, Back: s.nextOf(r)}
	a := answer{page: askPage, title: "Statements", view: view}
	if strings.TrimSpace(view.Statement) == "" {
		return a, nil
	}
	statement, err := query.Parse(view.Statement)
	switch {
	case err != nil:
	case !statement.Writes() && r.Method == http.MethodPost:
		a.seeOther = askAddress(view.Statement)
	case !statement.Writes():
		err = s.read(r, statement, view)
	case r.Method != http.MethodPost:
		view.Changes = true
	default:
		if _, err = s.run(statement, s.asking(view, r.PostFormValue("confirm"))); err == nil {
			a.seeOther = view.Back
		}
		if errors.Is(err, query.ErrNotConfirmed) {
			err = nil
		}
	}
	if _, ok := query.Position(err); ok {
		a.status, a.problem, err = http.StatusBadRequest, sentence(err), nil
	}
	return a, err
}

// asking are options under which a decision about many nodes runs only if the person was asked about the same nodes as
// they are: the confirmation is that of the question.
func (s *Server) asking(view *asked, confirmed string) query.Options {
	opt := s.Query
	opt.Confirm = func(_ context.Context, about query.Question) (bool, error) {
		view.Question, view.First, view.Confirm = about.Text, about.First, hex.EncodeToString(about.Digest[:])
		return view.Confirm == confirmed, nil
	}
	return opt
}

// run runs a statement that changes the store. The end of the page ends it, but not that of the client.
func (s *Server) run(statement query.Statement, opt query.Options, args ...any) (result *query.Result, err error) {
	if err := s.checkWritable(); err != nil {
		return nil, err
	}
	err = s.change(func() (done survey.Done, err error) {
		if result, err = statement.Exec(s.ctx, s.Store, opt, args...); err == nil {
			done = survey.Done{Said: strings.Join(result.Notices(), "; ")}
		}
		return done, err
	})
	return result, err
}

// read reads the rows of a page, or the text of an answer that is no list.
func (s *Server) read(r *http.Request, statement query.Statement, view *asked) error {
	from, err := strconv.Atoi(r.FormValue("from"))
	if err != nil || from < 0 {
		from = 0
	}
	return s.snapshot(func(tx *kv.Tx) error {
		result, err := statement.Query(r.Context(), tx, s.Query)
		if err != nil {
			return err
		}
		if result.Sections != nil || result.Record || result.Bare {
			var text strings.Builder
			_, err := print.Render(&text, result, print.FormatTable, &print.Screen{})
			view.Text, view.Notices = text.String(), result.Notices()
			return err
		}
		view.Columns = result.Columns()
		for i, c := range view.Columns {
			if c.Name == "id" {
				view.ID = i
			}
		}
		view.AreNodes = view.ID >= 0 && statement.ListsNodes() && !s.ReadOnly
		at := 0
		for row, err := range result.Rows() {
			if err != nil {
				return err
			}
			if at == from+pageRows {
				view.Next = "ask?" + url.Values{"statement": {view.Statement}, "from": {strconv.Itoa(at)}}.Encode()
				break
			}
			if at++; at <= from {
				continue
			}
			var cells []string
			for _, value := range row {
				cells = append(cells, print.EscapeControls(print.Brief(value)))
			}
			view.Rows = append(view.Rows, cells)
		}
		view.Notices = result.Notices()
		return nil
	})
}

// A question is a program's request.
type question struct {
	Statement string `json:"statement"`
	Args      []any  `json:"args"` // of $1, $2 and so on
	Yes       bool   `json:"yes"`  // to a decision about many nodes
}

// tell answers a statement in JSON.
func (s *Server) tell(w http.ResponseWriter, r *http.Request) {
	out := &begun{ResponseWriter: w}
	err := guard(func() error {
		q, err := readQuestion(r)
		if err != nil {
			return err
		}
		statement, err := query.Parse(q.Statement)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/json")
		render := func(result *query.Result, err error) error {
			if err == nil {
				_, err = print.Render(out, result, print.FormatJSON, &print.Screen{})
			}
			return err
		}
		switch {
		case !statement.Writes():
			return s.snapshot(func(tx *kv.Tx) error {
				return render(statement.Query(r.Context(), tx, s.Query, q.Args...))
			})
		case r.Method != http.MethodPost:
			return refuse(http.StatusMethodNotAllowed, "The statement changes the store: want POST.")
		}
		opt := s.Query
		if !q.Yes {
			opt.Confirm = func(_ context.Context, about query.Question) (bool, error) {
				return false, fmt.Errorf("%w: %s", query.ErrNotConfirmed, about.Text)
			}
		}
		return render(s.run(statement, opt, q.Args...))
	})
	switch {
	case err != nil && out.some:
		panic(http.ErrAbortHandler) // an answer that looks whole must be whole
	case err != nil:
		s.fail(w, r, err)
	}
}

// A begun notes whether something was written.
type begun struct {
	http.ResponseWriter
	some bool
}

func (b *begun) Write(p []byte) (int, error) {
	b.some = true
	return b.ResponseWriter.Write(p)
}

// readQuestion reads a question from the address or the body.
func readQuestion(r *http.Request) (q question, err error) {
	if r.Method != http.MethodPost {
		return question{Statement: r.URL.Query().Get("statement")}, nil
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err = decoder.Decode(&q); err != nil && !errors.As(err, new(*http.MaxBytesError)) {
		err = badRequest("The body is not as it should be: %v.", err)
	}
	for i, arg := range q.Args {
		if number, ok := arg.(float64); ok && number == math.Trunc(number) && math.Abs(number) < 1<<53 {
			q.Args[i] = int64(number)
		}
	}
	return q, err
}
