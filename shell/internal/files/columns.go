package files

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// Columns says which column of a file is meant by a name. A name that is not there is that of its column.
type Columns map[string]string

// ParseColumns reads pairs such as id=paper_id and label=subject.
func ParseColumns(pairs []string) (Columns, error) {
	columns := Columns{}
	for _, pair := range pairs {
		name, column, _ := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		if name == "" || column == "" {
			return nil, fmt.Errorf("got %q, want NAME=COLUMN, such as id=paper_id", wording.Short(pair))
		}
		for _, known := range slices.Concat(nodeNames, edgeNames) {
			if strings.EqualFold(name, known) {
				name = known
			}
		}
		for other, of := range columns {
			if other == name || of == column {
				return nil, fmt.Errorf("got %s beside %s=%s, want one column for each name", wording.Short(pair),
					wording.Short(other), wording.Short(of))
			}
		}
		columns[name] = column
	}
	return columns, nil
}

// Only returns an error if a name is other than those given.
func (c Columns) Only(names ...string) error {
	for name := range c {
		if !slices.Contains(names, name) {
			return fmt.Errorf("got %s=%s, want columns for %s", wording.Short(name), wording.Short(c[name]),
				strings.Join(names, ", "))
		}
	}
	return nil
}

// The names that columns of nodes and of edges have.
var (
	nodeNames = []string{"id", kv.LabelColumn, "split"}
	edgeNames = []string{"src", "dst", "weight"}
)

// EdgeNames are the names of the columns that an edges file can have.
func EdgeNames() []string { return slices.Clone(edgeNames) }

// A columnFlag names columns of a table.
type columnFlag struct {
	name  string // such as --columns
	of    Columns
	exact bool // it is about this very file: a column that it names must be there, and it may count them
}

// nodeFlag is the flag about the nodes file, which counts for other tables too.
func (r Job) nodeFlag(exact bool) columnFlag { return columnFlag{"--columns", r.Columns, exact} }

// find returns the places of columns in a table, -1 of one that is not there. So many of the names, the first ones,
// must be there. In a file without a header, names that the flag does not have are those of the first columns.
func (r Job) find(in *table.Reader, flag columnFlag, needed int, names ...string) ([]int, error) {
	h, err := headerOf(in)
	if err != nil {
		return nil, err
	}
	places := make([]int, len(names))
	for i, name := range names {
		places[i] = -1
		if column, isNamed := flag.of[name]; isNamed && (flag.exact || !isCount(column)) {
			if places[i], err = h.column(column); err != nil {
				return nil, err
			}
			if places[i] < 0 && flag.exact {
				return nil, in.HeaderErrorf("", "has no column %q, which %s names for %s; its columns are %s", column,
					flag.name, name,
					in.ListColumns())
			}
		}
		if places[i] < 0 {
			if places[i], err = h.find(name); err != nil {
				return nil, err
			}
		}
	}
	if in.Numbered() {
		first := min(len(names), 2) // of the names are those of the first columns
		if slices.Equal(names, nodeNames) && len(in.Header()) != 2 {
			first = 1
		}
		for i := range names[:min(first, len(in.Header()))] {
			if places[i] < 0 && !slices.Contains(places, i) {
				places[i] = i
			}
		}
	}
	if header := in.Header(); !flag.exact && names[0] == "id" && places[0] < 0 && len(header) > 1 && header[0] == "" {
		places[0] = 0
		r.say("%s: no column is named id, so column 1, which has no name, is taken for it, as the index of a frame of pandas",
			in.Path())
	}
	for i, place := range places {
		if j := slices.Index(places, place); place >= 0 && j < i {
			return nil, in.HeaderErrorf(in.Header()[place], "is named for %s and for %s by %s, want a column for each",
				names[j], names[i], flag.name)
		}
		isRow := place >= 0 && isCount(flag.of[names[i]]) && isCount(in.Header()[place]) && !in.Numbered()
		if isRow || place < 0 && i < needed {
			return nil, r.missing(in, flag, names[i])
		}
	}
	return places, nil
}

// missing is the error of a column that is not there, or of a row in the place of the header.
func (r Job) missing(in *table.Reader, flag columnFlag, name string) error {
	switch {
	case in.Numbered():
		return in.HeaderErrorf("", "has %d columns, and none for %s: name it with %s, such as %s=1", len(in.Header()), name,
			flag.name, name)
	case slices.ContainsFunc(in.Header(), isCount):
		return in.HeaderErrorf("", "the header seems to be missing: this line has %s. If it is a row, add --no-header: "+
			"columns then are 1, 2 and so on, as in %s %s=1", in.ListColumns(), flag.name, name)
	case r.Wanted != "":
		return in.HeaderErrorf("", "has no column %q; its columns are %s. Want %s", name, in.ListColumns(), r.Wanted)
	}
	return in.HeaderErrorf("", "has no column %q; its columns are %s. If one of them is meant, add %s %s=NAME; if this "+
		"line is a row, add --no-header", name, in.ListColumns(), flag.name, name)
}

// propertyNames returns the names that the columns of a nodes file have in a store, all of which differ. A column
// without a name is no property, and neither are the others.
func (r Job) propertyNames(in *table.Reader, h *header, others []int) ([]string, error) {
	names := make([]string, len(h.names))
	for i, name := range h.names {
		names[i] = strings.TrimSpace(name)
	}
	for name, column := range r.Columns {
		if slices.Contains(nodeNames, name) {
			continue
		}
		place, err := r.find(in, columnFlag{"--columns", Columns{name: column}, true}, 1, name)
		if err != nil {
			return nil, err
		}
		names[place[0]] = name
	}
	for _, place := range others {
		if place >= 0 {
			names[place] = ""
		}
	}
	first := make(map[string]int, len(names))
	for i, name := range names {
		if name == "" && in.Header()[i] == "" && !slices.Contains(others, i) {
			r.say("%s: column %d is left out, as it has no name in the header", in.Path(), i+1)
		}
		if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return nil, in.HeaderErrorf("", "the name %q of column %d has an end of line or a control character, want another: "+
				"--columns NAME=%d gives it one", name, i+1, i+1)
		}
		j, again := first[name]
		if first[name] = i; again && name != "" {
			return nil, in.HeaderErrorf("", "the columns %d and %d are both called %q, want a name for each: --columns "+
				"NAME=%d gives one",
				j+1, i+1, name, i+1)
		}
	}
	return names, nil
}

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
