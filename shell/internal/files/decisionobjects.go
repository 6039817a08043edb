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

// readLines reads decisions from a file with an object a line.
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
	lines := bufio.NewScanner(content)
	lines.Buffer(nil, maxLine)
	fields, line := map[string]string{}, int64(0)
	for lines.Scan() {
		if line++; line%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		text := bytes.TrimSpace(bytes.TrimPrefix(lines.Bytes(), []byte("\ufeff")))
		switch {
		case len(text) == 0:
			continue
		case text[0] == '[':
			return f.errorf(line, "", "got an array, want an object in one line: jq -c '.[]' writes them")
		case text[0] != '{':
			return f.errorf(line, "", "got %q, want an object in one line", wording.Short(string(text)))
		}
		clear(fields)
		err := f.readObject(text, fields)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the object has no end")
		}
		if err != nil {
			return f.errorf(line, "", "%v, want an object in one line", err)
		}
		err = f.add(line, func(name string) (string, bool) {
			value, ok := fields[name]
			return value, ok
		})
		if err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return f.errorf(line+1, "", "the line is longer than %d bytes", maxLine)
	}
	return lines.Err()
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
