package files

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// TestExportedParquet reads a database that Kùzu 0.11.3 exported to parquet: the columns have the names and types of the scripts.
func TestExportedParquet(t *testing.T) {
	for _, c := range []struct {
		find   func(context.Context, Names) (table.Parts, error)
		header []string
		first  string
	}{
		{
			Job{}.NodeTable,
			[]string{"number:ID(Paper)", "title:string", "subject:string", "year:short", "open:boolean", "seen:date", "tags:string", "big"},
			`7|A "quoted", title|Theory|1999|true|2020-01-02|["a","b"]|12`,
		},
		{Job{}.EdgeTable, []string{":START_ID(Paper)", ":END_ID(Paper)", "since:date", "weight:double"}, "7|8||2.5"},
	} {
		parts, err := c.find(t.Context(), Names{"testdata/exported"})
		must.Do(t, err)
		in, err := table.OpenParts(t.Context(), parts, 1<<26)
		must.Do(t, err)
		if !slices.Equal(in.Header(), c.header) {
			t.Errorf("got the header %q, want %q", in.Header(), c.header)
		}
		for row, err := range in.Rows() {
			must.Do(t, err)
			var fields []string
			for _, field := range row.Fields {
				fields = append(fields, string(field))
			}
			if got := strings.Join(fields, "|"); got != c.first {
				t.Errorf("got the row %s, want %s", got, c.first)
			}
			break
		}
		must.Do(t, in.Close())
	}
}

// FuzzCypher holds that any scripts give tables or an error that names a line, and that names come out as they are quoted.
func FuzzCypher(f *testing.F) {
	f.Add("CREATE NODE TABLE `My ``Author` (`n` STRING, tags STRING[], m MAP(STRING, INT64), PRIMARY KEY(`n`));", "my 'name`")
	f.Add("CREATE REL TABLE GROUP Knows (FROM A TO B, FROM `C` TO D, since DECIMAL(18, 3), MANY_ONE);\r\n// end", `a"b\`)
	f.Add("/* nothing */ CREATE TYPE t AS (a INT64); CREATE REL TABLE x (FROM", ";")
	f.Fuzz(func(t *testing.T, script, name string) {
		statements, err := cutCypher("s", []byte(script))
		for _, s := range statements {
			tables, err := s.exportedTables()
			if err != nil && !strings.HasPrefix(err.Error(), "s:") {
				t.Errorf("%q: got %v, want the file and the line", script, err)
			}
			for _, table := range tables {
				isKey := func(c exportedColumn) bool { return c.name == table.key }
				if !table.isOfEdges() && !slices.ContainsFunc(table.columns, isKey) {
					t.Errorf("%q: got nodes without a primary key: %+v", script, table)
				}
			}
			of := map[string][]exportedTable{"t": {{name: "t", key: "k", columns: []exportedColumn{{"k", "INT64"}}}}}
			if file, err := s.exportedFile("folder", of); err == nil && file != nil && strings.ContainsAny(file.path[len("folder"):][1:], `/\`) {
				t.Errorf("%q: got the file %s, want one in the folder", script, file.path)
			}
		}
		if err != nil && !strings.HasPrefix(err.Error(), "s:") {
			t.Errorf("%q: got %v, want the file and the line", script, err)
		}
		if name == "" {
			return
		}
		quoted := "CREATE NODE TABLE `" + strings.ReplaceAll(name, "`", "``") + "` (id INT64, PRIMARY KEY(id));"
		if statements, err = cutCypher("s", []byte(quoted)); err != nil || len(statements) != 1 {
			t.Fatalf("%q: got %v and %d statements, want one", quoted, err, len(statements))
		}
		tables, err := statements[0].exportedTables()
		if err != nil || len(tables) != 1 || tables[0].name != name || fmt.Sprint(tables[0].columns) != "[{id INT64}]" {
			t.Errorf("%q: got %+v and %v", quoted, tables, err)
		}
	})
}
