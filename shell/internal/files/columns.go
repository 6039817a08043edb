package files

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// Columns says which column of a file is meant by a name. A name that is not there is that of its column.
type Columns map[string]string

// ParseColumns reads a list such as id=paper_id,label=subject. A backslash takes a comma, or a backslash, as a part of a name.
func ParseColumns(text string) (Columns, error) {
	columns := Columns{}
	for _, pair := range splitList(text) {
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
			if other == name {
				return nil, fmt.Errorf("got %s twice, want one column for it", wording.Short(name))
			}
			if of == column {
				return nil, fmt.Errorf("got the column %s for %s and for %s, want one of them", wording.Short(column), wording.Short(other), wording.Short(name))
			}
		}
		columns[name] = column
	}
	return columns, nil
}

// ParseNames reads a list such as NA,-1. A backslash takes a comma, or a backslash, as a part of a name.
func ParseNames(text string) []string { return splitList(text) }

// joinNames is a list that ParseNames reads.
func joinNames(names []string) string {
	escape, escaped := strings.NewReplacer(`\`, `\\`, `,`, `\,`), make([]string, len(names))
	for i, name := range names {
		escaped[i] = escape.Replace(name)
	}
	return strings.Join(escaped, ",")
}

// splitList cuts a list at its commas, but those behind a backslash.
func splitList(text string) []string {
	parts := []string{""}
	escaped := false
	for _, r := range text {
		last := &parts[len(parts)-1]
		switch {
		case escaped && r != ',' && r != '\\':
			*last += `\` + string(r)
			escaped = false
		case escaped:
			*last += string(r)
			escaped = false
		case r == '\\':
			escaped = true
		case r == ',':
			parts = append(parts, "")
		default:
			*last += string(r)
		}
	}
	if escaped {
		parts[len(parts)-1] += `\`
	}
	return parts
}

// String is a list that ParseColumns reads.
func (c Columns) String() string {
	names := slices.SortedFunc(maps.Keys(c), func(a, b string) int {
		order := slices.Concat(nodeNames, edgeNames)
		place := func(name string) int {
			if i := slices.Index(order, name); i >= 0 {
				return i
			}
			return len(order)
		}
		if d := place(a) - place(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, name := range names {
		pair := strings.NewReplacer(`\`, `\\`, `,`, `\,`).Replace(name + "=" + c[name])
		pairs = append(pairs, pair)
	}
	return strings.Join(pairs, ",")
}

// with is c with a column for a name.
func (c Columns) with(name, column string) Columns {
	more := Columns{}
	maps.Copy(more, c)
	more[name] = column
	return more
}

// Only returns an error if a name is other than those given.
func (c Columns) Only(names ...string) error {
	for name := range c {
		if !slices.Contains(names, name) {
			return fmt.Errorf("got %s=%s, want columns for %s", wording.Short(name), wording.Short(c[name]), strings.Join(names, ", "))
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

// NodePlaces returns the places of the columns id, label and split in a nodes file, -1 of one that is not there. There is an id.
func (r Job) NodePlaces(in *table.Reader) ([]int, error) {
	places, err := r.Columns.places(in, "--columns", true, nodeNames...)
	if err == nil {
		err = r.checkPlaces(in, places, nodeNames, 1)
	}
	return places, err
}

// EdgePlaces returns the places of the columns src, dst and weight in an edges file, -1 if there is no weight.
func (r Job) EdgePlaces(in *table.Reader) ([]int, error) {
	places, err := r.EdgeColumns.places(in, "--edge-columns", true, edgeNames...)
	if err == nil {
		err = r.checkPlaces(in, places, edgeNames, 2)
	}
	return places, err
}

// propertyNames returns the names that the columns of a nodes file have in a store, all of which differ. A column without a name is no
// property, and neither are the others.
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
			advised := "if it is a property, --columns " +
				wording.ShellWord(r.Columns.with(fmt.Sprintf("property_%d", i+1), strconv.Itoa(i+1)).String())
			if others[slices.Index(nodeNames, kv.LabelColumn)] < 0 {
				advised = "if it is the label, --columns " +
					wording.ShellWord(r.Columns.with(kv.LabelColumn, strconv.Itoa(i+1)).String()) + "; " + advised
			}
			return nil, in.HeaderErrorf("", "the name %q of column %d has an end of line or a control character, "+
				"want another: %s", name, i+1, advised)
		}
		j, again := first[name]
		switch first[name] = i; {
		case !again || name == "":
		case in.Header()[i] == in.Header()[j]:
			advised := r.Columns.with(name+"_2", strconv.Itoa(i+1))
			return nil, in.HeaderErrorf(name, "the header names it twice, want a name for each: such as --columns %s",
				wording.ShellWord(advised.String()))
		default:
			return nil, in.HeaderErrorf(name, "stands for the columns %q and %q, want a name for each", in.Header()[j], in.Header()[i])
		}
	}
	return names, nil
}

// otherPlaces returns the places of columns in a table beside the nodes file: those of Columns, or, where it does not have them,
// those of the names themselves. All are there.
func (r Job) otherPlaces(in *table.Reader, names ...string) ([]int, error) {
	places, err := r.Columns.places(in, "--columns", false, names...)
	if header := in.Header(); err == nil && names[0] == "id" && places[0] < 0 && len(header) > 1 && header[0] == "" &&
		guessColumn(header, "id", nil, false) < 0 {
		places[0] = 0
		r.say("%s: no column is named id, so column 1, which has no name, is taken for it, as the index of a frame "+
			"of pandas", in.Path())
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
				return nil, in.HeaderErrorf("", "has no column %q, which %s names for %s; its columns are %s", column, flag, name, in.ListColumns())
			}
		}
		if !isNamed || places[i] < 0 {
			if places[i], err = h.find(name); err != nil {
				return nil, err
			}
		}
	}
	if in.Numbered() {
		for i := range names[:firstNames(names, len(in.Header()))] {
			if places[i] < 0 && !slices.Contains(places, i) {
				places[i] = i
			}
		}
	}
	for i, place := range places {
		if place >= 0 && in.IsList(place) && slices.Contains(slices.Concat(nodeNames, edgeNames), names[i]) {
			return nil, in.HeaderErrorf(in.Header()[place], "has lists, want one value in each row for %s", names[i])
		}
		if j := slices.Index(places, place); place >= 0 && j < i {
			return nil, in.HeaderErrorf(in.Header()[place], "is named for %s and for %s by %s, want a column for each", names[j], names[i], flag)
		}
	}
	return places, nil
}

// maxAdvice is how long a flag is that a message advises, in bytes.
const maxAdvice = 200

// sayUnlabelled says which column may have the labels, where a nodes file has none.
func (n *nodesFile) sayUnlabelled(r Job) {
	place := guessColumn(n.names, kv.LabelColumn, []int{n.id, n.split}, false)
	if last := len(n.names) - 1; n.in.Numbered() && last != n.id {
		place = last
	}
	if n.label >= 0 || len(n.names) == 1 {
		return
	}
	if place < 0 {
		r.say("%s: has no column label, so no node has a label. Its columns are %s. If one of them is the label, add "+
			"--columns label= with its name or number",
			n.in.Path(), n.in.ListColumns())
		return
	}
	advised := r.Columns.with(kv.LabelColumn, reference(n.names, place))
	r.say("%s: has no column label, so no node has a label. If %s is the label, add --columns %s",
		n.in.Path(), describe(n.names, place), wording.ShellWord(advised.String()))
}

// usualNames are names, in lower case and without other signs, that files often have for a column.
var usualNames = map[string][]string{
	"id": {"nodeid", "node", "paperid", "vertexid", "vertex", "key", "uid", "uuid", "idx", "index",
		"indexlevel0", "name"},
	kv.LabelColumn: {"subject", "class", "category", "labels", "target", "y", "classname", "cls", "topic", "choice"},
	"node":         {"nodeid", "node", "paperid", "vertexid", "vertex"},
	"who":          {"annotator", "annotatedby", "completedby", "user", "username", "reviewer"},
	"why":          {"comment", "reason"},
	"time":         {"createdat", "timestamp", "annotatedat", "datetime", "updatedat"},
	"split":        {"fold", "set", "subset", "partition"},
	"src": {"source", "from", "sourceid", "srcid", "fromid", "start", "startid", "citing", "u", "node1",
		"head", "subject", "fromnodeid"},
	"dst": {"target", "to", "targetid", "dstid", "destination", "dest", "toid", "end", "endid", "cited", "v",
		"node2", "tail", "object", "tonodeid"},
}

// guessColumn guesses which column of a header, but those taken, is meant by a name; -1: none. If any will do, it is the first.
func guessColumn(header []string, name string, taken []int, anyWillDo bool) int {
	plain := make([]string, len(header))
	for i, column := range header {
		plain[i] = strings.Map(func(r rune) rune {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				return -1
			}
			return unicode.ToLower(r)
		}, column)
	}
	for _, usual := range usualNames[name] {
		if i := slices.Index(plain, usual); i >= 0 && !slices.Contains(taken, i) {
			return i
		}
	}
	for i, column := range header {
		word, isID := strings.CutSuffix(strings.ToLower(column), "id")
		isID = isID && (strings.HasSuffix(column, "ID") || strings.HasSuffix(column, "Id") ||
			len(word) > len(strings.TrimRight(word, "_-. ")))
		if name == "id" && isID && !slices.Contains(taken, i) { // david is a name
			return i
		}
	}
	if anyWillDo && usualNames[name] != nil {
		return firstColumn(len(header), taken)
	}
	return -1
}

// firstColumn is the first column that is not taken, -1 if all are.
func firstColumn(columns int, taken []int) int {
	for i := range columns {
		if !slices.Contains(taken, i) {
			return i
		}
	}
	return -1
}
