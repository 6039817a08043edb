package files

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/table"
)

// isCount reports whether the name of a column is a number that may count columns.
func isCount(column string) bool {
	_, err := strconv.ParseUint(column, 10, 32)
	return err == nil
}

// isHeader returns a function that recognizes a header: it has all of some names, or the columns that c names for them.
func (c Columns) isHeader(names ...string) func(fields []string) bool {
	return func(fields []string) bool {
		for _, name := range names {
			isColumn := func(field string) bool {
				_, of := cutType(field)
				return strings.EqualFold(strings.TrimSpace(field), name) || of != "" && of == roles[name] || field == c[name] &&
					!isCount(field)
			}
			if !slices.ContainsFunc(fields, isColumn) {
				return false
			}
		}
		return !slices.ContainsFunc(fields, isCount) // a row such as 1,id may have the code of a country
	}
}

// checkPlaces returns an error if some of the needed names, the first ones, have no column, or if a number names a
// column of what seems to be a row. places are those of the names. It says which columns are left out since they have
// no name.
func (r Job) checkPlaces(in *table.Reader, places []int, names []string, needed int) error {
	flag, of := "--columns", r.Columns
	if slices.Equal(names, edgeNames) {
		flag, of = "--edge-columns", r.EdgeColumns
	}
	for i, name := range names {
		isMissing := places[i] < 0 && i < needed
		if isMissing && in.Numbered() {
			return in.HeaderErrorf("", "has %d columns, and none for %s: name it with %s, such as %s=1", len(in.Header()), name,
				flag, name)
		}
		isRow := isMissing && slices.ContainsFunc(in.Header(), isCount) || places[i] >= 0 && isCount(of[name]) &&
			isCount(in.Header()[places[i]])
		switch {
		case isRow && !in.Numbered():
			return in.HeaderErrorf("", "the header seems to be missing: this line has %s. If it is a row, add --no-header: columns then are "+
				"1, 2 and so on, as in %s %s=1", in.ListColumns(), flag, name)
		case isMissing && r.Wanted != "":
			return in.HeaderErrorf("", "has no column %q; its columns are %s. Want %s", name, in.ListColumns(), r.Wanted)
		case isMissing:
			return in.HeaderErrorf("", "has no column %q; its columns are %s. If one of them is meant, add %s %s=NAME; if this line is a row, "+
				"add --no-header", name, in.ListColumns(), flag, name)
		}
	}
	var unnamed []string
	for i, name := range in.Header() {
		// Blanks are a name beside an id alone, where columns may be classes.
		if strings.TrimSpace(name) == "" && (name == "" || len(names) > 1) && !slices.Contains(places, i) {
			unnamed = append(unnamed, strconv.Itoa(i+1))
		}
	}
	if unnamed != nil {
		r.say("%s: left out, without a name in the header: column %s", in.Path(), strings.Join(unnamed, ", "))
	}
	return nil
}
