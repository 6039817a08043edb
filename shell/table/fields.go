package table

import "bytes"

// splitBlanks cuts a line at runs of blanks, after the fields that are there.
func (c *textChunk) splitBlanks(line []byte) {
	for line = bytes.TrimLeft(line, " \t"); len(line) > 0; line = bytes.TrimLeft(line, " \t") {
		end := bytes.IndexAny(line, " \t")
		if end < 0 {
			end = len(line)
		}
		c.fields = append(c.fields, line[:end])
		line = line[end:]
	}
}

// closingQuote returns where quoted text ends whose opening quote is at a place of data, after its closing quote;
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
		begin, end := length, -1
		if read < len(record) && record[read] == '"' {
			end = closingQuote(record, read)
		}
		switch {
		case end >= 0 && (end == len(record) || record[end] == c.file.layout.separator):
			length += unquote(record[length:], record[read+1:end-1])
			read = end
		case end >= 0 && !c.file.layout.quotesAreText():
			return recordError(c.file.path, c.line, "got %q after a closing quote, want the end of the field",
				record[end:end+1]) // the record ends in this line
		default:
			end := bytes.IndexByte(record[read:], c.file.layout.separator)
			if end < 0 {
				end = len(record) - read
			}
			length += copy(record[length:], record[read:read+end])
			read += end
		}
		c.fields = append(c.fields, record[begin:length])
		if read == len(record) {
			return nil
		}
	}
}

// quotesAreText reports whether a field with something after its closing quote, or without one in its line, has its
// quotes as a part of its text. Between tabs it has, as many tables of titles are written without quotes of their own.
func (l layout) quotesAreText() bool { return l.separator == '\t' }
