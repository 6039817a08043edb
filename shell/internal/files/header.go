package files

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// A header has the names and types of the columns of a table. That of neo4j-admin, in which some column is an id, has
// NAME:TYPE. The types of properties are found as those of other tables are.
type header struct {
	in    *table.Reader
	names []string // without types; empty if the column is no property
	types []string // empty if the header does not say
}

// The types of neo4j-admin that are no properties, except for an id, which has a name too.
const (
	typeID    = "ID"
	typeLabel = "LABEL"
	typeStart = "START_ID"
	typeEnd   = "END_ID"
	typeEdge  = "TYPE"
	typeNone  = "IGNORE"
)

// roles are the types of the columns that have a name here.
var roles = map[string]string{"id": typeID, kv.LabelColumn: typeLabel, "src": typeStart, "dst": typeEnd}

// hasStrayBlank says whether a name is meant to be without the blanks around it.
func hasStrayBlank(column string) bool {
	name := strings.TrimSpace(column)
	isName := func(known string) bool { return strings.EqualFold(known, name) }
	return name != column &&
		(strings.HasPrefix(name, `"`) || slices.ContainsFunc(slices.Concat(nodeNames, edgeNames), isName))
}

// headerOf reads the header of a table. That of neo4j-admin must have one column for each role.
func headerOf(in *table.Reader) (*header, error) {
	all := in.Header()
	names, types := make([]string, len(all)), make([]string, len(all))
	for i, column := range all {
		if hasStrayBlank(column) {
			return nil, in.HeaderErrorf("", "column %d is called %q: blanks beside a separator are part of the name, "+
				"and of each value below it, also before a quote; want none there", i+1, column)
		}
		names[i], types[i] = cutType(column)
	}
	if !slices.ContainsFunc(types, func(of string) bool { return of == typeID || of == typeStart || of == typeEnd }) {
		return &header{in, slices.Clone(all), make([]string, len(all))}, nil
	}
	for i, kind := range types {
		switch kind {
		case typeID, typeLabel, typeStart, typeEnd:
			if j := slices.Index(types, kind); j < i {
				return nil, in.HeaderErrorf(all[i], "is of the type %s, as is %q, want one such column", kind, all[j])
			}
			names[i] = ""
		case typeEdge, typeNone:
			names[i] = ""
		}
	}
	return &header{in, names, types}, nil
}

// cutType cuts a column NAME:TYPE(SPACE){OPTIONS}.
func cutType(column string) (name, of string) {
	column, _, _ = strings.Cut(strings.TrimSpace(column), "{")
	at := strings.LastIndexByte(column, ':')
	if at < 0 {
		return column, ""
	}
	of, _, _ = strings.Cut(column[at+1:], "(")
	return column[:at], of
}

// find is the place of the column for a name, -1 if it is not there: that of its role, else that of the name.
func (h *header) find(name string) (int, error) {
	if role := roles[name]; role != "" {
		if i := slices.Index(h.types, role); i >= 0 {
			return i, nil
		}
	}
	return h.column(name)
}

// column is the place of a column, -1 if it is not there. It is given by its whole text, else by that but for case and
// white space around it, by the name of the property, or else by its number. Several columns that could all be meant
// are an error.
func (h *header) column(name string) (int, error) {
	number, err := strconv.Atoi(name)
	isNumber := err == nil && number >= 1 && number <= len(h.names)
	if isNumber && isCount(h.names[number-1]) && !h.in.Numbered() {
		return number - 1, nil // no name in a row is meant, and checkPlaces says that it is one
	}
	all := h.in.Header()
	if i := slices.Index(all, name); i >= 0 {
		if again := slices.Index(all[i+1:], name); again >= 0 {
			return -1, h.in.HeaderErrorf(name, "the header names it twice, want the number of the column, %d or %d",
				i+1, i+again+2)
		}
		return i, nil
	}
	isName := func(have string) bool { return strings.EqualFold(strings.TrimSpace(have), name) }
	if i := slices.IndexFunc(all, isName); i >= 0 {
		if again := slices.IndexFunc(all[i+1:], isName); again >= 0 {
			return -1, h.in.HeaderErrorf("", "got the columns %q and %q, want one of them named %q", all[i],
				all[i+1+again], name)
		}
		return i, nil
	}
	for _, left := range h.in.LeftOut() {
		if isName(left) {
			return -1, h.in.HeaderErrorf(left, "got a nested or unusual type, want booleans, numbers, strings, dates or times")
		}
	}
	if i := slices.IndexFunc(h.names, isName); i >= 0 {
		return i, nil
	}
	if isNumber {
		return number - 1, nil
	}
	return -1, nil
}
