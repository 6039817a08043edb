package print

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// Render prints a Result and returns how many rows it had. Rows are written as they come, in blocks; a
// table takes its widths from the first thousand. On a terminal, control characters are escaped in every format.
func Render(w io.Writer, r *query.Result, f Format) (rows int64, err error) {
	return RenderOn(w, r, f, &Screen{Terminal: IsTerminal(w)})
}

// RenderOn is Render for a Screen.
func RenderOn(w io.Writer, r *query.Result, f Format, on *Screen) (rows int64, err error) {
	if on.Terminal && (f != FormatTable || r.Bare) { // tables escape their cells
		escaped := &escapeWriter{out: w}
		w = escaped
		defer func() { err = cmp.Or(err, escaped.end()) }()
	}
	out := bufio.NewWriterSize(w, 1<<16)
	p, err := newPrinter(out, r, f, on)
	if err != nil {
		return 0, err
	}
	for row, err := range r.Rows() {
		if err != nil {
			// What was complete before the failure is still worth reading.
			return rows, cmp.Or(err, out.Flush())
		}
		if err := p.row(row); err != nil {
			return rows, err
		}
		// A reader at the other end of a pipe is shown the first rows at once.
		if rows++; rows&(rows-1) == 0 {
			if err := out.Flush(); err != nil {
				return rows, err
			}
		}
	}
	if err := p.end(); err != nil {
		return rows, err
	}
	return rows, out.Flush()
}

// A printer writes rows in one format. The first error of the bufio.Writer below it stays there and comes back
// from every later write, so that only the last write of a row is looked at.
type printer interface {
	row(values []kv.Value) error
	end() error
}

// newPrinter writes the head of a format.
func newPrinter(out *bufio.Writer, r *query.Result, f Format, on *Screen) (printer, error) {
	switch f {
	case FormatTable:
		switch {
		case r.Sections != nil:
			return &sectionPrinter{out: out, sections: r.Sections, title: EscapeControls,
				table: func(columns []query.ColumnInfo) printer { return &tablePrinter{out: out, columns: columns, screen: on} }}, nil
		case r.Bare:
			return &barePrinter{out}, nil
		case r.Record:
			return &recordPrinter{columns: r.Columns(), into: &tablePrinter{out: out, columns: recordColumns, screen: on, headless: true}}, nil
		}
		return &tablePrinter{out: out, columns: r.Columns(), screen: on}, nil
	case FormatMarkdown:
		switch {
		case r.Sections != nil:
			return &sectionPrinter{out: out, sections: r.Sections, title: func(title string) string { return "**" + escapeMarkdown(title) + "**" },
				table: func(columns []query.ColumnInfo) printer { return newMarkdownPrinter(out, columns) }}, nil
		case r.Record:
			return &recordPrinter{columns: r.Columns(), into: newMarkdownPrinter(out, recordColumns)}, nil
		}
		return newMarkdownPrinter(out, r.Columns()), nil
	case FormatCSV, FormatTSV:
		p := &csvPrinter{out: csv.NewWriter(out), columns: r.Columns()}
		if f == FormatTSV {
			p.out.Comma = '\t'
		}
		names := make([]string, len(p.columns))
		for i, c := range p.columns {
			names[i] = c.Name
		}
		return p, p.out.Write(names)
	case FormatJSON, FormatJSONL:
		array := f == FormatJSON && !r.Record
		return &jsonPrinter{out: out, columns: r.Columns(), sections: r.Sections, lists: r.Lists, array: array}, nil
	default:
		return nil, fmt.Errorf("unknown format %s", f)
	}
}

// A sectionPrinter prints sections, those that have something for reading, in place of the rows.
type sectionPrinter struct {
	out      io.Writer
	sections []query.Section
	title    func(string) string
	table    func([]query.ColumnInfo) printer
}

func (p *sectionPrinter) row([]kv.Value) error { return nil }

func (p *sectionPrinter) end() error {
	between := ""
	for _, s := range p.sections {
		if s.Reading != nil {
			s = *s.Reading
		}
		if len(s.Rows) == 0 {
			continue
		}
		fmt.Fprintf(p.out, "%s%s\n\n", between, p.title(s.Title))
		between = "\n"
		var to printer
		if s.Record {
			to = &recordPrinter{columns: s.Columns, into: p.table(recordColumns)}
		} else {
			to = p.table(s.Columns)
		}
		for _, values := range s.Rows {
			if err := to.row(values); err != nil {
				return err
			}
		}
		if err := to.end(); err != nil {
			return err
		}
	}
	return nil
}

var recordColumns = []query.ColumnInfo{{Name: "property"}, {Name: "value"}}

// A recordPrinter turns a row into one line a property.
type recordPrinter struct {
	columns []query.ColumnInfo
	into    printer
}

func (p *recordPrinter) row(values []kv.Value) error {
	for i, v := range values {
		if err := p.into.row([]kv.Value{kv.ValueOf(p.columns[i].Name), v}); err != nil {
			return err
		}
	}
	return nil
}

func (p *recordPrinter) end() error { return p.into.end() }

type barePrinter struct{ out io.Writer }

func (p *barePrinter) row(values []kv.Value) error {
	for _, v := range values {
		if _, err := fmt.Fprintln(p.out, v.String()); err != nil {
			return err
		}
	}
	return nil
}

func (p *barePrinter) end() error { return nil }

// A csvPrinter writes csv, and tsv with the same quotes.
type csvPrinter struct {
	out     *csv.Writer
	columns []query.ColumnInfo
}

func (p *csvPrinter) row(values []kv.Value) error {
	fields := make([]string, len(values))
	for i, v := range values {
		fields[i] = query.Exact(v, p.columns[i].Kind)
	}
	err := p.out.Write(fields)
	p.out.Flush()
	return cmp.Or(err, p.out.Error())
}

func (p *csvPrinter) end() error {
	p.out.Flush()
	return p.out.Error()
}

// A jsonPrinter writes objects with their keys in the order of the columns, or one object with a list for each section
// and the properties of the sections that are records.
// What JSON has no number for, NaN and the infinities, is null.
type jsonPrinter struct {
	out      *bufio.Writer
	columns  []query.ColumnInfo
	sections []query.Section
	lists    map[string][]string
	array    bool
	rows     int
}

func (p *jsonPrinter) row(values []kv.Value) error {
	if p.sections != nil {
		return nil
	}
	if p.array {
		p.out.WriteString([]string{"[\n", ",\n"}[min(p.rows, 1)])
	}
	p.rows++
	err := p.object(p.columns, values)
	if !p.array {
		err = p.out.WriteByte('\n')
	}
	return err
}

// object writes a row.
func (p *jsonPrinter) object(columns []query.ColumnInfo, values []kv.Value) error {
	p.out.WriteByte('{')
	if err := p.members(columns, values); err != nil {
		return err
	}
	return p.out.WriteByte('}')
}

// members writes a row without the braces around it.
func (p *jsonPrinter) members(columns []query.ColumnInfo, values []kv.Value) error {
	for i, v := range values {
		if i > 0 {
			p.out.WriteByte(',')
		}
		if err := p.string(columns[i].Name); err != nil {
			return err
		}
		p.out.WriteByte(':')
		var err error
		if list, ok := p.lists[columns[i].Name]; ok {
			err = p.list(list)
		} else {
			err = p.value(v, columns[i].Kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *jsonPrinter) list(texts []string) error {
	p.out.WriteByte('[')
	for i, s := range texts {
		if i > 0 {
			p.out.WriteByte(',')
		}
		if err := p.string(s); err != nil {
			return err
		}
	}
	return p.out.WriteByte(']')
}

func (p *jsonPrinter) value(v kv.Value, kind kv.Kind) error {
	switch v.Kind() {
	case kv.KindString:
		return p.string(v.Str())
	case kv.KindFloat:
		if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			v = kv.Value{}
		}
	}
	text := "null"
	if !v.IsNull() {
		text = query.Exact(v, kind)
	}
	_, err := p.out.WriteString(text)
	return err
}

func (p *jsonPrinter) string(s string) error {
	var quoted strings.Builder
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		return err
	}
	_, err := p.out.WriteString(strings.TrimSuffix(quoted.String(), "\n"))
	return err
}

func (p *jsonPrinter) end() error {
	text := ""
	switch {
	case p.sections != nil:
		for i, s := range p.sections {
			p.out.WriteByte("{,"[min(i, 1)])
			if err := p.section(s); err != nil {
				return err
			}
		}
		text = "}\n"
	case !p.array:
	case p.rows == 0:
		text = "[]\n"
	default:
		text = "\n]\n"
	}
	_, err := p.out.WriteString(text)
	return err
}

// section writes the rows of a section: a list under its key, or the properties of a record.
func (p *jsonPrinter) section(s query.Section) error {
	if s.Record {
		return p.members(s.Columns, s.Rows[0])
	}
	fmt.Fprintf(p.out, "%q:[", s.Key)
	for i, row := range s.Rows {
		if i > 0 {
			p.out.WriteByte(',')
		}
		if err := p.object(s.Columns, row); err != nil {
			return err
		}
	}
	return p.out.WriteByte(']')
}
