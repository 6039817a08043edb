package table

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// A Form says how text tables are written. The zero Form leaves it to their content.
type Form struct {
	// Delimiter separates the columns of the tables whose first line has it; ' ' is runs of blanks. 0: the first line
	// shows it.
	Delimiter byte

	// NoHeader says that the first line is a row. Columns then have their numbers, from 1, as names.
	NoHeader bool
}

// blanks, as a separator, is a run of spaces and tabs.
const blanks = ' '

// noComment begins no line that has anything in it.
const noComment = '\n'

// A layout is how one text is written.
type layout struct {
	separator byte
	comment   byte // what all lines begin with that are no rows, or noComment
	numbered  bool // there is no header

	// comments is how many comments stand before the first record. It is -1 if the beginning of the file has comments
	// alone.
	comments int

	// caption is a header in the last comment before the rows, and captionLine its line. The caption may be a comment
	// like any other.
	caption     []string
	captionLine int64
	captioned   bool // the caption is the header

	trim   bool       // blanks around values that are not quoted are none of theirs: the first line has some beside all that separates columns
	tabs   int        // of a line that is a row
	packed bool       // by gzip
	short  bool       // the header lacks a name for the first column, as R writes it
	sample [][]string // the first records, and perhaps the header
}

// sniffBytes is how much of a text is looked at for its layout, and sniffRows how many records of that; evenRows are
// those that must have as many fields each.
const (
	sniffBytes = 64 << 10
	sniffRows  = 256
	evenRows   = 16
)

// peek returns the beginning of a text, which is not consumed: a few records, or all that there is.
func peek(in *bufio.Reader) []byte {
	const few = 3
	for n := 1; ; n = in.Buffered() + 1 {
		begin, err := in.Peek(n)
		if err != nil {
			return begin // reading on gives the error
		}
		if begin, err = in.Peek(in.Buffered()); err != nil {
			return begin
		}
		records, comment := 0, commentOf(begin)
		for line := range bytes.Lines(begin) {
			if line[0] != comment && line[len(line)-1] == '\n' && len(bytes.TrimSpace(line)) > 0 {
				records++
			}
		}
		if records >= few {
			return begin
		}
	}
}

// commentOf is what comments of a text begin with: # or %, if the text begins with it.
func commentOf(begin []byte) byte {
	if text := bytes.TrimLeft(begin, "\r\n"); len(text) > 0 && (text[0] == '#' || text[0] == '%') {
		return text[0]
	}
	return noComment
}

// layoutOf finds the layout of a text by its beginning, which has no byte order mark. The ending of the name decides
// where several fit. isHeader recognizes a header; it may be nil.
func layoutOf(begin []byte, form Form, ending string, isHeader func([]string) bool) layout {
	l := layout{comment: commentOf(begin)}
	var first, block []byte // block is the last comment before the first line that is none
	var model []byte        // of a row
	rest, number := begin, int64(0)
	for len(rest) > 0 {
		line := withoutEnd(rest[:lineEnd(rest)])
		if len(line) > 0 && line[0] != l.comment {
			first, model = line, line
			break
		}
		number++
		rest = rest[lineEnd(rest):]
		if len(line) > 0 {
			block, l.captionLine = line, number
			l.comments++
		}
	}
	if first == nil {
		model = begin[len(begin)-len(bytes.TrimLeft(begin, "\r\n")):]
		model, l.comments = withoutEnd(model[:lineEnd(model)]), -1
	}
	l.tabs = len(layout{separator: '\t'}.cut(model)) - 1
	plain := unquoted(model)
	if edge, _, ok := bytes.Cut(plain, []byte{'{'}); ok && bytes.HasSuffix(plain, []byte{'}'}) {
		plain = edge // NetworkX writes the attributes behind it
	}
	l.separator = l.separatorOf(begin, plain, form, ending, isHeader)
	if n := bytes.Count(plain, []byte{l.separator}); l.separator != blanks && n > 0 { // one blank may belong to a name
		l.trim = bytes.Count(plain, []byte{l.separator, ' '}) == n || bytes.Count(plain, []byte{' ', l.separator}) == n
	}
	if l.comment != noComment && l.hasTags(begin, rest) {
		l.comment, l.comments, block = noComment, 0, nil
	}
	l.sample = l.records(begin, sniffRows)
	if block != nil && len(l.sample) > 0 {
		l.caption = l.captionOf(block, len(l.sample[0]))
	}
	if bytes.HasPrefix(first, []byte{'"'}) && bytes.Contains(begin, []byte("\n\"")) { // as R writes names of rows
		short := l
		short.tabs++
		if short.sample = short.records(begin, sniffRows); isShort(short.sample) {
			short.short = true
			return short
		}
	}
	return l
}

// hasTags reports whether lines that begin as comments are rows, such as those of hashtags. They are so if most records
// in rest, which begins behind the comments at the beginning, begin so, or if another column there names the first
// field of the text. If there is nothing else, they are so if they look like rows: no space follows, and all have as
// many fields.
func (l layout) hasTags(begin, rest []byte) bool {
	comment := l.comment
	l.comment = noComment
	all, records := l.records(begin, sniffRows), l.records(rest, sniffRows)
	if len(all) == 0 {
		return false
	}
	tag, tags := all[0][0], 0
	for _, record := range records {
		if strings.HasPrefix(record[0], string(comment)) {
			tags++
		}
		if slices.Contains(record[1:], tag) {
			return true
		}
	}
	if len(records) > 0 {
		return 2*tags > len(records)
	}
	for _, record := range all {
		if id := record[0]; len(id) < 2 || id[1] == ' ' || id[1] == comment || len(record) != len(all[0]) {
			return false
		}
	}
	return len(all) > 1 && len(all[0]) > 1
}

// cut returns the fields of a line; none of a blank one.
func (l layout) cut(line []byte) []string {
	if records := (layout{separator: l.separator, comment: noComment, trim: l.trim}).records(line, 1); len(records) > 0 {
		return records[0]
	}
	return nil
}

// records are the first records of a text, at most so many. One that is wrong ends them.
func (l layout) records(begin []byte, most int) (records [][]string) {
	f := newTextFile("", nil, l, 0)
	c := &textChunk{file: f, data: bytes.Clone(begin), quotes: true, valid: true}
	whole := f.wholeRecords(c.data, len(begin) < sniffBytes)
	for c.data = c.data[:whole]; len(records) < most; {
		row, err := c.next()
		if err != nil {
			break
		}
		records = append(records, texts(row.Fields))
	}
	return records
}

func texts(fields [][]byte) []string {
	texts := make([]string, len(fields))
	for i, field := range fields {
		texts[i] = string(field)
	}
	return texts
}

// counted is a word of a comment that counts something, such as Nodes:3.
var counted = regexp.MustCompile(`[:=]\s*\d`)

// captionOf is the header that a comment with # is: it has a word for each field of a record. It is nil otherwise.
func (l layout) captionOf(comment []byte, fields int) []string {
	names := l.cut(bytes.TrimSpace(bytes.TrimLeft(comment, "#")))
	if l.comment != '#' || len(names) == 0 || len(names) != fields {
		return nil
	}
	for i, name := range names {
		if names[i] = strings.TrimSpace(name); name == "" || isNumber(name) || counted.MatchString(name) {
			return nil
		}
	}
	return names
}

// setHeader takes the header from the first record, or finds that it is a row.
func (r *Reader) setHeader() error {
	r.chunk = r.chunks()
	chunk, _ := r.chunk.(*textChunk)
	var records []byte
	var first Row
	var line int64
	for err := io.EOF; errors.Is(err, io.EOF); { // of a chunk that has comments alone
		if err := chunk.fill(); errors.Is(err, io.EOF) {
			msg := "the file is empty, want a header line that names the columns"
			if c := r.layout.comment; c != noComment {
				msg = fmt.Sprintf("all lines begin with %c, as comments do, want rows that do not, behind a header "+
					"line that names the columns", c)
			}
			return &Error{Path: r.path, Msg: msg}
		} else if err != nil {
			return err
		}
		records, line = bytes.Clone(chunk.data), chunk.line // reading a record with quotes changes it
		if first, err = chunk.next(); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	l := &r.layout
	isHeader := func(fields []string) bool {
		return r.parts.isHeader != nil && fields != nil && r.parts.isHeader(fields)
	}
	fields := texts(first.Fields)
	isRow := true
	switch {
	case isHeader(fields) && (!r.parts.form.NoHeader || looksOf(l.sample) >= 0):
		isRow = false
	case isHeader(l.caption), l.caption != nil && !r.parts.form.NoHeader && slices.ContainsFunc(fields, isNumber):
		l.captioned = true
	case r.parts.form.NoHeader:
		l.numbered = true
	default:
		isRow = false
	}
	switch {
	case l.captioned:
		r.header, r.line = l.caption, l.captionLine
	case l.numbered:
		for i := range fields {
			r.header = append(r.header, strconv.Itoa(i+1))
		}
	default:
		r.header, r.line = fields, first.Line
		// Numbers would say that the header is missing, and the name of the only column may be one of the words in it.
		if len(fields) > 1 && !areNumbers([][]string{fields}) {
			chunk.file.names, chunk.file.recognized = slices.Clone(fields), isHeader(fields)
		}
		if l.short {
			r.header = append([]string{""}, fields...)
		}
	}
	if isRow {
		l.short = false
		chunk.at, chunk.line, chunk.data = 0, line, records
	}
	chunk.file.header = r.header
	return nil
}

// looksOf compares the first of some records with the others: it is below 0 if the first looks like another row, above
// 0 if it looks like a header, and 0 if nothing speaks for either.
func looksOf(records [][]string) (looks int) {
	if len(records) == 0 {
		return 0
	}
	first := records[0]
	isFirst := func(record []string) bool { return slices.Equal(record, first) } // the header again, of files put together
	rest := slices.DeleteFunc(slices.Clone(records[1:]), isFirst)
	if !slices.ContainsFunc(first, func(field string) bool { return !isNumber(field) }) {
		looks = -1
	}
	seen := map[string]bool{}
	for _, record := range rest {
		for _, field := range record {
			seen[field] = true
		}
	}
	for column, name := range first {
		numbers, others := 0, 0
		for _, record := range rest {
			switch {
			case column >= len(record) || record[column] == "":
			case isNumber(record[column]):
				numbers++
			default:
				others++
			}
		}
		switch {
		case name == "":
		case numbers > 0 && others == 0 && !isNumber(name) && unicode.IsLetter([]rune(name)[0]):
			return 1
		case numbers > 0 && others == 0 && isNumber(name), others > 0 && seen[name]:
			looks = -1
		}
	}
	return looks
}

// IsText says whether the table is text.
func (r *Reader) IsText() bool { return r.layout.separator != 0 }

// Numbered says whether a text has no header, so that its columns have numbers.
func (r *Reader) Numbered() bool { return r.layout.numbered }

// HeaderLooksLike says what the header of a text looks like beside the rows: below 0 a row, above 0 a header, 0 either.
func (r *Reader) HeaderLooksLike() int {
	if r.layout.separator == 0 || r.layout.captioned || r.layout.short {
		return 1
	}
	return looksOf(r.layout.sample)
}

// separators are the words for what separates columns.
var separators = map[byte]string{'\x01': "the character 1, as Hive's", ',': "commas", '\t': "tabs", ';': "semicolons",
	'|': "bars", blanks: "blanks"}

// Form says how the file was read, such as "blanks, no header, comments # (2 lines)". It is empty for what the name of
// the file says.
func (r *Reader) Form() string {
	l := r.layout
	switch {
	case l.separator == 0 && endingOf(r.parts.paths[0]) != ".parquet":
		return "parquet"
	case l.separator == 0:
		return ""
	}
	word := separators[l.separator]
	if word == "" {
		word = strconv.Quote(string(l.separator))
	}
	words := []string{word}
	if l.trim {
		words = append(words, "blanks around values")
	}
	if l.numbered {
		words = append(words, "no header")
	}
	if l.captioned {
		words = append(words, "header in a comment")
	}
	comments := l.comments
	if l.captioned {
		comments--
	}
	switch {
	case l.comment == noComment:
	case l.comments < 0:
		words = append(words, "comments "+string(l.comment))
	case comments > 0:
		words = append(words, fmt.Sprintf("comments %c (%s)", l.comment, wording.Count(comments, "line", "lines")))
	}
	isUsual := l.separator == ',' && endingOf(r.parts.paths[0]) != ".parquet" ||
		l.separator == '\t' && endingOf(r.parts.paths[0]) == ".tsv"
	if isUsual && len(words) == 1 {
		return ""
	}
	return strings.Join(words, ", ")
}
