package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// mostBody is the most bytes of a request.
const mostBody = 1 << 20

// errInput is the error of a request that is wrong in itself.
var errInput = errors.New("bad request")

// A fieldError says which field of a request is wrong.
type fieldError struct {
	field string
	err   error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// inField names the field that an error is about. The error nil stays nil.
func inField(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &fieldError{fmt.Sprintf(format, args...), err}
}

func badField(field, format string, args ...any) error {
	return &fieldError{field, fmt.Errorf("%w: %s", errInput, fmt.Sprintf(format, args...))}
}

// handle answers requests in JSON. Errors become statuses here.
func (s *service) handle(mux *http.ServeMux, route string, answer func(ctx context.Context, r *http.Request) (any, error)) {
	mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
		began, code := time.Now(), http.StatusOK
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, mostBody)
		body, err := answer(ctx, r)
		if err != nil {
			code, body = status(err), describe(err)
		}
		if code >= http.StatusInternalServerError {
			log.Print(route, ": ", err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		if err := json.NewEncoder(w).Encode(body); err != nil {
			log.Print(route, ": ", err)
		}
		s.metrics.time("graphcleaner_request_seconds", fmt.Sprintf(`route=%q,code="%d"`, route, code), time.Since(began))
	})
}

// readJSON reads a body that has one value, and only fields that v has.
func readJSON(r *http.Request, v any) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("%w: %w", errInput, err)
	}
	if !utf8.Valid(body) { // package json would change the text
		return fmt.Errorf("%w: the body is not UTF-8", errInput)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err = d.Decode(v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return badField(wrong.Field, "got a %s, want a %s", wrong.Value, wrong.Type)
	}
	if err != nil {
		return fmt.Errorf("%w: the body is no JSON of this route: %w", errInput, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: the body has more than one value", errInput)
	}
	return nil
}

// describe is the body of an answer with an error.
func describe(err error) any {
	body := struct {
		Error string `json:"error"`
		Field string `json:"field,omitempty"`
	}{Error: err.Error()}
	if wrong, ok := errors.AsType[*fieldError](err); ok {
		body.Error, body.Field = wrong.err.Error(), wrong.field
	}
	if wrong, ok := errors.AsType[*query.ResolveError](err); ok {
		body.Error = wrong.Msg // without the place in a statement that the client has not written
	}
	return body
}

// status is the HTTP status of an error.
func status(err error) int {
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	_, big := errors.AsType[*http.MaxBytesError](err)
	_, parse := errors.AsType[*query.ParseError](err)
	_, resolve := errors.AsType[*query.ResolveError](err)
	switch {
	case is(kv.ErrExists, decide.ErrChanged, errDecided):
		return http.StatusConflict
	case is(kv.ErrNotFound):
		return http.StatusNotFound
	case big, is(kv.ErrTxTooBig):
		return http.StatusRequestEntityTooLarge
	case parse, resolve, is(errInput, decide.ErrOptions, kv.ErrInvalidID, kv.ErrInvalidEdge, kv.ErrInvalidName, kv.ErrInvalidValue, kv.ErrShape):
		return http.StatusBadRequest
	case is(context.DeadlineExceeded, context.Canceled, kv.ErrClosed):
		return http.StatusServiceUnavailable
	case is(kv.ErrNoSpace):
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}
