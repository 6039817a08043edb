package web

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// Numbers are what the statement explain says.
type numbers struct {
	ID       string          `json:"id"`
	Notices  []string        `json:"notices,omitempty"`
	Explain  json.RawMessage `json:"explain"` // the answer of the statement explain, as --format json prints it
	Sections []section       `json:"-"`
}

// scoreIfTitle begins the title of the section that has the score under each other label.
const scoreIfTitle = "Score, had the label been"

// numbers explains a score.
func (s *Server) numbers(r *http.Request) (answer, error) {
	id := r.FormValue("id")
	view := numbers{ID: id}
	err := s.snapshot(func(tx *kv.Tx) error {
		if _, err := s.find(tx, id); err != nil {
			return err
		}
		result, err := query.Query(r.Context(), tx, s.Query, "explain $1", id)
		if err != nil {
			return err
		}
		view.Notices = result.Notices()
		for _, of := range result.Sections {
			columns, rows, err := cellsOf(query.NewTable(of.Columns, of.Rows), nil, len(of.Rows))
			if err != nil {
				return err
			}
			at := len(view.Sections)
			if strings.HasPrefix(of.Title, scoreIfTitle) {
				at = 0 // the card has the rest in words
			}
			view.Sections = slices.Insert(view.Sections, at, section{Title: of.Title, Columns: columns, Rows: rows})
		}
		var text strings.Builder
		if _, err := print.Render(&text, result, print.FormatJSON); err != nil {
			return err
		}
		view.Explain = json.RawMessage(text.String())
		return nil
	})
	return answer{page: "numbers", title: "Numbers of " + id, view: view}, err
}
