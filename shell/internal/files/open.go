package files

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// NodeTable finds the files that the names of a nodes file stand for.
func (r Job) NodeTable(ctx context.Context, names Names) (table.Parts, error) {
	parts, err := joinTables(ctx, names)
	return parts.WithoutNested().WithForm(r.Text, r.Columns.isHeader("id")), err
}

// EdgeTable is NodeTable for edges.
func (r Job) EdgeTable(ctx context.Context, names Names) (table.Parts, error) {
	parts, err := joinTables(ctx, names)
	return parts.WithoutNested().WithForm(r.Text, r.EdgeColumns.isHeader("src", "dst")), err
}

func joinTables(ctx context.Context, names Names) (table.Parts, error) {
	var all []table.Parts
	for _, path := range names {
		parts, err := table.FindParts(ctx, path)
		if err != nil || len(names) == 1 {
			return parts, err
		}
		all = append(all, parts)
	}
	return table.Join(names.String(), all...)
}

// openParts opens a table as a stage: it may have to wait for the header.
func (r Job) openParts(ctx context.Context, parts table.Parts) (in *table.Reader, err error) {
	err = r.Timed("header", func(*ops.Stage) error {
		in, err = r.open(ctx, parts.WithoutNested(r.needed()...))
		return err
	})
	return in, err
}

// open opens a table, and says how it is read if its name does not.
func (r Job) open(ctx context.Context, parts table.Parts) (*table.Reader, error) {
	in, err := table.Open(ctx, parts, r.Memory)
	if err != nil {
		return nil, err
	}
	if form := in.Form(); form != "" {
		r.say("%s: read as: %s", in.Path(), form)
	}
	if in.Numbered() && in.HeaderLooksLike() > 0 {
		r.say("%s: line 1 looks like a header. It is read as a row, since --no-header says so", in.Path())
	}
	return in, nil
}

// openLabelled opens a nodes file with the places of its ids, labels and splits.
func (r Job) openLabelled(ctx context.Context, names Names) (in *table.Reader, places []int, err error) {
	parts, err := r.NodeTable(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	if in, err = r.openParts(ctx, parts); err != nil {
		return nil, nil, err
	}
	if places, err = r.NodePlaces(in); err != nil {
		return nil, nil, errors.Join(err, in.Close())
	}
	return in, places, nil
}

// openNodeTable opens a nodes file, of which the ids alone count, and returns their place first.
func (r Job) openNodeTable(ctx context.Context, names Names) (*table.Reader, []int, error) {
	parts, err := r.NodeTable(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	in, err := r.open(ctx, parts.WithoutNested(r.needed()...))
	if err != nil {
		return nil, nil, err
	}
	places, err := r.Columns.places(in, "--columns", isCount(r.Columns["id"]), "id")
	if err == nil {
		err = r.checkPlaces(in, places, nodeNames[:1], 1)
	}
	if err != nil {
		return nil, nil, errors.Join(err, in.Close())
	}
	return in, places, nil
}

// openTable opens a table: a file, the files of a directory, those that a pattern matches, or standard input. isHeader
// recognizes its header.
func (r Job) openTable(ctx context.Context, path string, isHeader func([]string) bool) (*table.Reader, error) {
	parts, err := table.FindParts(ctx, path)
	if err != nil {
		return nil, err
	}
	return r.open(ctx, parts.WithForm(r.Text, isHeader))
}

// OpenTable opens a table whose rows name nodes. It returns the places of the column id and of those of the other
// names, all of which are there.
func (r Job) OpenTable(ctx context.Context, path string, others ...string) (*table.Reader, []int, error) {
	names := append([]string{"id"}, others...)
	in, err := r.openTable(ctx, path, r.Columns.isHeader(names...))
	if err != nil {
		return nil, nil, err
	}
	columns, err := r.otherPlaces(in, names...)
	if err != nil {
		return nil, nil, errors.Join(err, in.Close())
	}
	return in, columns, nil
}
