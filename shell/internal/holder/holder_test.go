//go:build unix

package holder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/graphcleaner/graphcleaner/internal/testing/atrest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// A server of net/http waits half a second before it closes a connection whose request it refused.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// serve answers on a directory until the test ends.
func serve(t *testing.T, dir string, work func(context.Context, *Job) []byte) *Server {
	t.Helper()
	s := must.Get(Listen(t.Context(), dir, work))(t)
	t.Cleanup(func() {
		s.End()
		must.Do(t, s.Close())
	})
	return s
}

// silent are streams that nobody reads.
func silent() Streams { return Streams{Out: io.Discard, Err: io.Discard} }

// asked asks for a job without files.
func asked(ctx context.Context, dir string) (string, error) {
	result, err := Ask(ctx, dir, greetingTime, nil, nil, silent())
	return string(result), err
}

func TestConversation(t *testing.T) {
	dir := t.TempDir()
	serve(t, dir, func(_ context.Context, j *Job) []byte {
		for _, part := range []struct {
			to   io.Writer
			text string
		}{{j.Out(), "out "}, {j.Err(), "err "}, {j.Out(), "more"}} {
			if _, err := io.WriteString(part.to, part.text); err != nil {
				t.Error(err)
			}
		}
		j.Progress("stage", 3, 7)
		return append([]byte("done "), j.Request...)
	})
	var out, errOut bytes.Buffer
	stages := ""
	result, err := Ask(t.Context(), dir, greetingTime, []byte("request"), nil, Streams{
		Out: &out, Err: &errOut,
		Progress: func(stage string, done, total int64) {
			if done == 3 && total == 7 {
				stages += stage
			}
		},
	})
	if err != nil || string(result) != "done request" || out.String() != "out more" || errOut.String() != "err " ||
		stages != "stage" {
		t.Errorf("got %q, error %v, output %q, errors %q, stages %q", result, err, &out, &errOut, stages)
	}
}

// pattern is so many bytes, which differ from one place to the next.
type pattern struct{ left int64 }

func (p *pattern) Read(to []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	n := int(min(p.left, int64(len(to))))
	for i := range n {
		to[i] = byte((p.left - int64(i)) * 7 >> 3)
	}
	p.left -= int64(n)
	return n, nil
}

// slow is a writer that takes its time, and looks at the memory of the process.
type slow struct {
	io.Writer
	writes int
	most   uint64 // bytes alive
}

func (s *slow) Write(p []byte) (int, error) {
	if s.writes++; s.writes%100 == 0 {
		time.Sleep(time.Millisecond)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		s.most = max(s.most, m.HeapAlloc)
	}
	return s.Writer.Write(p)
}

// TestLongOutput sends 100 MB to a slow reader, and wants neither side to keep them.
func TestLongOutput(t *testing.T) {
	const size = 100 << 20
	dir := t.TempDir()
	serve(t, dir, func(_ context.Context, j *Job) []byte {
		if _, err := io.Copy(j.Out(), &pattern{size}); err != nil {
			t.Error(err)
		}
		return nil
	})
	want, got := sha256.New(), sha256.New()
	must.Get(io.Copy(want, &pattern{size}))(t)
	out := &slow{Writer: got}
	_, err := Ask(t.Context(), dir, greetingTime, nil, nil, Streams{Out: out, Err: io.Discard})
	if err != nil || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		t.Errorf("got error %v, and another output than was sent: %v", err, !bytes.Equal(got.Sum(nil), want.Sum(nil)))
	}
	if limit := uint64(32 << 20); out.most > limit {
		t.Errorf("the process had %d bytes alive, want at most %d", out.most, limit)
	}
}

// A job writes for ever to an asker that reads nothing, and must end with it.
func TestAskerThatStops(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, conn net.Conn, s *Server){
		"gone":       func(t *testing.T, conn net.Conn, _ *Server) { closeConn(t, conn) },
		"holder end": func(_ *testing.T, _ net.Conn, s *Server) { s.End() },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			begun, ended := make(chan struct{}), make(chan error, 1)
			s := serve(t, dir, func(ctx context.Context, j *Job) []byte {
				close(begun)
				_, err := io.Copy(j.Out(), &pattern{1 << 40})
				<-ctx.Done()
				ended <- err
				return nil
			})
			conn := connect(t, dir)
			must.Get(io.WriteString(conn, posted(t, dir, "")))(t)
			<-begun
			atrest.Wait() // until the buffers are full
			began := time.Now()
			end(t, conn, s)
			if err := <-ended; err == nil || time.Since(began) > 3*time.Second {
				t.Errorf("after %v: got %v, want an error soon", time.Since(began), err)
			}
			_ = conn.Close() // again
		})
	}
}

func connect(t *testing.T, dir string) net.Conn {
	t.Helper()
	return must.Get(net.Dial("unix", socketAt(dir)))(t)
}

// socketAt is the path of the socket in a directory.
func socketAt(dir string) string { return filepath.Join(dir, DirectoryName, socketName) }

func closeConn(t *testing.T, conn net.Conn) {
	t.Helper()
	must.Do(t, conn.Close())
}

// Ctrl-C of the asker ends its job alone, and the result still comes.
func TestCancel(t *testing.T) {
	dir := t.TempDir()
	began, goOn := make(chan struct{}, 2), make(chan struct{})
	serve(t, dir, func(ctx context.Context, j *Job) []byte {
		began <- struct{}{}
		select {
		case <-ctx.Done():
			return []byte("ended")
		case <-goOn:
			return []byte("done")
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan string, 2)
	ask := func(ctx context.Context) {
		result, err := asked(ctx, dir)
		if err != nil {
			t.Error(err)
		}
		results <- result
	}
	go ask(ctx)
	go ask(t.Context())
	<-began
	<-began
	cancel()
	if got := <-results; got != "ended" {
		t.Errorf("cancelled: got %q, want ended", got)
	}
	close(goOn)
	if got := <-results; got != "done" {
		t.Errorf("the other: got %q, want done", got)
	}
}

func TestEndOfTheHolder(t *testing.T) {
	dir := t.TempDir()
	began := make(chan struct{})
	s := serve(t, dir, func(ctx context.Context, _ *Job) []byte {
		close(began)
		<-ctx.Done()
		return []byte(context.Cause(ctx).Error())
	})
	results := make(chan string, 1)
	go func() {
		result, err := asked(t.Context(), dir)
		if err != nil {
			t.Error(err)
		}
		results <- result
	}()
	<-began
	if jobs := s.Jobs(); jobs != 1 {
		t.Errorf("with a job: got %d", jobs)
	}
	must.Do(t, s.Stop())
	if _, err := asked(t.Context(), dir); !errors.Is(err, ErrNobody) {
		t.Errorf("a holder that has stopped: got %v, want ErrNobody", err)
	}
	s.End()
	if got := <-results; got != ErrEnded.Error() {
		t.Errorf("got %q, want %q", got, ErrEnded)
	}
	must.Do(t, s.Close())
	if _, err := os.Stat(filepath.Join(dir, DirectoryName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}

// posted is a request about a directory.
func posted(t *testing.T, dir, text string) string {
	t.Helper()
	return head(must.Get(identity(dir))(t), len(text)) + text
}

// head is the head of a request about a store, of so many bytes.
func head(store string, size int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: holder\r\nConnection: close\r\nContent-Length: %d\r\n%s: %s\r\n\r\n",
		jobsPath, size, storeHeader, store)
}

// TestBrokenPeers talks to a holder, and to an asker, as none does.
func TestBrokenPeers(t *testing.T) {
	dir := t.TempDir()
	serve(t, dir, func(ctx context.Context, _ *Job) []byte {
		<-ctx.Done()
		return nil
	})
	store := must.Get(identity(dir))(t)
	for name, of := range map[string]struct{ sent, want string }{
		"nothing": {}, "no HTTP": {"graphcleaner\x01", "400 Bad Request"},
		"another address": {"GET / HTTP/1.1\r\nHost: holder\r\nConnection: close\r\n\r\n", "404 Not Found"},
		"another store":   {head("1-1", 0), "421 Misdirected Request"},
		"half a request":  {head(store, 9) + "abc", "400 Bad Request"},
		"a long head":     {head(strings.Repeat("1", 100_000), 0), "431 Request Header Fields Too Large"},
		"a long request":  {posted(t, dir, strings.Repeat("1", MaxRequest+1)), "400 Bad Request"},
		"a job":           {posted(t, dir, ""), "200 OK"},
	} {
		conn := connect(t, dir)
		go say(conn, of.sent)
		must.Do(t, conn.SetReadDeadline(time.Now().Add(5*time.Second)))
		got, err := io.ReadAll(conn)
		line, _, _ := strings.Cut(string(got), "\r\n")
		if errors.Is(err, os.ErrDeadlineExceeded) || strings.TrimPrefix(line, "HTTP/1.1 ") != of.want {
			t.Errorf("%s: got %q, %v, want %q and the end of the conversation", name, line, err, of.want)
		}
		closeConn(t, conn)
	}
	const taken = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, said := range map[string]struct {
		text string
		want func(error) bool
	}{
		"nothing":         {"", func(err error) bool { return errors.Is(err, ErrNobody) }},
		"no HTTP":         {"SSH-2.0-OpenSSH", func(err error) bool { return errors.Is(err, ErrNobody) }},
		"another version": {"HTTP/1.1 404 Not Found\r\n\r\n", isRefusal},
		"a refusal":       {"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", isRefusal},
		"another store": {"HTTP/1.1 421 Misdirected Request\r\n\r\n",
			func(err error) bool { return errors.Is(err, ErrNobody) }},
		"no result":      {taken + "0\r\n\r\n", func(err error) bool { return errors.Is(err, ErrGone) }},
		"half a message": {taken + "9\r\nabc", func(err error) bool { return errors.Is(err, ErrGone) }},
		"nonsense":       {taken + "9\r\nzzzzzzzzz\r\n", func(err error) bool { return errors.Is(err, ErrGone) }},
	} {
		if err := askOf(t, said.text); !said.want(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func isRefusal(err error) bool { return errors.As(err, new(*RefusedError)) }

// say sends a text to a peer that may have heard enough, and nothing more.
func say(conn net.Conn, text string) {
	io.WriteString(conn, text)        //nolint:errcheck // see above
	conn.(*net.UnixConn).CloseWrite() //nolint:errcheck // likewise
}

// askOf asks a holder that says a text and closes the connection.
func askOf(t *testing.T, text string) error {
	t.Helper()
	dir := t.TempDir()
	p, err := listen(dir)
	must.Do(t, err)
	said := make(chan struct{})
	go func() {
		defer close(said)
		conn, err := p.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		say(conn, text)
		io.Copy(io.Discard, conn) //nolint:errcheck // until the asker has heard enough
		_ = conn.Close()
	}()
	_, err = asked(t.Context(), dir)
	<-said
	if closing := p.Close(); closing != nil {
		t.Error(closing)
	}
	return err
}

// Connections that send nothing keep nobody else from an answer, nor the holder from its end.
func TestSilentAskers(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, func(context.Context, *Job) []byte { return []byte("here") })
	var conn net.Conn
	for range 30 {
		conn = connect(t, dir)
		defer closeConn(t, conn)
		if got, err := asked(t.Context(), dir); err != nil || got != "here" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	must.Do(t, errors.Join(conn.SetReadDeadline(time.Now().Add(greetingTime/2)), s.Close()))
	if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: got %d bytes, %v, want the end of the connection", n, err)
	}
}

// A holder listens also if the path of the store is long, and if another one was killed there.
func TestPlaces(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("ä", 100))
	must.Do(t, os.Mkdir(long, 0o700))
	for _, dir := range []string{t.TempDir(), long} {
		if _, err := asked(t.Context(), dir); !errors.Is(err, ErrNobody) {
			t.Errorf("%s: got %v, want ErrNobody", dir, err)
		}
		killed := must.Get(listen(dir))(t)
		if err := killed.Listener.Close(); err != nil { // its files stay
			t.Fatal(err)
		}
		if _, err := asked(t.Context(), dir); !errors.Is(err, ErrNobody) {
			t.Errorf("%s, of a killed holder: got %v, want ErrNobody", dir, err)
		}
		s := serve(t, dir, func(context.Context, *Job) []byte { return []byte("here") })
		if got, err := asked(t.Context(), dir); err != nil || got != "here" {
			t.Errorf("%s: got %q, %v", dir, got, err)
		}
		for path, want := range map[string]os.FileMode{socketAt(dir): 0o600, filepath.Dir(socketAt(dir)): 0o700} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: got %v, %v, want mode %v", path, info.Mode(), err, want)
			}
		}
		must.Do(t, s.Close())
		if _, err := os.Lstat(filepath.Join(dir, DirectoryName)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("left behind: %v", err)
		}
	}
}

// A store that was moved away is not the one that lies in its place now.
func TestMovedPlace(t *testing.T) {
	parent := t.TempDir()
	dir, away := filepath.Join(parent, "g"), filepath.Join(parent, "h")
	name := func(name string) func(context.Context, *Job) []byte {
		return func(context.Context, *Job) []byte { return []byte(name) }
	}
	must.Do(t, os.Mkdir(dir, 0o700))
	first := serve(t, dir, name("first"))
	must.Do(t, errors.Join(os.Rename(dir, away), os.Mkdir(dir, 0o700)))
	serve(t, dir, name("second"))
	for at, want := range map[string]string{dir: "second", away: "first"} {
		if got, err := asked(t.Context(), at); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %s", at, got, err, want)
		}
	}
	must.Do(t, first.Close())
	if got, err := asked(t.Context(), dir); err != nil || got != "second" {
		t.Errorf("after the end of the first: got %q, %v", got, err)
	}
}

// Output that cannot be written to ends the job, and is the error.
func TestClosedOutput(t *testing.T) {
	dir := t.TempDir()
	ended := make(chan struct{})
	serve(t, dir, func(ctx context.Context, j *Job) []byte {
		defer close(ended)
		for ctx.Err() == nil {
			if _, err := io.WriteString(j.Out(), "text\n"); err != nil {
				return nil
			}
		}
		return nil
	})
	in, out := io.Pipe()
	must.Do(t, in.Close())
	if _, err := Ask(t.Context(), dir, greetingTime, nil, nil, Streams{Out: out, Err: io.Discard}); !errors.Is(err,
		io.ErrClosedPipe) {
		t.Errorf("got %v, want %v", err, io.ErrClosedPipe)
	}
	<-ended
}
