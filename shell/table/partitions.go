package table

import (
	"context"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// A partition is what the directories KEY=VALUE above a file say of all its rows, as Spark and Hive write tables.
type partition struct{ keys, values []string }

// nullPartition is the value of a directory for rows that have none.
const nullPartition = "__HIVE_DEFAULT_PARTITION__"

// filesBelow are the files of a directory and of the directories KEY=VALUE in it. Names that begin with . or _ do not
// count. Links to directories in it are refused: one that leads back would have no end.
func filesBelow(ctx context.Context, dir string) (paths []string, err error) {
	entries, err := stream.ReadDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if strings.HasPrefix(entry.Name(), ".") || strings.HasPrefix(entry.Name(), "_") {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		if entry.Type()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0 { // to open a pipe may wait for ever
			return nil, &Error{Path: path, Msg: "is a pipe, a socket or a device in a directory, want files"}
		}
		info, err := stream.Stat(ctx, path)
		switch {
		case err != nil || !info.IsDir():
			paths = append(paths, path) // opening it says what is wrong
		case !strings.Contains(entry.Name(), "="):
			return nil, &Error{Path: path, Msg: "is a directory in a directory, want files, or directories with names KEY=VALUE"}
		case entry.Type()&fs.ModeSymlink != 0:
			return nil, &Error{Path: path, Msg: "is a link to a directory, want the directory itself in its place"}
		default:
			below, err := filesBelow(ctx, path)
			if err != nil {
				return nil, err
			}
			paths = append(paths, below...)
		}
	}
	return paths, nil
}

// checkLakes returns an error if files are of a table with a log of its changes: files that were removed from such a
// table are still there.
func checkLakes(ctx context.Context, paths []string) error {
	checked := map[string]bool{}
	for _, path := range paths {
		for dir := filepath.Dir(path); !checked[dir]; dir = filepath.Dir(dir) {
			checked[dir] = true
			if of := lakeOf(ctx, dir); of != "" {
				return &Error{Path: dir, Msg: "is a table of " + of +
					", whose log says which of its files count, and the log is not read: " +
					"write the table to plain parquet files, and name those"}
			}
			if base := filepath.Base(dir); base != "data" && !strings.Contains(base, "=") {
				break
			}
		}
	}
	return nil
}

// lakeOf is what wrote the log in a directory, "" if there is none.
func lakeOf(ctx context.Context, dir string) string {
	for name, of := range map[string]string{"_delta_log": "Delta Lake", ".hoodie": "Hudi"} {
		if _, err := stream.Stat(ctx, filepath.Join(dir, name)); err == nil {
			return of
		}
	}
	entries, _ := stream.ReadDir(ctx, filepath.Join(dir, "metadata")) //nolint:errcheck // most tables have none
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), ".metadata.json") }) {
		return "Iceberg"
	}
	return ""
}

// partitionsOf are the partitions of files, nil if no directory KEY=VALUE is below root. All files have the same keys.
func partitionsOf(root string, paths []string) ([]partition, error) {
	partitions := make([]partition, len(paths))
	for i, path := range paths {
		below, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		p := &partitions[i]
		for _, name := range strings.Split(filepath.ToSlash(below), "/") {
			key, value, ok := strings.Cut(name, "=")
			if !ok || key == "" {
				continue
			}
			if value == nullPartition {
				value = ""
			}
			p.keys, p.values = append(p.keys, unescaped(key)), append(p.values, unescaped(value))
		}
		if first := partitions[0].keys; !slices.Equal(p.keys, first) {
			return nil, &Error{Path: path, Msg: "lies in directories of the keys " + listKeys(p.keys) +
				", want those of " + paths[0] + ": " + listKeys(first)}
		}
	}
	if len(partitions) == 0 || partitions[0].keys == nil {
		return nil, nil
	}
	return partitions, nil
}

func listKeys(keys []string) string {
	if keys == nil {
		return "none"
	}
	return strings.Join(keys, ", ")
}

// unescaped is a name without the signs %XX, which stand for characters that no file system takes.
func unescaped(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}

// withPartition adds the columns of a partition to those of the file.
func (r *Reader) withPartition(p partition) error {
	for i, value := range p.values {
		if err := checkText([]byte(value)); err != nil {
			return &Error{Path: r.path, Column: p.keys[i], Msg: err.Error() + ", in the name of its directory"}
		}
	}
	r.header = slices.Concat(r.header, p.keys)
	if r.lists != nil { // of a parquet file
		r.lists = append(r.lists, make([]bool, len(p.keys))...)
		r.floats = append(r.floats, make([]bool, len(p.keys))...)
	}
	var values [][]byte
	for _, value := range p.values {
		values = append(values, []byte(value))
	}
	chunks := r.chunks
	r.chunks = func() rows { return &partitionRows{rows: chunks(), values: values} }
	if r.chunk != nil { // what is behind the header
		r.chunk = &partitionRows{rows: r.chunk, values: values}
	}
	return nil
}

// partitionRows are rows with the values of their partition behind their fields.
type partitionRows struct {
	rows
	values [][]byte
	fields [][]byte
}

func (p *partitionRows) next() (Row, error) {
	row, err := p.rows.next()
	p.fields = append(append(p.fields[:0], row.Fields...), p.values...)
	row.Fields = p.fields
	return row, err
}
