package files

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// isCount reports whether the name of a column is a number that may count columns.
func isCount(column string) bool {
	_, err := strconv.ParseUint(column, 10, 32)
	return err == nil
}

// firstNames is how many of some names are those of the first columns of a table without a header.
func firstNames(names []string, columns int) int {
	count := len(names)
	switch {
	case slices.Equal(names, filedFields): // which say so themselves
		count = 0
	case slices.Equal(names, edgeNames):
		count = 2
	case slices.Equal(names, nodeNames) && columns != 2:
		count = 1
	case slices.Equal(names, nodeNames):
		count = 2
	}
	return min(count, columns)
}

// isHeader returns a function that recognizes a header: it has all of some names, or the columns that c names for them.
func (c Columns) isHeader(names ...string) func(fields []string) bool {
	return func(fields []string) bool {
		isFirst, hasNumber := false, false
		for _, field := range fields {
			hasNumber = hasNumber || isCount(field)
		}
		for _, name := range names {
			place := slices.IndexFunc(fields, func(field string) bool {
				_, of, _ := cutType(field)
				field = strings.TrimSpace(field)
				return strings.EqualFold(field, name) || of != "" && of == roles[name] || field == c[name] && !isCount(field)
			})
			if place < 0 {
				return false
			}
			isFirst = isFirst || place == 0
		}
		return isFirst || !hasNumber // a row such as 1,id may have the code of a country
	}
}

// reference is how a flag names a column: by its name, or by its number if there is no such name or several.
func reference(header []string, place int) string {
	name := header[place]
	if name == "" || slices.Contains(header[:place], name) || slices.Contains(header[place+1:], name) {
		return strconv.Itoa(place + 1)
	}
	return name
}

// describe is reference for a sentence.
func describe(header []string, place int) string {
	column := reference(header, place)
	if isCount(column) {
		return "column " + column
	}
	return strconv.Quote(column)
}

// checkPlaces returns an error if some of the needed names, the first ones, have no column, or if a number names a
// column of what seems to be a row. places are those of the names. It says which columns are left out since they have
// no name.
func (r Job) checkPlaces(in *table.Reader, places []int, names []string, needed int) error {
	if slices.Contains(places[:needed], -1) {
		return r.missing(in, places, names)
	}
	_, of := r.flag(names)
	for i, name := range names {
		if places[i] < 0 || in.Numbered() || strings.EqualFold(strings.TrimSpace(in.Header()[places[i]]), name) {
			continue
		}
		if isCount(of[name]) && in.HeaderLooksLike() < 0 {
			return r.headless(in, names)
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
		columns, are := "column", "is left out: it has"
		if len(unnamed) > 1 {
			columns, are = "columns", "are left out: they have"
		}
		r.say("%s: %s %s %s no name in the header", in.Path(), columns, strings.Join(unnamed, ", "), are)
	}
	return nil
}

// flag is the flag that names columns for some names, and what it says.
func (r Job) flag(names []string) (string, Columns) {
	if slices.Equal(names, edgeNames) {
		return "--edge-columns", r.EdgeColumns
	}
	return "--columns", r.Columns
}

// headless is the error that the header of a file seems, or may be, missing, with the flags that read the file without
// one.
func (r Job) headless(in *table.Reader, names []string) error {
	if first := in.Header()[0]; slices.Equal(names, nodeNames[:1]) && !isCount(first) {
		if _, isNumber := parseNumber([]byte(first)); isNumber {
			return in.HeaderErrorf("", "has no column of ids, since the first has %s, want a column id, or the array "+
				"alone as .npy (numpy.save), "+
				"with a row for each node in the order of the nodes file", first)
		}
	}
	flag, of := r.flag(names)
	advised := maps.Clone(of)
	maps.DeleteFunc(advised, func(_, column string) bool { return !isCount(column) || column == "0" })
	var filled []int
	areNumbers := true
	for i, field := range in.Header() {
		if field != "" {
			filled = append(filled, i)
		}
		areNumbers = areNumbers && isCount(field)
	}
	condition, then := "", ""
	first := min(firstNames(names, len(filled)), len(filled))
	for i, name := range names[:first] {
		if filled[i] != i && advised[name] == "" {
			advised = advised.with(name, strconv.Itoa(filled[i]+1))
		}
	}
	if slices.Equal(names, nodeNames) && advised[kv.LabelColumn] == "" && len(filled) > 2 {
		last := strconv.Itoa(filled[len(filled)-1] + 1)
		advised = advised.with(kv.LabelColumn, last)
		condition = " and column " + last + " is the label"
	}
	for i, name := range names[:first] {
		column := strconv.Itoa(filled[i] + 1)
		if advised[name] != "" {
			column = advised[name]
		}
		if then != "" {
			then += ", "
		}
		then += fmt.Sprintf("%s is column %s", name, column)
	}
	if then != "" {
		then = ": then " + then
	}
	flags := "--no-header"
	if len(advised) > 0 {
		flags += " " + flag + " " + wording.ShellWord(advised.String())
	}
	if in.HeaderLooksLike() == 0 {
		return in.HeaderErrorf("", "has no column %q; its columns are %s. If this line is a row%s, add %s%s. If it "+
			"is the header, name its columns with %s",
			names[0], in.ListColumns(), condition, flags, then, flag)
	}
	remark := ""
	if areNumbers {
		remark = ". If it is a header of numbers, or counts nodes and edges, remove it first"
	}
	return in.HeaderErrorf("", "the header seems to be missing, since this line looks like a row (%s). If it is "+
		"one%s, add %s%s%s",
		in.ListColumns(), condition, flags, then, remark)
}

// missing is the error that a file lacks a column, with the flag that would name another for it. places are those of
// names.
func (r Job) missing(in *table.Reader, places []int, names []string) error {
	lacks := names[slices.Index(places, -1)]
	if r.Wanted != "" {
		return in.HeaderErrorf("", "has no column %q; its columns are %s. Want %s", lacks, in.ListColumns(), r.Wanted)
	}
	flag, of := r.flag(names)
	isOfGraph := slices.Equal(names, nodeNames) || slices.Equal(names, edgeNames)
	if header := in.Header(); len(header) > 0 {
		others := ";|\t" // beside commas
		if len(header) == 1 {
			others = ":,;|~^/\t "
		}
		if at := strings.IndexAny(header[0], others); at > 0 {
			return in.HeaderErrorf("", "has %s, the first being %q, and no column %q. If something else separates "+
				"columns, name it, such as --delimiter %s",
				wording.Count(len(header), "column", "columns"), header[0], lacks, wording.ShellWord(header[0][at:at+1]))
		}
	}
	if in.Numbered() {
		return in.HeaderErrorf("", "has %s, want one for %s too", wording.Count(len(in.Header()), "column", "columns"), lacks)
	}
	if looks := in.HeaderLooksLike(); looks < 0 || looks == 0 && isOfGraph && !hasUsual(in.Header(), places, names) {
		return r.headless(in, names)
	}
	advised := of
	switch {
	case r.besideGraph:
		advised = nil
	case isOfGraph:
		// What names no column, such as paper_id=id, was meant the other way round.
		advised = maps.Clone(of)
		maps.DeleteFunc(advised, func(_, column string) bool {
			return !slices.Contains(in.Header(), column) &&
				!isCount(column)
		})
	}
	pandas := "" // whose index may be no column
	if lacks == "id" && !in.IsText() {
		pandas = ". If the ids are the index of a frame of pandas, write it as a column: " +
			"frame.rename_axis('id').reset_index().to_parquet"
	}
	var conditions []string
	taken, isUsual := slices.Clone(places), true
	for i, name := range names {
		needed := name == lacks || name == "dst"
		if places[i] >= 0 || !needed && name != kv.LabelColumn {
			continue
		}
		place := guessColumn(in.Header(), name, taken, needed && isOfGraph && pandas == "")
		if name == "dst" && !isUsual {
			place = firstColumn(len(in.Header()), taken) // beside src, such as j of i, j, v
		}
		if place < 0 {
			continue
		}
		taken = append(taken, place)
		isUsual = isUsual && guessColumn(in.Header()[place:place+1], name, nil, false) == 0
		advised = advised.with(name, reference(in.Header(), place))
		switch column := describe(in.Header(), place); {
		case name == "src":
			conditions = append(conditions, "edges lead from "+column)
		case name == "dst" && conditions == nil:
			conditions = append(conditions, "edges lead to "+column)
		case name == "dst":
			conditions[0] += " to " + column
		case conditions != nil:
			conditions = append(conditions, column+" the "+name)
		default:
			conditions = append(conditions, column+" is the "+name)
		}
	}
	advice := advised.String()
	if conditions == nil || len(advice) > maxAdvice {
		return in.HeaderErrorf("", "has no column %q; its columns are %s%s", lacks, in.ListColumns(), pandas)
	}
	add := "add"
	if r.besideGraph {
		add = "import the graph without it first, and then it alone with"
	}
	return in.HeaderErrorf("", "has no column %q; its columns are %s. If %s, %s %s %s",
		lacks, in.ListColumns(), strings.Join(conditions, " and "), add, flag, wording.ShellWord(advice))
}

// hasUsual reports whether a header has a column for some of the names, or one with a usual name for some.
func hasUsual(header []string, places []int, names []string) bool {
	for i, name := range names {
		if places[i] >= 0 || guessColumn(header, name, nil, false) >= 0 {
			return true
		}
	}
	return false
}
