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
	"unicode/utf8"
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

// unmarshal reads one object, whose fields are all known. encoding/json alone would take null for an object without
// fields.
func unmarshal(text []byte, into any) error {
	if !utf8.Valid(text) {
		return errors.New("it is not UTF-8")
	}
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return errors.New("want an object")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s is a %s", wrong.Field, wrong.Value)
	}
	if err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the first object")
	}
	return nil
}
