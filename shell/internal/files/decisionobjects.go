package files

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/stream"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// maxLine is the longest line of a .jsonl file, in bytes: more than the longest id, labels and reason take.
const maxLine = 1 << 20

// readLines reads decisions from a file with an object a line, or with an array of objects.
func (f *decisionsFile) readLines(ctx context.Context) (err error) {
	in, err := stream.Open(ctx, f.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	content, _, err := table.Unpack(f.path, bufio.NewReader(in))
	if err != nil {
		return err
	}
	records, objects := bufio.NewScanner(content), &objects{next: 1}
	records.Buffer(nil, maxLine)
	records.Split(objects.split)
	fields := map[string]string{}
	for count := int64(1); records.Scan(); count++ {
		if count%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		text := bytes.TrimSpace(records.Bytes())
		if len(text) > 0 && text[0] != '{' {
			return f.errorf(objects.line, "", "got %q, want %s", wording.Short(string(text)), objects.wanted())
		}
		clear(fields)
		err := f.readObject(text, fields)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the object has no end")
		}
		if err != nil {
			return f.errorf(objects.line, "", "%v, want %s", err, objects.wanted())
		}
		err = f.add(objects.line, func(name string) (string, bool) {
			value, ok := fields[name]
			return value, ok
		})
		if err != nil {
			return err
		}
	}
	switch {
	case errors.Is(records.Err(), bufio.ErrTooLong) && objects.isArray:
		return f.errorf(objects.next, "", "the object is longer than %d bytes", maxLine)
	case errors.Is(records.Err(), bufio.ErrTooLong):
		return f.errorf(objects.next, "", "the line is longer than %d bytes", maxLine)
	case records.Err() == nil && objects.isArray:
		return f.errorf(objects.next, "", "the array has no end, want ]: is this the whole file?")
	}
	return records.Err()
}

// objects cuts JSON into objects: one in each line, or those of an array, which may stand in any lines.
type objects struct {
	line, next int64 // in which the last object began, and where the text behind it does
	isArray    bool  // its beginning was there, and its end was not
	isBehind   bool  // an object of the array, so that a comma may follow
}

// wanted is what a message wants in the place of something else.
func (o *objects) wanted() string {
	if o.isArray {
		return "an object, or the end of the array"
	}
	return "an object in one line"
}

// split is a bufio.SplitFunc.
func (o *objects) split(data []byte, atEOF bool) (advance int, token []byte, err error) {
	for ; advance < len(data); advance++ {
		switch b := data[advance]; {
		case b == '\n':
			o.next++
		case b == ' ', b == '\t', b == '\r':
		case b == '[' && !o.isArray, b == ']' && o.isArray:
			o.isArray, o.isBehind = !o.isArray, false
		case b == ',' && o.isBehind:
			o.isBehind = false
		case o.next == 1 && bytes.HasPrefix(data[advance:], []byte(byteOrderMark)):
			advance += len(byteOrderMark) - 1
		default:
			text := data[advance:]
			length := bytes.IndexByte(text, '\n')
			if o.isBehind = o.isArray && b == '{'; o.isBehind {
				length = objectLength(text)
			}
			if length < 0 && !atEOF {
				return advance, nil, nil
			}
			if length < 0 {
				length = len(text)
			}
			o.line = o.next
			o.next += int64(bytes.Count(text[:length], []byte{'\n'}))
			return advance + length, text[:length], nil
		}
	}
	return advance, nil, nil
}

const byteOrderMark = "\ufeff"

// objectLength is the length of the object that begins a text, -1 if its end is not there.
func objectLength(text []byte) int {
	depth, isText := 0, false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case isText && b == '\\':
			i++
		case b == '"':
			isText = !isText
		case isText:
		case b == '{':
			depth++
		case b == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// field is what a key of an object stands for: itself, or the name that --columns gives it.
func (f *decisionsFile) field(key string) string {
	for name, column := range f.Columns {
		if column == key {
			return name
		}
	}
	if f.Columns[key] != "" {
		return "" // another key stands for it
	}
	return key
}

// readObject reads the fields of a JSON object that mean something: strings as they are, numbers as they are
// written, null as an empty text.
func (f *decisionsFile) readObject(text []byte, fields map[string]string) error {
	if !utf8.Valid(text) {
		return errors.New("got bytes that are not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if _, err := decoder.Token(); err != nil { // the brace
		return err
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string) // a key is one
		name = f.field(name)
		var value any
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		if !slices.Contains(filedFields, name) {
			continue
		}
		if _, twice := fields[name]; twice {
			return fmt.Errorf("the field %q is there twice", name)
		}
		switch value := value.(type) {
		case nil:
			fields[name] = ""
		case string:
			fields[name] = value
		case json.Number:
			fields[name] = value.String()
		default:
			return fmt.Errorf("the field %q is neither a text nor a number", name)
		}
	}
	if _, err := decoder.Token(); err != nil { // the other brace
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("got more than an object")
	}
	return nil
}
