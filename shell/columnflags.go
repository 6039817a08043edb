package shell

import (
	"slices"

	"github.com/graphcleaner/graphcleaner/shell/internal/files"
)

// A columnMap is a flag that says which columns of a file are meant, such as id=paper_id,label=subject.
type columnMap struct{ of files.Columns }

// UnmarshalText reads the flag for the command line.
func (m *columnMap) UnmarshalText(text []byte) (err error) {
	m.of, err = files.ParseColumns(string(text))
	return err
}

// nodeColumns says which columns of the nodes file are meant.
type nodeColumns struct {
	Columns columnMap `placeholder:"NAME=COLUMN,…" help:"Columns of the nodes file under other names, such as id=paper_id,label=subject."`
}

// edgeColumns says which columns of the edges file are meant.
type edgeColumns struct {
	EdgeColumns columnMap `placeholder:"NAME=COLUMN,…" help:"Columns of the edges file under other names, such as src=source,dst=target."`
}

// checkEdgeColumns returns a usage error if columns of an edges file are named that it cannot have, or that there is no file for.
func (c edgeColumns) checkEdgeColumns(edges files.Names) error {
	if c.EdgeColumns.of == nil {
		return nil
	}
	if !edges.Given() {
		return usagef("--edge-columns names columns of --edges: want that too")
	}
	if slices.ContainsFunc(edges, files.IsArray) {
		return usagef("--edge-columns names columns of a table, and %s has none with names", edges)
	}
	if err := c.EdgeColumns.of.Only(files.EdgeNames()...); err != nil {
		return usagef("--edge-columns: %v", err)
	}
	return nil
}

// graphColumns says which columns of the files of a graph are meant.
type graphColumns struct {
	nodeColumns
	edgeColumns
}

// of has a job read those columns.
func (c graphColumns) of(r files.Job) files.Job {
	r.Columns, r.EdgeColumns = c.Columns.of, c.EdgeColumns.of
	return r
}
