package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

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

// A layout is how one text is written, as its first line shows.
type layout struct {
	separator byte // 0 of a file that is no text
	comment   byte // the mark of lines that are no rows, or noComment
	comments  int  // lines before the first record
	numbered  bool // there is no header
}

// sniffBytes is how much of a text is looked at for its layout, at most.
const sniffBytes = 64 << 10

// commentOf is the mark of comments in a text: # or %, if the text begins with it.
func commentOf(begin []byte) byte {
	if text := bytes.TrimLeft(begin, "\r\n"); len(text) > 0 && (text[0] == '#' || text[0] == '%') {
		return text[0]
	}
	return noComment
}

// firstLine is the first line of a text that is no comment, and how many comments come before it.
func firstLine(begin []byte) (comments int, line []byte) {
	comment := commentOf(begin)
	for line := range bytes.Lines(begin) {
		switch {
		case line[0] == comment:
			comments++
		case len(withoutEnd(line)) > 0:
			return comments, line
		}
	}
	return comments, nil
}

// layoutOf finds the layout of a text by its beginning, which has no byte order mark.
func layoutOf(begin []byte, form Form) layout {
	l := layout{comment: commentOf(begin)}
	var line []byte
	l.comments, line = firstLine(begin)
	l.separator = separatorOf(unquoted(withoutEnd(line)), form)
	return l
}

// separatorOf finds what separates the fields of a first line, which is plain without its quoted fields: a tab, which
// texts hardly have, or the first other one that is there.
func separatorOf(plain []byte, form Form) byte {
	hasBlanks := bytes.ContainsAny(bytes.TrimSpace(plain), " \t")
	if d := form.Delimiter; d == blanks && hasBlanks || d != 0 && d != blanks && bytes.IndexByte(plain, d) >= 0 {
		return d
	}
	for _, separator := range []byte("\t,;|") {
		if bytes.IndexByte(plain, separator) >= 0 {
			return separator
		}
	}
	if hasBlanks {
		return blanks
	}
	return ','
}

// unquoted is a line without its quoted text.
func unquoted(line []byte) []byte {
	var rest []byte
	for i, part := range bytes.Split(line, []byte{'"'}) {
		if i%2 == 1 {
			part = []byte{'"'}
		}
		rest = append(rest, part...)
	}
	return rest
}

func texts(fields [][]byte) []string {
	texts := make([]string, len(fields))
	for i, field := range fields {
		texts[i] = string(field)
	}
	return texts
}

// setHeader takes the header from the first record, or leaves that as a row.
func (r *file) setHeader() error {
	chunk, _ := r.chunks().(*textChunk)
	r.first = chunk
	for {
		if err := chunk.fill(); errors.Is(err, io.EOF) {
			msg := "the file is empty, want a header line that names the columns"
			if c := r.layout.comment; c != noComment {
				msg = fmt.Sprintf("all lines begin with %c, as comments do, want a header line that names the columns, and rows", c)
			}
			return &Error{Path: r.path, Msg: msg}
		} else if err != nil {
			return err
		}
		data, line := bytes.Clone(chunk.data), chunk.line // reading a record with quotes changes it
		first, err := chunk.next()
		if errors.Is(err, io.EOF) { // of a chunk that has comments alone
			continue
		} else if err != nil {
			return err
		}
		r.header, r.line = texts(first.Fields), first.Line
		if r.opt.NoHeader && (r.opt.IsHeader == nil || !r.opt.IsHeader(r.header)) {
			r.layout.numbered = true
			for i := range r.header {
				r.header[i] = strconv.Itoa(i + 1)
			}
			chunk.at, chunk.line, chunk.data = 0, line, data
		}
		return nil
	}
}

// Numbered says whether a text has no header, so that its columns have numbers.
func (r *Reader) Numbered() bool { return r.layout.numbered }

// separators are the names of the separators of columns.
var separators = map[byte]string{',': "commas", '\t': "tabs", ';': "semicolons", '|': "bars", blanks: "blanks"}

// Form says how the file was read, such as "blanks, no header, comments # (2 lines)". It is empty for what the name of
// the file says.
func (r *Reader) Form() string {
	l, ending := r.layout, endingOf(r.paths[0])
	switch {
	case l.separator == 0 && ending == ".parquet":
		return ""
	case l.separator == 0:
		return "parquet"
	}
	word := separators[l.separator]
	if word == "" {
		word = strconv.Quote(string(l.separator))
	}
	words := []string{word}
	if l.numbered {
		words = append(words, "no header")
	}
	if l.comments > 0 {
		words = append(words, fmt.Sprintf("comments %c (%s)", l.comment, wording.Count(l.comments, "line", "lines")))
	}
	isUsual := l.separator == ',' && ending != ".parquet" || l.separator == '\t' && ending == ".tsv"
	if isUsual && len(words) == 1 {
		return ""
	}
	return strings.Join(words, ", ")
}
