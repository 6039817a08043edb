package print

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// renderSamples are results of every shape, by the name that testdata/render calls them.
var renderSamples = map[string]func() *query.Result{
	"scores": func() *query.Result {
		return query.NewTable(
			[]query.ColumnInfo{{Name: "id", Kind: kv.KindInt}, {Name: "label", Kind: kv.KindClass},
				{Name: "score", Kind: kv.KindSingle}},
			[][]kv.Value{
				{kv.ValueOf(7), kv.ValueOf("Theory"), kv.ValueOf(float64(float32(0.97123456)))},
				{kv.ValueOf(1042), kv.ValueOf("Neural_Networks"), kv.ValueOf(float64(float32(0.5)))},
				{kv.ValueOf(-1), {}, {}},
			})
	},
	"wide": func() *query.Result {
		return query.NewTable(
			[]query.ColumnInfo{{Name: "id", Kind: kv.KindString}, {Name: "名前", Kind: kv.KindString},
				{Name: "n", Kind: kv.KindInt}},
			[][]kv.Value{
				{kv.ValueOf("a"), kv.ValueOf("東京"), kv.ValueOf(1)},
				{kv.ValueOf("e\u0301te\u0301"), kv.ValueOf("naïve"), kv.ValueOf(20)},
				{kv.ValueOf("👩‍👩‍👧"), kv.ValueOf("x"), kv.ValueOf(300)},
			})
	},
	"awkward": func() *query.Result {
		return query.NewTable(
			[]query.ColumnInfo{{Name: "a \"b\"", Kind: kv.KindString}, {Name: "x|y", Kind: kv.KindFloat}},
			[][]kv.Value{
				{kv.ValueOf("tab\there, \"quoted\"\nline\\"), kv.ValueOf(math.NaN())},
				{kv.ValueOf("\x1b[31mred\x1b[0m\u202e"), kv.ValueOf(math.Inf(1))},
				{kv.ValueOf(" <b>|*`"), kv.ValueOf(math.Inf(-1))},
				{kv.ValueOf(""), kv.ValueOf(1e-9)},
				{{}, kv.ValueOf(1234567.8)},
				{kv.ValueOf("bad \xff utf8"), kv.ValueOf(1e300)},
			})
	},
	"empty": func() *query.Result {
		return query.NewTable([]query.ColumnInfo{{Name: "id", Kind: kv.KindString}, {Name: "score", Kind: kv.KindFloat}}, nil)
	},
	"record": func() *query.Result {
		r := query.NewTable([]query.ColumnInfo{{Name: "id", Kind: kv.KindString}, {Name: "degree", Kind: kv.KindInt},
			{Name: "planted", Kind: kv.KindBool}, {Name: "score", Kind: kv.KindFloat}},
			[][]kv.Value{{kv.ValueOf("p1"), kv.ValueOf(3), kv.ValueOf(true), {}}})
		r.Record = true
		return r
	},
	"sections": func() *query.Result {
		r := query.NewTable([]query.ColumnInfo{{Name: "section", Kind: kv.KindString}, {Name: "value", Kind: kv.KindNull}},
			[][]kv.Value{{kv.ValueOf("x"), kv.ValueOf(1)}, {kv.ValueOf("y"), kv.ValueOf("z")}})
		r.Sections = []query.Section{
			{Key: "first", Title: "First", Columns: []query.ColumnInfo{{Name: "n", Kind: kv.KindInt}},
				Rows: [][]kv.Value{{kv.ValueOf(1)}}},
			{Key: "second", Title: "Second", Columns: []query.ColumnInfo{{Name: "s", Kind: kv.KindString}},
				Rows: [][]kv.Value{{kv.ValueOf("z")}}},
			{Key: "third", Columns: []query.ColumnInfo{{Name: "id", Kind: kv.KindInt}, {Name: "null", Kind: kv.KindString}},
				Rows: [][]kv.Value{{kv.ValueOf(7), {}}}, Record: true,
				Reading: &query.Section{Title: "Third", Columns: []query.ColumnInfo{{Name: "n", Kind: kv.KindInt}},
					Rows: [][]kv.Value{{kv.ValueOf(8)}}}},
		}
		return r
	},
	"lists": func() *query.Result {
		r := query.NewTable([]query.ColumnInfo{{Name: "n", Kind: kv.KindInt}, {Name: "none", Kind: kv.KindString},
			{Name: "two", Kind: kv.KindString}},
			[][]kv.Value{{kv.ValueOf(1), kv.ValueOf(""), kv.ValueOf("a, 'b c'")}})
		r.Record, r.Lists = true, map[string][]string{"none": {}, "two": {"a", "b c"}}
		return r
	},
	"bare": func() *query.Result {
		r := query.NewTable([]query.ColumnInfo{{Name: "plan", Kind: kv.KindString}},
			[][]kv.Value{{kv.ValueOf("index scan\n  filter")}})
		r.Bare = true
		return r
	},
}

// TestRender runs testdata/render: the command is a format, its argument a sample.
func TestRender(t *testing.T) {
	datadriven.Walk(t, "testdata/render", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			format, err := ParseFormat(d.Cmd)
			if err != nil {
				return err.Error()
			}
			sample := renderSamples[d.CmdArgs[0].Key]
			if sample == nil {
				d.Fatalf(t, "no sample %s", d.CmdArgs[0].Key)
			}
			var out bytes.Buffer
			if _, err := Render(&out, sample(), format, &Screen{}); err != nil {
				return err.Error()
			}
			return out.String()
		})
	})
}

func TestJSONIsValidAndCSVReadsBack(t *testing.T) {
	for name, sample := range renderSamples {
		for _, format := range []Format{FormatJSON, FormatJSONL} {
			var out bytes.Buffer
			if _, err := Render(&out, sample(), format, &Screen{}); err != nil {
				t.Fatalf("%s as %s: %v", name, format, err)
			}
			for decoder := json.NewDecoder(&out); ; {
				var value any
				if err := decoder.Decode(&value); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s as %s is not JSON: %v", name, format, err)
				}
			}
		}
		var out bytes.Buffer
		if _, err := Render(&out, sample(), FormatCSV, &Screen{}); err != nil {
			t.Fatalf("%s as csv: %v", name, err)
		}
		records, err := csv.NewReader(&out).ReadAll()
		if err != nil {
			t.Fatalf("%s as csv does not read back: %v", name, err)
		}
		rows := 0
		for row, err := range sample().Rows() {
			must.Do(t, err)
			rows++
			for i, v := range row {
				if v.Kind() == kv.KindString && records[rows][i] != v.Str() {
					t.Errorf("%s as csv, row %d: got %q, want %q", name, rows, records[rows][i], v.Str())
				}
			}
		}
		if len(records) != rows+1 {
			t.Errorf("%s as csv: got %d records, want a header and %d rows", name, len(records), rows)
		}
	}
}

// TestRowsAreWrittenAsTheyCome renders a result that would never end and stops it from the reading side.
func TestRowsAreWrittenAsTheyCome(t *testing.T) {
	for _, format := range []Format{FormatTable, FormatCSV, FormatTSV, FormatJSON, FormatJSONL, FormatMarkdown} {
		columns := []query.ColumnInfo{{Name: "n", Kind: kv.KindInt}}
		endless := query.NewResult(columns, func(yield func([]kv.Value, error) bool) {
			for n := int64(0); yield([]kv.Value{kv.ValueOf(n)}, nil); n++ {
				continue
			}
		})
		read, write := io.Pipe()
		done := make(chan error, 1)
		go func() {
			_, err := Render(write, endless, format, &Screen{})
			done <- err
		}()
		must.Get(io.ReadFull(read, make([]byte, 4)))(t)
		closed := fmt.Errorf("reader of %s gone", format)
		read.CloseWithError(closed)
		if err := <-done; !errors.Is(err, closed) {
			t.Errorf("Render as %s: got %v, want the writer's error", format, err)
		}
	}
}
