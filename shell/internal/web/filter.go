package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

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
	if f.Name = strings.TrimSpace(f.Name); f.Name == "" || utf8.RuneCountInString(f.Name) > filterName ||
		strings.ContainsFunc(f.Name, decide.IsControl) {
		return answer{}, badRequest("The name of the filter is %q: want one of 1 to %d characters.", f.Name, filterName)
	}
	if n := utf8.RuneCountInString(f.Where); n > filterWhere {
		return answer{}, badRequest("The condition has %d characters: want at most %d in a filter that is saved.", n,
			filterWhere)
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
	s.mu.Lock()
	defer s.mu.Unlock()
	return answer{view: reply{Said: said, Undo: s.lastReply().step},
		seeOther: "list?where=" + url.QueryEscape(f.Where)}, err
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

// operators are in conditions, and hardly ever in words. So are parentheses.
const operators = "=<>()"

// conditionOf is the condition that the filter line stands for. Plain words ask for nodes whose title or text has them.
// Where there is neither, words that are no condition say so.
func (s *Server) conditionOf(tx *kv.Tx, typed string) (string, error) {
	if typed == "" || strings.ContainsAny(typed, operators) {
		return typed, nil
	}
	words := strings.Fields(typed)
	isNoTest := func(c query.Candidate) bool { // it has a value that something is to be compared with
		return strings.EqualFold(c.Text, words[0]) && c.Note != "" && c.Note != "true or false"
	}
	goesOn := len(words) == 1 && !slices.ContainsFunc(properties(tx), isNoTest) || len(words) > 1 &&
		slices.Contains([]string{"is", "in", "like", "ilike", "between", "not", "and", "or"}, strings.ToLower(words[1]))
	_, wrong := query.ParseCondition(typed)
	quoted := strings.Trim(typed, `"`) // which is a condition if it is the name of a property, or more than a name
	isCondition := strings.Contains(typed, `"`) && wrong == nil &&
		(strings.Contains(quoted, `"`) || isProperty(tx, typed) || isProperty(tx, quoted))
	if strings.EqualFold(words[0], "not") || isProperty(tx, words[0]) && goesOn || isCondition {
		return typed, nil
	}
	found, err := s.search(tx, typed)
	if err == nil && found == "" && wrong != nil && !isProperty(tx, words[0]) {
		at, _ := query.Position(wrong)
		err = &query.ResolveError{Pos: at,
			Msg: "the store has no title or text to look in: want the id of a node, or a condition such as score > 0.9"}
	}
	return cmp.Or(found, typed), err
}

// properties are what a condition can begin with.
func properties(tx *kv.Tx) []query.Candidate {
	candidates, _ := query.Complete(tx, "suspects where ")
	return candidates
}

func isProperty(tx *kv.Tx, word string) bool {
	return slices.ContainsFunc(properties(tx), func(c query.Candidate) bool { return strings.EqualFold(c.Text, word) })
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
		if column == "" {
			continue
		}
		if !isProperty(tx, column) {
			column = `"` + strings.ReplaceAll(column, `"`, `""`) + `"`
		}
		tests = append(tests, column+" ilike "+query.Quote("%"+words+"%"))
	}
	return strings.Join(tests, " or "), nil
}
