package holder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve answers on a directory until the test ends.
func serve(t *testing.T, dir string, work func(context.Context, *Job) []byte) *Server {
	t.Helper()
	s, err := Listen(t.Context(), dir, work)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.End()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// silent are streams without input.
func silent() Streams {
	return Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
}

func TestConversation(t *testing.T) {
	dir := t.TempDir()
	serve(t, dir, func(ctx context.Context, j *Job) []byte {
		in, err := io.ReadAll(j)
		if err != nil {
			t.Error(err)
		}
		for _, part := range []struct {
			to   io.Writer
			text string
		}{{j.Out(), "out "}, {j.Err(), "err "}, {j.Out(), string(in)}} {
			if _, err := io.WriteString(part.to, part.text); err != nil {
				t.Error(err)
			}
		}
		j.Progress("stage", 3, 7)
		yes, err := j.Confirm(ctx, "really?")
		if err != nil || !yes {
			t.Errorf("got %v, %v, want yes", yes, err)
		}
		return append([]byte("done "), j.Request...)
	})
	var out, errOut bytes.Buffer
	stages := ""
	result, err := Ask(t.Context(), dir, greetingTime, []byte("request"), Streams{
		In: strings.NewReader("input"), Out: &out, Err: &errOut,
		Progress: func(stage string, done, total int64) {
			if done == 3 && total == 7 {
				stages += stage
			}
		},
		Confirm: func(_ context.Context, question string) (bool, error) { return question == "really?", nil },
	})
	if err != nil || string(result) != "done request" || out.String() != "out input" || errOut.String() != "err " || stages != "stage" {
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

// TestLongStreams sends 100 MB each way, to a slow reader, and wants neither side to keep them.
func TestLongStreams(t *testing.T) {
	const size = 100 << 20
	dir := t.TempDir()
	serve(t, dir, func(_ context.Context, j *Job) []byte {
		if _, err := io.Copy(j.Out(), j); err != nil {
			t.Error(err)
		}
		return nil
	})
	want, got := sha256.New(), sha256.New()
	if _, err := io.Copy(want, &pattern{size}); err != nil {
		t.Fatal(err)
	}
	out := &slow{Writer: got}
	_, err := Ask(t.Context(), dir, greetingTime, nil, Streams{In: &pattern{size}, Out: out, Err: io.Discard})
	if err != nil || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		t.Errorf("got error %v, and another output than the input: %v", err, !bytes.Equal(got.Sum(nil), want.Sum(nil)))
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
			ended := make(chan error, 1)
			s := serve(t, dir, func(ctx context.Context, j *Job) []byte {
				_, err := io.Copy(j.Out(), &pattern{1 << 40})
				<-ctx.Done()
				ended <- err
				return nil
			})
			conn := connect(t, dir)
			w := newWire(conn)
			if err := errors.Join(w.sendGreeting(), w.receiveGreeting(), w.send(frameRequest), w.send(frameGo)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond) // the buffers are full
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
	conn, err := net.Dial("unix", socketOf(dir))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func closeConn(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
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
		result, err := Ask(ctx, dir, greetingTime, nil, silent())
		if err != nil {
			t.Error(err)
		}
		results <- string(result)
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
		result, err := Ask(t.Context(), dir, greetingTime, nil, silent())
		if err != nil {
			t.Error(err)
		}
		results <- string(result)
	}()
	<-began
	if idle, err := s.StopIdle(); idle || err != nil {
		t.Errorf("with a job: got idle %v, error %v", idle, err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := Ask(t.Context(), dir, greetingTime, nil, silent()); !errors.Is(err, ErrNobody) {
		t.Errorf("a holder that has stopped: got %v, want ErrNobody", err)
	}
	s.End()
	if got := <-results; got != ErrEnded.Error() {
		t.Errorf("got %q, want %q", got, ErrEnded)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, DirectoryName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}

// TestBrokenPeers talks to a holder, and to an asker, as none does.
func TestBrokenPeers(t *testing.T) {
	dir := t.TempDir()
	worked := make(chan struct{}, 100)
	serve(t, dir, func(ctx context.Context, j *Job) []byte {
		worked <- struct{}{}
		<-ctx.Done()
		return nil
	})
	for name, sent := range map[string]string{
		"nothing": "", "another greeting": "GET / HTTP/1.1\r\n\r\n", "another version": "graphcleaner\x02", "no request": greeting + "c\x00\x00\x00\x00",
		"a long request": greeting + "r\xff\xff\xff\xff", "half a request": greeting + "r\x00\x00\x00\x09abc",
		"no word that it shall begin": greeting + "r\x00\x00\x00\x00", "nonsense in a job": greeting + "r\x00\x00\x00\x00g\x00\x00\x00\x00zzzzzzzzz",
		"input that nobody wants": greeting + "r\x00\x00\x00\x00g\x00\x00\x00\x00" + "e\x00\x00\x00\x00e\x00\x00\x00\x00",
	} {
		conn := connect(t, dir)
		if _, err := io.WriteString(conn, sent); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the holder does not end the conversation", name)
		}
		closeConn(t, conn)
	}
	for name, said := range map[string]struct {
		text string
		want func(error) bool
	}{
		"nothing":             {"", func(err error) bool { return errors.Is(err, ErrNobody) }},
		"another greeting":    {"SSH-2.0-OpenSSH", isProtocolError},
		"another version":     {"graphcleaner\x02", isProtocolError},
		"a refusal":           {greeting + "X\x00\x00\x00\x02no", func(err error) bool { return errors.As(err, new(*RefusedError)) }},
		"no result":           {greeting + "T\x00\x00\x00\x00", func(err error) bool { return errors.Is(err, ErrGone) }},
		"half a message":      {greeting + "T\x00\x00\x00\x00O\x00\x00\x00\x09abc", func(err error) bool { return errors.Is(err, ErrGone) }},
		"long output":         {greeting + "T\x00\x00\x00\x00O\xff\xff\xff\xffabc", isProtocolError},
		"short progress":      {greeting + "T\x00\x00\x00\x00P\x00\x00\x00\x01a", isProtocolError},
		"an unknown message":  {greeting + "T\x00\x00\x00\x00Z\x00\x00\x00\x00", isProtocolError},
		"two wants at once":   {greeting + "T\x00\x00\x00\x00W\x00\x00\x00\x00W\x00\x00\x00\x00", isProtocolError},
		"a result for a take": {greeting + "R\x00\x00\x00\x00", isProtocolError},
	} {
		err := askOf(t, said.text)
		if !said.want(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func isProtocolError(err error) bool { return errors.As(err, new(*ProtocolError)) }

// never is input that does not come.
type never struct{ ctx context.Context }

func (n never) Read([]byte) (int, error) {
	<-n.ctx.Done()
	return 0, n.ctx.Err()
}

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
	if err != nil {
		t.Fatal(err)
	}
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
	ctx, cancel := context.WithCancel(t.Context())
	streams := silent()
	streams.In = never{ctx}
	_, err = Ask(ctx, dir, greetingTime, []byte("request"), streams)
	cancel()
	<-said
	if closing := p.Close(); closing != nil {
		t.Error(closing)
	}
	return err
}

// A holder listens also if the path of the store is long, and if another one was killed there.
func TestPlaces(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("ä", 100))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{t.TempDir(), long} {
		if _, err := Ask(t.Context(), dir, greetingTime, nil, silent()); !errors.Is(err, ErrNobody) {
			t.Errorf("%s: got %v, want ErrNobody", dir, err)
		}
		killed, err := listen(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := killed.Listener.Close(); err != nil { // its files stay
			t.Fatal(err)
		}
		stale := socketOf(dir)
		if _, err := Ask(t.Context(), dir, greetingTime, nil, silent()); !errors.Is(err, ErrNobody) {
			t.Errorf("%s, of a killed holder: got %v, want ErrNobody", dir, err)
		}
		s := serve(t, dir, func(context.Context, *Job) []byte { return []byte("here") })
		if got, err := Ask(t.Context(), dir, greetingTime, nil, silent()); err != nil || string(got) != "here" {
			t.Errorf("%s: got %q, %v", dir, got, err)
		}
		if runtime.GOOS != "windows" {
			for path, want := range map[string]os.FileMode{socketOf(dir): 0o600, filepath.Dir(socketOf(dir)): 0o700} {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: got %v, %v, want mode %v", path, info.Mode(), err, want)
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, path := range []string{stale, filepath.Join(dir, DirectoryName)} {
			if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("left behind: %s, %v", path, err)
			}
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
	first := serve(t, dir, name("first"))
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	serve(t, dir, name("second"))
	for at, want := range map[string]string{dir: "second", away: "first"} {
		if got, err := Ask(t.Context(), at, greetingTime, nil, silent()); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %s", at, got, err, want)
		}
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if got, err := Ask(t.Context(), dir, greetingTime, nil, silent()); err != nil || string(got) != "second" {
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
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Ask(t.Context(), dir, greetingTime, nil, Streams{In: in, Out: out, Err: io.Discard}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want %v", err, io.ErrClosedPipe)
	}
	<-ended
}

// FuzzHolder sends bytes to a holder, which must not panic or hang.
func FuzzHolder(f *testing.F) {
	f.Add([]byte("r\x00\x00\x00\x03abcg\x00\x00\x00\x00i\x00\x00\x00\x01xe\x00\x00\x00\x00"))
	f.Add([]byte("r\x00\x00\x00\x00g\x00\x00\x00\x00a\x00\x00\x00\x01\x01p\x00\x00\x00\x00c\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		dir := t.TempDir()
		s, err := Listen(t.Context(), dir, func(ctx context.Context, j *Job) []byte {
			io.Copy(j.Out(), io.LimitReader(j, 1<<20)) //nolint:errcheck // whatever comes
			j.Confirm(ctx, "?")                        //nolint:errcheck // likewise
			return j.Request
		})
		if err != nil {
			t.Fatal(err)
		}
		conn := connect(t, dir)
		go say(conn, greeting+string(sent))
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the holder does not end the conversation")
		}
		closeConn(t, conn)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// FuzzAsker sends bytes to an asker, which must not panic or hang.
func FuzzAsker(f *testing.F) {
	f.Add([]byte("T\x00\x00\x00\x00O\x00\x00\x00\x03abcW\x00\x00\x00\x00R\x00\x00\x00\x02ok"))
	f.Add([]byte("T\x00\x00\x00\x00Q\x00\x00\x00\x01?P\x00\x00\x00\x12\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02abR\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, said []byte) {
		here, there := net.Pipe()
		go func() {
			there.Write(said) //nolint:errcheck // the asker may have heard enough
			_ = there.Close()
		}()
		go io.Copy(io.Discard, there) //nolint:errcheck // until the end
		a := &asker{wire: newWire(here), streams: Streams{
			In: strings.NewReader("input"), Out: io.Discard, Err: io.Discard, Progress: func(string, int64, int64) {},
			Confirm: func(context.Context, string) (bool, error) { return true, nil },
		}}
		if result, err := a.follow(t.Context()); err == nil && !bytes.Contains(said, result) {
			t.Errorf("got the result %q, which was not said", result)
		}
		closeConn(t, here)
	})
}

// A copy of a store that is held has the address of its holder, which goes on to be reached.
func TestCopiedAddress(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30)) // so that the socket is elsewhere
	dir, copied := filepath.Join(long, "g"), filepath.Join(long, "h")
	name := func(name string) func(context.Context, *Job) []byte {
		return func(context.Context, *Job) []byte { return []byte(name) }
	}
	serve(t, dir, name("first"))
	if err := os.CopyFS(filepath.Join(copied, DirectoryName), os.DirFS(filepath.Join(dir, DirectoryName))); err != nil {
		t.Fatal(err)
	}
	serve(t, copied, name("second"))
	for at, want := range map[string]string{dir: "first", copied: "second"} {
		if got, err := Ask(t.Context(), at, greetingTime, nil, silent()); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %s", at, got, err, want)
		}
	}
}
