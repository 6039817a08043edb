package table

import (
	"bytes"
	"strings"
)

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

// quotedField returns where the quoted field ends that a line of a file without ends of lines in quotes begins with; -1 if it is none,
// because the next quote that is not doubled does not end it.
func (c *textChunk) quotedField(line []byte) int {
	for at := 1; ; at++ {
		quote := bytes.IndexByte(line[at:], '"')
		if quote < 0 {
			return -1
		}
		at += quote + 1
		if at == len(line) || line[at] == '\t' || line[at] == c.file.separator {
			return at
		}
		if line[at] != '"' {
			return -1
		}
	}
}

// unquote copies what stands in quotes to dst, which may begin before it in the same memory, with "" as ", and returns its length.
func unquote(dst, text []byte) (length int) {
	for {
		quote := bytes.Index(text, []byte(`""`))
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
		if quote := beforeQuote(record, read); quote >= 0 {
			for read = quote + 1; ; read++ {
				quote := read + bytes.IndexByte(record[read:], '"')
				length += copyLines(record[length:], record[read:quote])
				if read = quote + 1; read >= len(record) || record[read] != '"' {
					break
				}
				record[length] = '"'
				length++
			}
			if read < len(record) && record[read] != c.file.separator {
				// The record ends in this line.
				remark := ""
				if read > 1 && record[read-2] == '\\' {
					remark = backslashRemark
				}
				return recordError(c.file.path, c.line, record[read:], "got %q after a closing quote, want the end of the field%s",
					record[read:read+1], remark)
			}
		} else {
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

// copyLines copies text down, over itself, with ends of lines CRLF as LF, and returns the length of what is left.
func copyLines(dst, text []byte) int {
	n := 0
	for {
		end := bytes.Index(text, []byte("\r\n"))
		if end < 0 {
			return n + copy(dst[n:], text)
		}
		n += copy(dst[n:], text[:end])
		text = text[end+1:]
	}
}

// splitTabs cuts a line of a tsv file that has quotes or escapes, in place. A field that begins and ends with a quote is read as in a csv
// file. \t, \n, \r and \\ stand for a tab, the ends of lines and a backslash.
func (c *textChunk) splitTabs(line []byte) error {
	c.fields = c.fields[:0]
	for more := true; more; {
		var field []byte
		if end := c.quotedStart(line); end > 0 {
			field, line = line[1:end-1], line[end:]
			field = field[:unquote(field, field)]
			if more = len(line) > 0; more {
				line = line[1:]
			}
		} else {
			field, line, more = bytes.Cut(line, []byte{'\t'})
			field = c.trimmed(field)
		}
		length, err := c.unescape(field)
		if err != nil {
			return err
		}
		c.fields = append(c.fields, field[:length])
	}
	return nil
}

// quotedStart is quotedField of a line that may begin without a quote.
func (c *textChunk) quotedStart(line []byte) int {
	if len(line) == 0 || line[0] != '"' {
		return -1
	}
	return c.quotedField(line)
}

// unescape replaces the escapes of a field, in place, and returns the length of what is left.
func (c *textChunk) unescape(field []byte) (length int, err error) {
	for i := 0; i < len(field); i++ {
		b := field[i]
		if b == '\\' {
			i++
			code := -1
			if i < len(field) {
				code = strings.IndexByte(`tnr\`, field[i])
			}
			if code < 0 {
				return 0, recordError(c.file.path, c.line, field[i:], `got a backslash before %q, want \t, \n, \r or \\`, brief(string(field[i:])))
			}
			b = "\t\n\r\\"[code]
		}
		field[length] = b
		length++
	}
	return length, nil
}
