package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// bring reads what a request brings: JSON, or the fields of a form.
func bring(r *http.Request, into any, form func()) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" && kind != "application/x-www-form-urlencoded" {
		return badRequest("The body is of the type %q: want application/json, or a form.", r.Header.Get("Content-Type"))
	}
	text, err := io.ReadAll(r.Body)
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return err
	case err != nil:
		return badRequest("The body does not come to its end: %v.", err)
	}
	if kind == "application/json" {
		if err := unmarshal(text, into); err != nil {
			return badRequest("The body is not as it should be: %v.", err)
		}
		return nil
	}
	r.PostForm, err = checked(url.ParseQuery(string(text)))
	if err == nil {
		form()
	}
	return err
}

// checked refuses fields that are no UTF-8, and others that cannot be read.
func checked(fields url.Values, err error) (url.Values, error) {
	for name, values := range fields {
		for _, value := range append(values, name) {
			if err == nil && !utf8.ValidString(value) {
				err = fmt.Errorf("%q is not UTF-8", value)
			}
		}
	}
	if err != nil {
		return nil, badRequest("The fields are not as they should be: %v.", err)
	}
	return fields, nil
}

// surrogates finds escapes in JSON. Half of a surrogate pair alone is the group: it is no character.
var surrogates = regexp.MustCompile(`(?i)\\ud[89ab]..\\ud[c-f]..|(\\ud[89a-f]..)|\\.`)

// unmarshal reads one object, whose fields are all known and not null. encoding/json alone would take null for an
// object without fields, and put U+FFFD in place of what is no character.
func unmarshal(text []byte, into any) error {
	if !utf8.Valid(text) {
		return errors.New("it is not UTF-8")
	}
	for _, escape := range surrogates.FindAllSubmatch(text, -1) {
		if escape[1] != nil {
			return fmt.Errorf("%s is half a character", escape[1])
		}
	}
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return errors.New("want an object")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the first object")
	}
	for tokens := json.NewDecoder(bytes.NewReader(text)); ; {
		switch token, err := tokens.Token(); {
		case err != nil:
			return checkNames(text)
		case token == nil:
			return errors.New("it has null, want a value, or no such field")
		}
	}
}

// checkNames refuses an object that names a field twice. encoding/json would take the last, and names in capitals.
func checkNames(text []byte) error {
	tokens := json.NewDecoder(bytes.NewReader(text))
	if _, err := tokens.Token(); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for tokens.More() {
		token, err := tokens.Token()
		if err == nil {
			err = tokens.Decode(new(json.RawMessage))
		}
		if err != nil {
			return err
		}
		name := fmt.Sprint(token)
		if lower := strings.ToLower(name); name != lower || seen[name] {
			return fmt.Errorf("got the field %s, want each once, in small letters", wording.Short(name))
		}
		seen[name] = true
	}
	return nil
}

// A whole is a whole number, which a program may write with zeros behind the point.
type whole int64

// mostWhole bounds it: all programs have these numbers exactly.
const mostWhole = 1 << 53

func (w *whole) UnmarshalJSON(text []byte) error {
	digits, zeros, _ := strings.Cut(string(text), ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || strings.Trim(zeros, "0") != "" || n > mostWhole || n < -mostWhole {
		return fmt.Errorf("got %s, want a whole number of at most %d", wording.Short(string(text)), int64(mostWhole))
	}
	*w = whole(n)
	return nil
}
