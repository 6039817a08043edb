package table

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// chunkBytes is how much text is cut off a file at once: small enough for a cache of the processor, large enough that
// cutting costs nothing beside parsing.
const chunkBytes = 256 << 10

const byteOrderMark = "\xef\xbb\xbf"

// A textFile cuts separated text into chunks of whole records.
type textFile struct {
	*file
	in io.Reader // from after the byte order mark

	rest  []byte // read, but after the last chunk
	lines int64  // before rest
	err   error  // that comes after rest; io.EOF at the end of the file
}

// ofLines says whether a record is a line: no line ends within quotes. Between tabs, where titles often have a quote
// each, nothing would tell rows with such quotes from a text with ends of lines in it. Between blanks a quote is a
// character like any other.
func (l layout) ofLines() bool { return l.separator == blanks || l.quotesAreText() }

// A textChunk is a run of whole records of a textFile.
type textChunk struct {
	file   *textFile
	data   []byte
	at     int   // of data, the next record
	line   int64 // lines of the file before it
	quotes bool  // some record may have quotes, which take more than cutting at separators
	valid  bool  // all of data is text
	fields [][]byte
}

// fill cuts the next records off the file.
func (c *textChunk) fill() (err error) {
	f := c.file
	c.at, c.line = 0, f.lines
	c.data, err = f.cut(append(c.data[:0], f.rest...))
	if err != nil {
		c.data = c.data[:0]
		return err
	}
	f.lines += int64(bytes.Count(c.data, []byte{'\n'}))
	c.quotes = f.layout.separator != blanks && bytes.IndexByte(c.data, '"') >= 0
	c.valid = checkText(c.data) == nil
	return nil
}

// cut appends to data, which begins with a record, what the file holds on, and returns its whole records, at least one.
// A quoted field that the file, or MaxRecord, ends before is an error. What is after them it keeps as rest.
func (f *textFile) cut(data []byte) ([]byte, error) {
	for size := cmp.Or(f.opt.chunk, chunkBytes); ; size *= 2 {
		size = min(size, MaxRecord+1)
		for len(data) < size && f.err == nil {
			if cap(data) < size {
				data = append(make([]byte, 0, size), data...)
			}
			var n int
			n, f.err = f.in.Read(data[len(data):size])
			data = data[:len(data)+n]
		}
		if whole := f.wholeRecords(data, errors.Is(f.err, io.EOF)); whole > 0 {
			f.rest = append(f.rest[:0], data[whole:]...)
			return data[:whole], nil
		}
		line := f.lines + 1
		switch {
		case errors.Is(f.err, io.EOF) && len(data) == 0:
			return nil, io.EOF
		case errors.Is(f.err, io.EOF):
			return nil, recordError(f.path, line, "a quoted field is still open at the end of the file, want a closing quote")
		case f.err != nil:
			return nil, &Error{Path: f.path, Line: line, Msg: "the file cannot be read on: " + sourceError(f.err), Err: f.err}
		case size > MaxRecord:
			return nil, recordError(f.path, line,
				"got a record of more than %d MiB, want shorter ones (is a quote left open?)", MaxRecord>>20)
		}
	}
}

// lineEnd is where the line that data begins with ends.
func lineEnd(data []byte) int {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1
	}
	return len(data)
}

// withoutEnd drops an end of line.
func withoutEnd(line []byte) []byte { return withoutReturn(bytes.TrimSuffix(line, []byte{'\n'})) }

// wholeRecords returns how many bytes at the beginning of data, which begins with a record, are whole records. The last
// record of a file is whole without an end of line.
func (f *textFile) wholeRecords(data []byte, last bool) int {
	at := 0
	for !f.layout.ofLines() {
		quote := bytes.IndexByte(data[at:], '"')
		if quote < 0 {
			break
		}
		at += bytes.LastIndexByte(data[at:at+quote], '\n') + 1
		var length int
		var ok bool
		if data[at] == f.layout.comment {
			length = lineEnd(data[at:])
			ok = last || data[at+length-1] == '\n'
		} else {
			length, ok = f.quotedRecord(data[at:], last)
		}
		if !ok {
			return at
		}
		at += length
	}
	if last {
		return len(data)
	}
	return at + bytes.LastIndexByte(data[at:], '\n') + 1
}

// quotedRecord returns the length of the record that data begins with, its end of line included; false if data ends
// before it does. A quote that does not begin its field stands for itself. A closing quote that something follows is
// an error of the record, which then ends where its line does.
func (f *textFile) quotedRecord(data []byte, last bool) (length int, ok bool) {
	for i := 0; i < len(data); i++ { // i is where a field begins
		if data[i] == '"' {
			end := closingQuote(data, i)
			if end < 0 {
				return 0, false
			}
			if end == len(data) || data[end] != f.layout.separator {
				length = end + lineEnd(data[end:])
				return length, last || data[length-1] == '\n'
			}
			i = end
		}
		for ; i < len(data) && data[i] != f.layout.separator; i++ {
			if data[i] == '\n' {
				return i + 1, true
			}
		}
	}
	return len(data), last
}

// checkText refuses a file that is no text.
func checkText(text []byte) error {
	if bytes.IndexByte(text, 0) >= 0 {
		return errors.New("got a NUL byte, want text")
	}
	if !utf8.Valid(text) {
		return errors.New("got bytes that are not UTF-8, want UTF-8 text (iconv -f WINDOWS-1252 -t UTF-8 converts Latin-1)")
	}
	return nil
}

// checkText is checkText of a line.
func (c *textChunk) checkText(line int64, text []byte) error {
	if err := checkText(text); err != nil {
		return recordError(c.file.path, line, "%v", err)
	}
	return nil
}

// next returns the next record. It skips blank lines and comments.
func (c *textChunk) next() (Row, error) {
	for c.at < len(c.data) {
		record := c.data[c.at:]
		end := bytes.IndexByte(record, '\n')
		if end >= 0 {
			record = record[:end]
		}
		isComment := len(record) > 0 && record[0] == c.file.layout.comment
		if c.quotes && !isComment && bytes.IndexByte(record, '"') >= 0 {
			return c.quotedRecord()
		}
		c.at += len(record) + 1
		c.line++
		record = withoutReturn(record)
		if len(record) == 0 || isComment {
			continue
		}
		if !c.valid {
			if err := c.checkText(c.line, record); err != nil {
				return Row{}, err
			}
		}
		c.fields = c.fields[:0]
		if separator := c.file.layout.separator; separator != blanks {
			for i := bytes.IndexByte(record, separator); i >= 0; i = bytes.IndexByte(record, separator) {
				c.fields = append(c.fields, record[:i])
				record = record[i+1:]
			}
			c.fields = append(c.fields, record)
		} else if c.splitBlanks(record); len(c.fields) == 0 {
			continue // blanks alone
		}
		return c.row(c.line)
	}
	return Row{}, io.EOF
}

// withoutReturn drops the CR of an end of line CRLF.
func withoutReturn(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

// row is the row of fields; the first, which is the header, has any number of them.
func (c *textChunk) row(line int64) (Row, error) {
	header := c.file.header
	if len(c.fields) != len(header) && header != nil {
		return Row{}, recordError(c.file.path, line, "got %d fields, want %d (%s)",
			len(c.fields), len(header), brief(strings.Join(header, ",")))
	}
	repeats := func(field []byte, name string) bool { return string(field) == name }
	if !c.file.layout.numbered && slices.EqualFunc(c.fields, header, repeats) {
		return Row{}, recordError(c.file.path, line,
			"the header comes again, want it once: several files are read one after another from a directory")
	}
	return Row{Line: line, Fields: c.fields}, nil
}

// quotedRecord is next for a record with quotes.
func (c *textChunk) quotedRecord() (Row, error) {
	record := c.data[c.at:]
	if !c.file.layout.ofLines() {
		length, _ := c.file.quotedRecord(record, true)
		record = record[:length]
	} else if end := bytes.IndexByte(record, '\n'); end >= 0 {
		record = record[:end+1]
	}
	first := c.line + 1
	c.at += len(record)
	record = withoutEnd(record)
	c.line += int64(bytes.Count(record, []byte{'\n'})) + 1
	if !c.valid {
		line := first
		for part := range bytes.Lines(record) {
			if err := c.checkText(line, part); err != nil {
				return Row{}, err
			}
			line++
		}
	}
	if err := c.splitQuoted(record); err != nil {
		return Row{}, err
	}
	return c.row(first)
}

// recordError is an error of a record.
func recordError(path string, line int64, format string, args ...any) error {
	return &Error{Path: path, Line: line, Msg: fmt.Sprintf(format, args...)}
}
