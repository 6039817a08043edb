package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/stream"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// The scripts of a database that EXPORT DATABASE of Kùzu or LadybugDB wrote.
const (
	schemaScript = "schema.cypher"
	copyScript   = "copy.cypher"
)

// An exportedTable is a table of nodes or of edges of an exported database.
type exportedTable struct {
	name     string
	from, to string // the tables that edges lead between; empty: a table of nodes
	columns  []exportedColumn
	key      string // of a table of nodes
}

func (t *exportedTable) isOfEdges() bool { return t.from != "" }

// An exportedColumn is a property of an exported table.
type exportedColumn struct{ name, of string }

// An exportedFile is a file of an exported database.
type exportedFile struct {
	path       string
	table      exportedTable
	isHeadless bool
}

// NodeTable finds the files that the names of a nodes file stand for, as table.FindParts and table.Join do. The folder of an exported database stands for
// its table of nodes, and a file in it has the columns that the scripts of the database say. The folder of a data set of OGB stands for its nodes.
func (r Job) NodeTable(ctx context.Context, names Names) (table.Parts, error) {
	parts, err := joinTables(ctx, names, false)
	return parts.WithoutNested().WithForm(r.Text, r.Columns.isHeader("id")), err
}

// EdgeTable is NodeTable for edges.
func (r Job) EdgeTable(ctx context.Context, names Names) (table.Parts, error) {
	parts, err := joinTables(ctx, names, true)
	return parts.WithoutNested().WithForm(r.Text, r.EdgeColumns.isHeader("src", "dst")), err
}

func joinTables(ctx context.Context, names Names, isOfEdges bool) (table.Parts, error) {
	var all []table.Parts
	for _, path := range names {
		parts, err := findTable(ctx, path, isOfEdges)
		if err != nil || len(names) == 1 {
			return parts, err
		}
		all = append(all, parts)
	}
	return table.Join(names.String(), all...)
}

func findTable(ctx context.Context, path string, isOfEdges bool) (table.Parts, error) {
	if parts, ok, err := ogbTable(ctx, path, isOfEdges); ok {
		return parts, err
	}
	parts, err := table.FindParts(ctx, path)
	if err != nil {
		return parts, err
	}
	folder, isFile := path, false
	if info, err := stream.Stat(ctx, path); err != nil || !info.IsDir() {
		folder, isFile = filepath.Dir(path), true
	}
	if !isExported(ctx, folder) {
		return parts, nil
	}
	files, err := readExported(ctx, folder)
	if err != nil {
		return parts, err
	}
	named := slices.IndexFunc(files, func(f exportedFile) bool { return filepath.Base(f.path) == filepath.Base(path) })
	if isFile && named < 0 {
		return parts, nil // one that somebody has put there
	}
	var fitting []exportedFile
	for _, f := range files {
		if f.table.isOfEdges() == isOfEdges {
			fitting = append(fitting, f)
		}
	}
	switch {
	case isFile && files[named].table.isOfEdges() != isOfEdges:
		return parts, exportedError(path, files[named].table.describe()+" is no table of "+kindOfTable(isOfEdges), isOfEdges, fitting)
	case isFile:
		return files[named].parts(ctx)
	case len(fitting) != 1:
		return parts, exportedError(path, "the database has several tables of "+kindOfTable(isOfEdges), isOfEdges, fitting)
	}
	return fitting[0].parts(ctx)
}

// isExported says whether a folder has the script that says which files a database was exported to.
func isExported(ctx context.Context, folder string) bool {
	_, err := stream.Stat(ctx, filepath.Join(folder, copyScript))
	return err == nil
}

func kindOfTable(isOfEdges bool) string {
	if isOfEdges {
		return "edges"
	}
	return "nodes"
}

// describe names a table for a message.
func (t *exportedTable) describe() string {
	if t.isOfEdges() {
		return fmt.Sprintf("%s (from %s to %s)", wording.Short(t.name), wording.Short(t.from), wording.Short(t.to))
	}
	return wording.Short(t.name)
}

// exportedError says which of the tables of a database can be given.
func exportedError(path, what string, isOfEdges bool, fitting []exportedFile) error {
	const few = 8
	flag := "--" + kindOfTable(isOfEdges)
	if len(fitting) == 0 {
		return &table.Error{Path: path, Msg: fmt.Sprintf("%s has no table of %s, want another file for %s", copyScript, kindOfTable(isOfEdges), flag)}
	}
	var names []string
	for _, f := range fitting[:min(few, len(fitting))] {
		names = append(names, f.table.describe())
	}
	list := strings.Join(names, ", ")
	if more := len(fitting) - few; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	best := max(0, slices.IndexFunc(fitting, func(f exportedFile) bool { return f.table.from == f.table.to }))
	return &table.Error{Path: path, Msg: fmt.Sprintf("%s; those of %s are %s: want the file of one, such as %s %s",
		what, kindOfTable(isOfEdges), list, flag, wording.ShellWord(fitting[best].path))}
}

// parts is the file with the header that neo4j-admin would give it.
func (f *exportedFile) parts(ctx context.Context) (table.Parts, error) {
	parts, err := table.FindParts(ctx, f.path)
	if err != nil {
		return parts, err
	}
	names := make([]string, 0, len(f.table.columns)+2)
	if f.table.isOfEdges() {
		names = append(names, ":"+typeStart+"("+f.table.from+")", ":"+typeEnd+"("+f.table.to+")")
	}
	for _, column := range f.table.columns {
		name := column.name
		switch of := exportedTypes[strings.ToUpper(column.of)]; {
		case !f.table.isOfEdges() && column.name == f.table.key:
			name += ":" + typeID + "(" + f.table.name + ")"
		case of != "":
			name += ":" + of
		}
		if got, _, _ := cutType(name); got != strings.TrimSpace(column.name) {
			return parts, &table.Error{Path: f.path, Column: column.name, Value: column.name, Msg: "has : or { in its name, want a name without"}
		}
		names = append(names, name)
	}
	return parts.WithHeader(names, f.isHeadless), nil
}

// exportedTypes are the types of neo4j-admin for those of properties whose values always fit. The values of other types, such as INT128 and
// DECIMAL, tell their kind.
var exportedTypes = map[string]string{
	"INT64": "long", "INT32": "int", "INT16": "short", "INT8": "byte", "UINT32": "long", "UINT16": "int", "UINT8": "short", "SERIAL": "long",
	"FLOAT": "float", "DOUBLE": "double", "BOOL": "boolean", "BOOLEAN": "boolean", "STRING": "string", "UUID": "string", "BLOB": "string",
	"DATE": "date", "TIMESTAMP": "datetime", "TIMESTAMP_NS": "datetime", "TIMESTAMP_MS": "datetime", "TIMESTAMP_SEC": "datetime",
	"TIMESTAMP_TZ": "datetime", "INTERVAL": "duration", "LIST": "string",
}

// readExported reads the scripts of a database in a folder. It returns the files of its tables.
func readExported(ctx context.Context, folder string) (files []exportedFile, err error) {
	statements, err := readCypher(ctx, filepath.Join(folder, schemaScript))
	if errors.Is(err, os.ErrNotExist) {
		return nil, &table.Error{Path: folder, Msg: "has " + copyScript + " and no " + schemaScript + ", want both, as EXPORT DATABASE writes them"}
	}
	if err != nil {
		return nil, err
	}
	tables := map[string][]exportedTable{} // several where edges lead between several pairs of tables
	for _, s := range statements {
		of, err := s.exportedTables()
		if err != nil {
			return nil, err
		}
		for _, t := range of {
			tables[t.name] = append(tables[t.name], t)
		}
	}
	if statements, err = readCypher(ctx, filepath.Join(folder, copyScript)); err != nil {
		return nil, err
	}
	for _, s := range statements {
		file, err := s.exportedFile(folder, tables)
		if err != nil {
			return nil, err
		}
		if file != nil {
			files = append(files, *file)
		}
	}
	return files, nil
}

// exportedTables are the tables that a statement of the schema creates: none if it creates something else.
func (s *cypherStatement) exportedTables() ([]exportedTable, error) {
	i, isOfNodes := s.begins(0, "CREATE", "NODE", "TABLE")
	if !isOfNodes {
		next, isOfEdges := s.begins(0, "CREATE", "REL", "TABLE")
		if !isOfEdges {
			return nil, nil
		}
		i = next
		if next, ok := s.begins(i, "GROUP"); ok && !s.at(next).is("(") {
			i = next
		}
	}
	if next, ok := s.begins(i, "IF", "NOT", "EXISTS"); ok {
		i = next
	}
	name, err := s.name(i, "a table")
	if err != nil {
		return nil, err
	}
	items, _, err := s.list(i + 1)
	if err != nil {
		return nil, err
	}
	t := exportedTable{name: name}
	var pairs [][2]string
	for _, item := range items {
		first, end := item[0], item[1]
		switch {
		case !isOfNodes && s.at(first).is("FROM"):
			from, err := s.name(first+1, "a table")
			if err != nil {
				return nil, err
			}
			if !s.at(first + 2).is("TO") {
				return nil, s.errorf(first+2, "got %q, want TO and the name of a table", s.at(first+2).text)
			}
			to, err := s.name(first+3, "a table")
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, [2]string{from, to})
		case s.at(first).is("PRIMARY") && s.at(first+1).is("KEY"):
			if t.key, err = s.name(first+3, "a column"); err != nil {
				return nil, err
			}
		case end-first == 1: // such as MANY_MANY
		default:
			column, err := s.column(first, end)
			if err != nil {
				return nil, err
			}
			if t.columns = append(t.columns, column); s.at(end-2).is("PRIMARY") && s.at(end-1).is("KEY") {
				t.key = column.name
			}
		}
	}
	if isOfNodes {
		if !slices.ContainsFunc(t.columns, func(c exportedColumn) bool { return c.name == t.key }) {
			return nil, s.errorf(i, "got the table %s without a primary key, want one: it is the id of nodes", wording.Short(name))
		}
		return []exportedTable{t}, nil
	}
	var tables []exportedTable
	for _, pair := range pairs {
		t.from, t.to = pair[0], pair[1]
		tables = append(tables, t)
	}
	return tables, nil
}

// column is the column that a part of a statement defines.
func (s *cypherStatement) column(first, end int) (c exportedColumn, err error) {
	if c.name, err = s.name(first, "a column"); err != nil {
		return c, err
	}
	if c.of, err = s.name(first+1, "a type"); err != nil {
		return c, err
	}
	if first+2 < end && s.at(first+2).is("[") {
		c.of = "LIST"
	}
	return c, nil
}

// exportedFile is the file that a statement copies into a table; nil if it copies nothing.
func (s *cypherStatement) exportedFile(folder string, tables map[string][]exportedTable) (*exportedFile, error) {
	i, ok := s.begins(0, "COPY")
	if !ok {
		return nil, nil
	}
	name, err := s.name(i, "a table")
	if err != nil {
		return nil, err
	}
	candidates := tables[name]
	if len(candidates) == 0 {
		return nil, s.errorf(i, "got the table %q, want one that %s creates", name, schemaScript)
	}
	i++
	var columns []string
	hasColumns := s.at(i).is("(")
	if hasColumns {
		items, next, err := s.list(i)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			column, err := s.name(item[0], "a column")
			if err != nil {
				return nil, err
			}
			columns = append(columns, column)
		}
		i = next
	}
	if !s.at(i).is("FROM") || s.at(i+1).mark != '"' && s.at(i+1).mark != '\'' {
		return nil, s.errorf(i, "got %q, want FROM and a file in quotes", s.at(i).text)
	}
	// Older versions write the whole path, and folders are moved. Nothing outside the folder is read.
	base := s.at(i + 1).text
	base = base[strings.LastIndexAny(base, `/\`)+1:]
	if base == "" || base == "." || base == ".." {
		return nil, s.errorf(i+1, "got the file %q, want the name of one in the folder", s.at(i+1).text)
	}
	f := &exportedFile{path: filepath.Join(folder, base), isHeadless: true}
	ends, err := s.copyOptions(i+2, f)
	if err != nil {
		return nil, err
	}
	var fitting []exportedTable
	for _, t := range candidates {
		if (ends[0] == "" || ends[0] == t.from) && (ends[1] == "" || ends[1] == t.to) {
			fitting = append(fitting, t)
		}
	}
	if len(fitting) != 1 {
		return nil, s.errorf(i+1, "got a file of %s, want from and to, two tables between which its edges lead by %s", wording.Short(name), schemaScript)
	}
	f.table = fitting[0]
	if f.table.columns, err = s.chosen(f.table.columns, columns, hasColumns || f.table.isOfEdges() && len(candidates) > 1); err != nil {
		return nil, err
	}
	if !f.table.isOfEdges() && !slices.ContainsFunc(f.table.columns, func(c exportedColumn) bool { return c.name == f.table.key }) {
		return nil, s.errorf(i+1, "got a file of %s without its primary key %q, want it: it is the id of nodes", wording.Short(name), f.table.key)
	}
	return f, nil
}

// chosen are those of columns that are named, in the order of the names; all of them if none need be named.
func (s *cypherStatement) chosen(columns []exportedColumn, names []string, areNamed bool) ([]exportedColumn, error) {
	if !areNamed || len(names) == 0 && len(columns) == 0 {
		return columns, nil
	}
	var chosen []exportedColumn
	for _, name := range names {
		i := slices.IndexFunc(columns, func(c exportedColumn) bool { return c.name == name })
		if i < 0 {
			return nil, s.errorf(0, "got the column %q, want one that %s creates", name, schemaScript)
		}
		chosen = append(chosen, columns[i])
	}
	return chosen, nil
}

// copyOptions reads what a statement says of a file, from a place on. It returns the tables that edges lead from and to.
func (s *cypherStatement) copyOptions(i int, f *exportedFile) (ends [2]string, err error) {
	if i >= len(s.tokens) {
		return ends, nil
	}
	items, _, err := s.list(i)
	if err != nil {
		return ends, err
	}
	for _, item := range items {
		key, value := s.at(item[0]), s.at(item[1]-1)
		switch name := strings.ToLower(key.text); {
		case name == "from":
			ends[0] = value.text
		case name == "to":
			ends[1] = value.text
		case name == "header":
			f.isHeadless = !strings.EqualFold(value.text, "true")
		case name == "parallel": // how Kùzu reads it
		case (name == "delim" || name == "delimiter") && value.text == ",":
		case (name == "quote" || name == "escape") && value.text == `"`:
		default:
			return ends, s.errorf(item[0], "got the option %s with %q, want a database that was exported to parquet, or to csv with the separators and quotes of a csv file",
				wording.Short(key.text), value.text)
		}
	}
	return ends, nil
}
