package files

import (
	"fmt"
	"maps"
	"slices"
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

// needed are the names that the columns of the nodes and the edges file have which a person or a name speaks for.
func (r Job) needed() []string {
	return slices.Concat(nodeNames, edgeNames, slices.Collect(maps.Values(r.Columns)),
		slices.Collect(maps.Values(r.EdgeColumns)))
}

// nodePlaces returns the places of the columns id, label and split in a nodes file, -1 of one that is not there. There
// is an id.
func (r Job) nodePlaces(in *table.Reader) ([]int, error) {
	places, err := r.Columns.places(in, "--columns", true, nodeNames...)
	if err == nil {
		err = r.checkPlaces(in, places, nodeNames, 1)
	}
	return places, err
}

// edgePlaces returns the places of the columns src, dst and weight in an edges file, -1 if there is no weight.
func (r Job) edgePlaces(in *table.Reader) ([]int, error) {
	places, err := r.EdgeColumns.places(in, "--edge-columns", true, edgeNames...)
	if err == nil {
		err = r.checkPlaces(in, places, edgeNames, 2)
	}
	return places, err
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
		place, err := Columns{name: column}.places(in, "--columns", true, name)
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
		if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return nil, in.HeaderErrorf("", "the name %q of column %d has an end of line or a control character, want another: "+
				"--columns NAME=%d gives it one", name, i+1, i+1)
		}
		j, again := first[name]
		if first[name] = i; again && name != "" {
			return nil, in.HeaderErrorf("", "the columns %d and %d are both called %q, want a name for each: --columns NAME=%d gives one",
				j+1, i+1, name, i+1)
		}
	}
	return names, nil
}

// otherPlaces returns the places of columns in a table beside the nodes file: those of Columns, or, where it does not
// have them, those of the names themselves. All are there.
func (r Job) otherPlaces(in *table.Reader, names ...string) ([]int, error) {
	places, err := r.Columns.places(in, "--columns", false, names...)
	if err == nil && names[0] == "id" && places[0] < 0 && len(in.Header()) > 1 && in.Header()[0] == "" {
		places[0] = 0
		r.say("%s: no column is named id, so column 1, which has no name, is taken for it, as the index of a frame of pandas", in.Path())
	}
	if err == nil {
		err = r.checkPlaces(in, places, names, len(names))
	}
	return places, err
}

// places returns the places of columns. A column that c names must be there if c is for this very file. Of another file
// c does not count the columns. In a file without a header, names that c does not have are those of the first columns.
func (c Columns) places(in *table.Reader, flag string, exact bool, names ...string) ([]int, error) {
	h, err := headerOf(in)
	if err != nil {
		return nil, err
	}
	places := make([]int, len(names))
	for i, name := range names {
		column, isNamed := c[name]
		if isNamed = isNamed && (exact || !isCount(column)); isNamed {
			if places[i], err = h.column(column); err != nil {
				return nil, err
			}
			if places[i] < 0 && exact {
				return nil, in.HeaderErrorf("", "has no column %q, which %s names for %s; its columns are %s", column, flag, name,
					in.ListColumns())
			}
		}
		if !isNamed || places[i] < 0 {
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
	for i, place := range places {
		if j := slices.Index(places, place); place >= 0 && j < i {
			return nil, in.HeaderErrorf(in.Header()[place], "is named for %s and for %s by %s, want a column for each",
				names[j], names[i], flag)
		}
	}
	return places, nil
}

// sayUnlabelled says so if a nodes file has no labels.
func (n *nodesFile) sayUnlabelled(r Job) {
	if n.label < 0 && len(n.names) > 1 {
		r.say("%s: has no column label, so no node has a label. Its columns are %s. If one of them is the label, add --columns label=NAME, or its number",
			n.in.Path(), n.in.ListColumns())
	}
}
