package print

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// blockBytes is about how much text is written at a time.
const blockBytes = 1 << 16

// Render prints a Result, and returns how many rows it had. Rows are written as they come, in blocks; a table takes its
// widths from the first thousand. On a terminal, control characters are escaped in every format. If an answer fails
// half way, a Parquet file lacks the footer, so that no reader takes the part for the whole.
func Render(w io.Writer, r *query.Result, f Format, on *Screen) (rows int64, err error) {
	if f == FormatParquet {
		return writeParquet(w, r)
	}
	var text bytes.Buffer
	escapes := on.Terminal && (f != FormatTable || r.Bare) // tables escape their cells
	flush := func() error {
		if text.Len() == 0 {
			return nil
		}
		block := text.Bytes()
		if escapes { // but the ends of lines and the tabs between fields
			block = []byte(escape(text.String(), "\n\t"))
		}
		text.Reset()
		_, err := w.Write(block)
		return err
	}
	p := newPrinter(&text, r, f, on)
	for row, err := range r.Rows() {
		if err != nil {
			// What was complete before the failure is still worth reading.
			return rows, cmp.Or(err, flush())
		}
		p.row(row)
		// A reader at the other end of a pipe is shown the first rows at once.
		if rows++; rows&(rows-1) == 0 || text.Len() >= blockBytes {
			if err := flush(); err != nil {
				return rows, err
			}
		}
	}
	p.end()
	return rows, flush()
}

// A printer writes rows in one format.
type printer interface {
	row(values []kv.Value)
	end()
}

// newPrinter writes the head of a format, which is not parquet.
func newPrinter(out *bytes.Buffer, r *query.Result, f Format, on *Screen) printer {
	layout := layoutPrinter{out: out, Layout: r.Layout}
	switch f {
	case FormatTable:
		if r.Bare {
			return &barePrinter{out}
		}
		layout.title = EscapeControls
		layout.table = func(columns []query.ColumnInfo, isRecord bool) printer {
			return &tablePrinter{out: out, columns: columns, screen: on, headless: isRecord && r.Sections == nil}
		}
		return layout.printer(r.Columns())
	case FormatMarkdown:
		layout.title = func(title string) string { return "**" + escapeMarkdown(title) + "**" }
		layout.table = func(columns []query.ColumnInfo, _ bool) printer { return newMarkdownPrinter(out, columns) }
		return layout.printer(r.Columns())
	case FormatCSV, FormatTSV:
		p := &csvPrinter{out: csv.NewWriter(out), columns: r.Columns()}
		if f == FormatTSV {
			p.out.Comma = '\t'
		}
		names := make([]string, len(p.columns))
		for i, c := range p.columns {
			names[i] = c.Name
		}
		p.line(names)
		return p
	}
	p := &jsonPrinter{out: out, texts: json.NewEncoder(out), columns: r.Columns(), Layout: r.Layout,
		array: f == FormatJSON && !r.Record}
	p.texts.SetEscapeHTML(false)
	return p
}

// A layoutPrinter prints tables of a layout: of sections, those that have something for reading, in place of the rows.
type layoutPrinter struct {
	query.Layout
	out   *bytes.Buffer
	title func(string) string
	table func(columns []query.ColumnInfo, isRecord bool) printer
}

// printer prints the rows of the layout.
func (p *layoutPrinter) printer(columns []query.ColumnInfo) printer {
	switch {
	case p.Sections != nil:
		return p
	case p.Record:
		return &recordPrinter{columns, p.table(recordColumns, true)}
	}
	return p.table(columns, false)
}

func (p *layoutPrinter) row([]kv.Value) {}

func (p *layoutPrinter) end() {
	between := ""
	for _, s := range p.Sections {
		if s.Reading != nil {
			s = *s.Reading
		}
		if len(s.Rows) == 0 {
			continue
		}
		fmt.Fprintf(p.out, "%s%s\n\n", between, p.title(s.Title))
		between = "\n"
		rows := layoutPrinter{Layout: query.Layout{Record: s.Record}, table: p.table}
		to := rows.printer(s.Columns)
		for _, values := range s.Rows {
			to.row(values)
		}
		to.end()
	}
}

var recordColumns = []query.ColumnInfo{{Name: "property"}, {Name: "value"}}

// A recordPrinter turns a row into one line a property.
type recordPrinter struct {
	columns []query.ColumnInfo
	printer
}

func (p *recordPrinter) row(values []kv.Value) {
	for i, v := range values {
		p.printer.row([]kv.Value{kv.ValueOf(p.columns[i].Name), v})
	}
}

type barePrinter struct{ out *bytes.Buffer }

func (p *barePrinter) row(values []kv.Value) {
	for _, v := range values {
		p.out.WriteString(v.String() + "\n")
	}
}

func (p *barePrinter) end() {}

// A csvPrinter writes csv, and tsv with the same quotes.
type csvPrinter struct {
	out     *csv.Writer
	columns []query.ColumnInfo
}

func (p *csvPrinter) row(values []kv.Value) {
	fields := make([]string, len(values))
	for i, v := range values {
		fields[i] = query.Exact(v, p.columns[i].Kind)
	}
	p.line(fields)
}

func (p *csvPrinter) line(fields []string) {
	p.out.Write(fields) //nolint:errcheck // to memory
	p.out.Flush()
}

func (p *csvPrinter) end() {}

// A jsonPrinter writes objects with their keys in the order of the columns, or one object with a list for each section
// and the properties of the sections that are records. Infinities, for which JSON has no number, are null.
type jsonPrinter struct {
	query.Layout
	out     *bytes.Buffer
	texts   *json.Encoder // to out
	columns []query.ColumnInfo
	array   bool
	rows    int
}

func (p *jsonPrinter) row(values []kv.Value) {
	if p.Sections != nil {
		return
	}
	if p.array {
		p.out.WriteString([]string{"[\n", ",\n"}[min(p.rows, 1)])
	}
	p.rows++
	p.object(p.columns, values)
	if !p.array {
		p.out.WriteByte('\n')
	}
}

// list writes so many things with commas between, and brackets around.
func (p *jsonPrinter) list(brackets string, n int, write func(i int)) {
	p.out.WriteByte(brackets[0])
	for i := range n {
		if i > 0 {
			p.out.WriteByte(',')
		}
		write(i)
	}
	p.out.WriteByte(brackets[1])
}

// object writes a row.
func (p *jsonPrinter) object(columns []query.ColumnInfo, values []kv.Value) {
	p.list("{}", len(values), func(i int) { p.member(columns[i], values[i]) })
}

// member writes the value of a column under its name.
func (p *jsonPrinter) member(column query.ColumnInfo, v kv.Value) {
	p.text(column.Name)
	p.out.WriteByte(':')
	list, isList := p.Lists[column.Name]
	switch {
	case isList:
		p.list("[]", len(list), func(i int) { p.text(list[i]) })
	case v.Kind() == kv.KindString:
		p.text(v.Str())
	case v.IsNull(), v.Kind() == kv.KindFloat && math.IsInf(v.Float(), 0):
		p.out.WriteString("null")
	default:
		p.out.WriteString(query.Exact(v, column.Kind))
	}
}

func (p *jsonPrinter) text(s string) {
	p.texts.Encode(s) //nolint:errcheck // to memory
	p.out.Truncate(p.out.Len() - len("\n"))
}

func (p *jsonPrinter) end() {
	switch {
	case p.Sections != nil:
		p.list("{}", len(p.Sections), func(i int) { p.section(p.Sections[i]) })
		p.out.WriteByte('\n')
	case !p.array:
	case p.rows == 0:
		p.out.WriteString("[]\n")
	default:
		p.out.WriteString("\n]\n")
	}
}

// section writes the rows of a section: a list under its key, or the properties of a record.
func (p *jsonPrinter) section(s query.Section) {
	if !s.Record {
		p.text(s.Key)
		p.out.WriteByte(':')
		p.list("[]", len(s.Rows), func(i int) { p.object(s.Columns, s.Rows[i]) })
		return
	}
	for i, v := range s.Rows[0] {
		if i > 0 {
			p.out.WriteByte(',')
		}
		p.member(s.Columns[i], v)
	}
}
