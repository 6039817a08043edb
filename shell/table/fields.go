package table

import "bytes"

// splitBlanks cuts a line at runs of blanks, behind the fields that are there. A field may be in quotes.
func (c *textChunk) splitBlanks(line []byte) {
	for {
		line = bytes.TrimLeft(line, " \t")
		if len(line) == 0 {
			return
		}
		if line[0] == '"' {
			if end := c.quotedField(line); end > 0 {
				c.fields = append(c.fields, line[1:1+unquote(line[1:], line[1:end-1])])
				line = line[end:]
				continue
			}
		}
		end := bytes.IndexAny(line, " \t")
		if end < 0 {
			end = len(line)
		}
		c.fields = append(c.fields, line[:end])
		line = line[end:]
	}
}

// quotedField returns where the quoted field ends that a line of a file of blanks begins with; -1 if it is none,
// because something follows its closing quote or the line has none.
func (c *textChunk) quotedField(line []byte) int {
	end := closingQuote(line, 0)
	if end < 0 || end < len(line) && line[end] != '\t' && line[end] != ' ' {
		return -1
	}
	return end
}

// closingQuote returns where quoted text ends whose opening quote is at a place of data, behind its closing quote;
// -1 if it has none.
func closingQuote(data []byte, at int) int {
	for at++; ; at += 2 {
		quote := bytes.IndexByte(data[at:], '"')
		if quote < 0 {
			return -1
		}
		if at += quote; at+1 >= len(data) || data[at+1] != '"' {
			return at + 1
		}
	}
}

// quoteEnd is closingQuote for the quote at a place of data that begins the given field, from 0, of the record that data
// begins with. It is -1 if the quote is text, and false if data ends before that is known. Between tabs, a quote is text
// if nothing closes it. A quote whose field would go on in the next line is text, too, if both lines look like rows: the
// record has all tabs of a row by the end of its line, and so has the next line. Titles may begin with a lone quote, and
// others end with the mark of inches.
func (f *textFile) quoteEnd(data []byte, at, field int, last bool) (end int, ok bool) {
	if length := bytes.IndexByte(data[at:], '\n'); length >= 0 && quotesAreText(f.separator) {
		line, next := data[:at+length], data[at+length+1:]
		if end := closingQuote(line, at); end >= 0 {
			return end, true
		}
		if next = next[:lineEnd(next)]; !last && !bytes.HasSuffix(next, []byte{'\n'}) {
			return 0, false
		}
		tab := []byte{'\t'}
		if field+bytes.Count(line[at:], tab) == f.tabs && bytes.Count(next, tab) == f.tabs {
			return -1, true
		}
	}
	end = closingQuote(data, at)
	return end, end >= 0 || last && quotesAreText(f.separator)
}

// unquote copies what stands in quotes to dst, which may begin before it in the same memory, with "" as ", and
// returns its length.
func unquote(dst, text []byte) (length int) {
	for {
		quote := bytes.IndexByte(text, '"') // which another one follows
		if quote < 0 {
			return length + copy(dst[length:], text)
		}
		length += copy(dst[length:], text[:quote+1])
		text = text[quote+2:]
	}
}

// splitQuoted cuts a record that has quotes, in place: its fields take no more room without them.
func (c *textChunk) splitQuoted(record []byte) error {
	c.fields = c.fields[:0]
	for read, length := 0, 0; ; read++ { // read is where a field begins
		begin := length
		quote, end := beforeQuote(record, read), -1
		if quote >= 0 {
			end = closingQuote(record, quote)
		}
		switch {
		case end >= 0 && (end == len(record) || record[end] == c.file.separator):
			length += unquote(record[length:], record[quote+1:end-1])
			read = end
		case end >= 0 && !quotesAreText(c.file.separator):
			remark := ""
			if end > 1 && record[end-2] == '\\' {
				remark = backslashRemark
			}
			return recordError(c.file.path, c.line, "got %q after a closing quote, want the end of the field%s",
				record[end:end+1], remark) // the record ends in this line
		default:
			end := bytes.IndexByte(record[read:], c.file.separator)
			if end < 0 {
				end = len(record) - read
			}
			length += copy(record[length:], c.trimmed(record[read:read+end]))
			read += end
		}
		c.fields = append(c.fields, record[begin:length])
		if read == len(record) {
			return nil
		}
	}
}

// quotesAreText reports whether a field with something behind its closing quote has these quotes as a part of its
// text. Between tabs it has, as many tables of titles are written without quotes of their own.
func quotesAreText(separator byte) bool { return separator == '\t' }

// trimmed is a field that is not quoted, without blanks around it that are none of its own.
func (c *textChunk) trimmed(field []byte) []byte {
	if !c.file.trim {
		return field
	}
	return bytes.Trim(field, " \t")
}

// beforeQuote is where the quote is that a field begins with, spaces before it left out; -1 if the field is not quoted.
func beforeQuote(text []byte, at int) int {
	for at < len(text) && text[at] == ' ' {
		at++
	}
	if at < len(text) && text[at] == '"' {
		return at
	}
	return -1
}
