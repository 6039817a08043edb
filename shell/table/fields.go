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
			if end := closingQuote(line, 0); end > 0 && (end == len(line) || line[end] == '\t' || line[end] == ' ') {
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
			return recordError(c.file.path, c.line, "got %q after a closing quote, want the end of the field%s",
				record[end:end+1], backslashRemark) // the record ends in this line
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

// quotesAreText reports whether a field with something behind its closing quote, or without one in its line, has its
// quotes as a part of its text. Between tabs it has, as many tables of titles are written without quotes of their own.
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
