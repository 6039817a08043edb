package table

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A textReader splits separated text into records.
type textReader struct {
	path      string
	in        *bufio.Reader
	separator byte
	line      int64  // lines read so far
	long      []byte // the line being read, where it is longer than the buffer of in
	plain     []byte // the fields of a record with quotes or escapes, without them
	ends      []int  // where each of them ends in plain
	fields    [][]byte
}

func newTextReader(path string, in io.Reader, separator byte) *textReader {
	return &textReader{path: path, in: bufio.NewReaderSize(in, 256<<10), separator: separator}
}

// record returns the next record, blank lines skipped, or io.EOF. Its fields are borrowed until the next call.
func (t *textReader) record() (Row, error) {
	for {
		line, err := t.readLine(MaxRecord)
		if err != nil {
			return Row{}, err
		}
		if len(line) == 0 {
			continue
		}
		first := t.line
		t.fields = t.fields[:0]
		switch {
		case t.separator == '\t' && bytes.IndexByte(line, '\\') >= 0:
			err = t.splitEscaped(line)
		case t.separator != '\t' && bytes.IndexByte(line, '"') >= 0:
			err = t.splitQuoted(line)
		default:
			t.split(line)
		}
		return Row{Line: first, Fields: t.fields}, err
	}
}

// readLine returns the next line without its end; limit bounds its length.
func (t *textReader) readLine(limit int) ([]byte, error) {
	t.long = t.long[:0]
	line, err := t.in.ReadSlice('\n')
	for errors.Is(err, bufio.ErrBufferFull) && len(t.long)+len(line) <= limit {
		t.long = append(t.long, line...)
		line, err = t.in.ReadSlice('\n')
	}
	if len(t.long) > 0 {
		t.long = append(t.long, line...)
		line = t.long
	}
	if len(line) > 0 {
		t.line++
	}
	if errors.Is(err, bufio.ErrBufferFull) || len(line) > limit+1 {
		return nil, t.errorf(t.line, "got a record of more than %d MiB, want shorter ones (is a quote left open?)", MaxRecord>>20)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, t.errorf(t.line+1, "the file cannot be read on: %s", sourceError(err))
	}
	if len(line) == 0 {
		return nil, io.EOF
	}
	if t.line == 1 {
		if line, err = t.start(line); err != nil {
			return nil, err
		}
	}
	line = bytes.TrimSuffix(line, []byte{'\n'})
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if err := checkText(line); err != nil {
		return nil, t.errorf(t.line, "%v", err)
	}
	return line, nil
}

// checkText refuses what is no text.
func checkText(text []byte) error {
	if bytes.IndexByte(text, 0) >= 0 {
		return errors.New("got a NUL byte, want text")
	}
	if !utf8.Valid(text) {
		return errors.New("got bytes that are not UTF-8, want UTF-8 text")
	}
	return nil
}

// start drops a byte order mark from the first line.
func (t *textReader) start(line []byte) ([]byte, error) {
	if bytes.HasPrefix(line, []byte("\xff\xfe")) || bytes.HasPrefix(line, []byte("\xfe\xff")) {
		return nil, t.errorf(1, "got UTF-16 text, want UTF-8")
	}
	if bytes.HasPrefix(line, []byte("\x1f\x8b")) {
		return nil, t.errorf(1, "got gzip data, want text (a compressed file's name ends in .gz)")
	}
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), nil
}

// split cuts a line without quotes or escapes.
func (t *textReader) split(line []byte) {
	for {
		i := bytes.IndexByte(line, t.separator)
		if i < 0 {
			t.fields = append(t.fields, line)
			return
		}
		t.fields = append(t.fields, line[:i])
		line = line[i+1:]
	}
}

// splitQuoted cuts a record that has quotes, reading on while a quoted field spans lines. A quote that does not begin
// its field stands for itself.
func (t *textReader) splitQuoted(line []byte) error {
	first := t.line
	t.plain, t.ends = t.plain[:0], t.ends[:0]
	for {
		rest, err := t.field(line, first)
		if err != nil {
			return err
		}
		t.ends = append(t.ends, len(t.plain))
		if len(rest) == 0 {
			break
		}
		line = rest[1:]
	}
	t.cutPlain()
	return nil
}

// cutPlain makes the fields of plain, once it is complete: growing moves it.
func (t *textReader) cutPlain() {
	begin := 0
	for _, end := range t.ends {
		t.fields = append(t.fields, t.plain[begin:end])
		begin = end
	}
}

// splitEscaped cuts a line of a tsv file that has escapes: \t, \n, \r and \\ stand for a tab, the ends of lines and a
// backslash.
func (t *textReader) splitEscaped(line []byte) error {
	t.plain, t.ends = t.plain[:0], t.ends[:0]
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case t.separator:
			t.ends = append(t.ends, len(t.plain))
		case '\\':
			i++
			code := -1
			if i < len(line) {
				code = strings.IndexByte(`tnr\`, line[i])
			}
			if code < 0 {
				return t.errorf(t.line, `got a backslash before %q, want \t, \n, \r or \\`, brief(string(line[i:])))
			}
			t.plain = append(t.plain, "\t\n\r\\"[code])
		default:
			t.plain = append(t.plain, line[i])
		}
	}
	t.ends = append(t.ends, len(t.plain))
	t.cutPlain()
	return nil
}

// field appends one field to plain and returns what follows it: nothing, or a separator and the next field.
func (t *textReader) field(line []byte, first int64) ([]byte, error) {
	if len(line) == 0 || line[0] != '"' {
		i := bytes.IndexByte(line, t.separator)
		if i < 0 {
			i = len(line)
		}
		t.plain = append(t.plain, line[:i]...)
		return line[i:], nil
	}
	line = line[1:]
	for {
		i := bytes.IndexByte(line, '"')
		if i < 0 {
			t.plain = append(append(t.plain, line...), '\n')
			next, err := t.readLine(MaxRecord - min(len(t.plain), MaxRecord))
			if errors.Is(err, io.EOF) {
				return nil, t.errorf(first, "a quoted field is still open at the end of the file, want a closing quote")
			}
			if err != nil {
				return nil, err
			}
			line = next
			continue
		}
		t.plain = append(t.plain, line[:i]...)
		line = line[i+1:]
		switch {
		case len(line) == 0 || line[0] == t.separator:
			return line, nil
		case line[0] == '"':
			t.plain = append(t.plain, '"')
			line = line[1:]
		default:
			return nil, t.errorf(t.line, "got %q after a closing quote, want the end of the field", line[:1])
		}
	}
}

func (t *textReader) errorf(line int64, format string, args ...any) error {
	return &Error{Path: t.path, Line: line, Msg: fmt.Sprintf(format, args...)}
}
