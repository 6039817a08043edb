package holder

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// Ask asks the holder of a directory for a job, and returns its result. The holder gets the files as they are open
// here. If it does not take the job within a time (of one second or more), Ask returns ErrNobody. If ctx ends, the
// holder ends the job and sends its result. If it does not within a second, Ask returns an ErrSilent, or the error of
// ctx if the job was not taken. If Out cannot be written to, the job ends, and Ask returns that error.
func Ask(
	ctx context.Context, dir string, within time.Duration, request []byte, files []*os.File, s Streams,
) (result []byte, err error) {
	if len(request) > MaxRequest {
		return nil, &RefusedError{fmt.Sprintf("the request has %d bytes, want at most %d for another process", len(request),
			MaxRequest)}
	}
	if len(files) > MaxFiles {
		return nil, &RefusedError{fmt.Sprintf("got %d files, want at most %d for another process", len(files), MaxFiles)}
	}
	within = max(within, shortestGreeting)
	c, store, err := dial(ctx, dir, within)
	if err != nil {
		return nil, errorOf(ctx, fmt.Errorf("%w: %w", ErrNobody, err))
	}
	if !c.isOwn() {
		return nil, errors.Join(&RefusedError{strangerText(c.pid, c.uid)}, c.Close())
	}
	c.sends = files
	c.until(within)
	stop := context.AfterFunc(ctx, func() {
		c.CloseWrite() //nolint:errcheck // a closed connection: who reads it is told. It ends the job
		c.until(patience)
	})
	defer func() {
		stop()
		c.Close() //nolint:errcheck // all was said, or the other side is gone
	}()
	events, err := c.begin(ctx, store, request)
	if err == nil {
		result, err = s.follow(events)
	}
	if ctx.Err() != nil && events != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("%w: %w", ErrSilent, ctx.Err())
	}
	return result, errorOf(ctx, err)
}

// dial connects to the holder of a directory, and returns what the system calls the directory.
func dial(ctx context.Context, dir string, within time.Duration) (c *conn, store string, err error) {
	if store, err = identity(dir); err != nil {
		return nil, "", err
	}
	place, err := openPlace(dir)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	err = atSocket(place, dir, func(path string) error {
		dialer := net.Dialer{Timeout: within}
		plain, err := dialer.DialContext(ctx, "unix", path)
		if err == nil {
			c, err = newConn(plain)
		}
		return err
	})
	return c, store, err
}

// errorOf is the error of a context that ended, instead of an error that may come from its end.
func errorOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// until bounds the wait for the holder.
func (c *conn) until(wait time.Duration) {
	c.SetDeadline(time.Now().Add(wait)) //nolint:errcheck // a closed connection: who reads it is told
}

// begin sends a request, and waits until the job is taken. It returns the events of the job.
func (c *conn) begin(ctx context.Context, store string, text []byte) (*gob.Decoder, error) {
	request, err := http.NewRequest(http.MethodPost, "http://holder"+jobsPath, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header.Set(storeHeader, store)
	request.Close = true
	request.Write(c) //nolint:errcheck // a refusal may come before its end
	in := bufio.NewReaderSize(c, maxPiece)
	response, err := http.ReadResponse(in, request) //nolint:bodyclose // it ends with the connection
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	if response.StatusCode == http.StatusOK {
		// From now on nobody knows whether the job was done if the holder is gone.
		c.SetDeadline(time.Time{}) //nolint:errcheck // a closed connection: who reads it is told
		if ctx.Err() != nil {
			c.until(patience)
		}
		return gob.NewDecoder(response.Body), nil
	}
	reason, err := io.ReadAll(io.LimitReader(response.Body, maxPiece))
	switch response.StatusCode {
	case http.StatusForbidden, http.StatusBadRequest:
		return nil, &RefusedError{strings.TrimSpace(string(reason))}
	case http.StatusNotFound:
		return nil, &RefusedError{"the process that holds the store runs another version of graphcleaner: end it first"}
	}
	return nil, errors.Join(fmt.Errorf("%w: %s", ErrNobody, response.Status), err)
}

// follow takes the events of the holder until the result comes.
func (s Streams) follow(events *gob.Decoder) ([]byte, error) {
	for {
		var e event
		if err := events.Decode(&e); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrGone, err)
		}
		if len(e.Out) > 0 {
			if _, err := s.Out.Write(e.Out); err != nil {
				return nil, err
			}
		}
		if len(e.Err) > 0 {
			// Where standard error cannot be written to there is nobody to be told.
			fmt.Fprintf(s.Err, "%s", e.Err)
		}
		if e.Progress != nil && s.Progress != nil {
			s.Progress(e.Progress.Stage, e.Progress.Done, e.Progress.Total)
		}
		if e.Done {
			return e.Result, nil
		}
	}
}
