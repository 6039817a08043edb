package files

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// openGraph opens a table of the graph itself as a stage: it may have to wait for the header. Columns that hold no
// plain values are left out.
func (r Job) openGraph(ctx context.Context, path string, isHeader func([]string) bool) (in *table.Reader, err error) {
	err = r.Timed("header", func(*ops.Stage) error {
		in, err = r.open(ctx, path, isHeader, true)
		return err
	})
	return in, err
}

// open opens a table: a file, the files of a directory, or standard input. It says how it is read if its name does not.
// isHeader recognizes its header.
func (r Job) open(ctx context.Context, path string, isHeader func([]string) bool, plain bool) (*table.Reader, error) {
	parts, err := table.FindParts(ctx, path)
	if err != nil {
		return nil, err
	}
	if plain {
		parts = parts.WithoutNested(r.needed()...)
	}
	in, err := table.Open(ctx, parts.WithForm(r.Text, isHeader), r.Memory)
	if err != nil {
		return nil, err
	}
	if form := in.Form(); form != "" {
		r.say("%s: read as: %s", in.Path(), form)
	}
	return in, nil
}

// openNodeTable opens a nodes file, of which the ids alone count, and returns their place first.
func (r Job) openNodeTable(ctx context.Context, path string) (*table.Reader, []int, error) {
	in, err := r.openGraph(ctx, path, r.Columns.isHeader("id"))
	if err != nil {
		return nil, nil, err
	}
	places, err := r.find(in, r.nodeFlag(isCount(r.Columns["id"])), 1, "id")
	if err != nil {
		return nil, nil, errors.Join(err, in.Close())
	}
	return in, places, nil
}

// OpenTable opens a table whose rows name nodes. It returns the places of the column id and of those of the other
// names, all of which are there.
func (r Job) OpenTable(ctx context.Context, path string, others ...string) (*table.Reader, []int, error) {
	names := append([]string{"id"}, others...)
	in, err := r.open(ctx, path, r.Columns.isHeader(names...), false)
	if err != nil {
		return nil, nil, err
	}
	columns, err := r.find(in, r.nodeFlag(false), len(names), names...)
	if err != nil {
		return nil, nil, errors.Join(err, in.Close())
	}
	return in, columns, nil
}
