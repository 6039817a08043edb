package files

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/table"
)

// openTable opens a table: a file, the files of a directory, or standard input. It returns the places of columns as
// find does, and says how the table is read if its name does not, and which columns are not.
func (r Job) openTable(
	ctx context.Context, path string, flag columnFlag, needed int, names ...string,
) (*table.Reader, []int, error) {
	in, err := table.Open(ctx, path, table.Options{
		Form:     r.Text,
		IsHeader: flag.of.isHeader(names[:needed]...),
		Texts:    slices.Concat(names, slices.Collect(maps.Values(flag.of))),
		Memory:   r.Memory,
	})
	if err != nil {
		return nil, nil, err
	}
	if form := in.Form(); form != "" {
		r.say("%s: read as: %s", in.Path(), form)
	}
	if left := in.LeftOut(); left != nil {
		r.say("%s: these columns are left out, as they are no booleans, numbers, texts, dates or times: %s", in.Path(),
			strings.Join(left, ", "))
	}
	places, err := r.find(in, flag, needed, names...)
	if err != nil {
		return nil, nil, errors.Join(err, in.Close())
	}
	return in, places, nil
}

// OpenTable opens a table whose rows name nodes. It returns the places of the column id and of those of the other
// names, all of which are there.
func (r Job) OpenTable(ctx context.Context, path string, others ...string) (*table.Reader, []int, error) {
	names := append([]string{"id"}, others...)
	return r.openTable(ctx, path, r.nodeFlag(false), len(names), names...)
}

// openIDs opens a nodes file, of which the ids alone count, and returns the place of their column.
func (r Job) openIDs(ctx context.Context, path string) (*table.Reader, int, error) {
	in, places, err := r.openTable(ctx, path, r.nodeFlag(isCount(r.Columns["id"])), 1, "id")
	if err != nil {
		return nil, -1, err
	}
	return in, places[0], nil
}
