//go:build unix

package holder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestFiles passes more files than go at once, which keep their names and places. The holder reads and writes those of
// the asker.
func TestFiles(t *testing.T) {
	dir, away := t.TempDir(), t.TempDir()
	const count = filesAtOnce + 2
	serve(t, dir, func(_ context.Context, j *Job) []byte {
		var text bytes.Buffer
		for _, f := range j.Files[:count] {
			fmt.Fprintln(&text, f.Name())
			if _, err := io.Copy(&text, f); err != nil {
				t.Error(err)
			}
		}
		if _, err := io.WriteString(j.Files[count], "written"); err != nil {
			t.Error(err)
		}
		return text.Bytes()
	})
	want := ""
	var files []*os.File
	for i := range count + 1 {
		path := filepath.Join(away, fmt.Sprint(i))
		must.Do(t, os.WriteFile(path, []byte(fmt.Sprintf("content %d\n", i)), 0o600))
		if i < count {
			want += path + "\n" + fmt.Sprintf("content %d\n", i)
		}
		f := must.Get(os.OpenFile(path, os.O_RDWR, 0))(t)
		defer f.Close()
		files = append(files, f)
	}
	if err := os.Rename(away, away+"-moved"); err != nil { // so that no path leads to them
		t.Fatal(err)
	}
	for range 2 {
		for _, f := range files {
			must.Get(f.Seek(0, io.SeekStart))(t)
		}
		result, err := Ask(t.Context(), dir, greetingTime, nil, files, silent())
		if err != nil || string(result) != want {
			t.Errorf("got error %v and %d bytes: %.100q, want %d bytes", err, len(result), result, len(want))
		}
	}
	if got, err := os.ReadFile(filepath.Join(away+"-moved", fmt.Sprint(count))); err != nil ||
		!strings.HasPrefix(string(got), "written") {
		t.Errorf("got %q, %v, want what the holder has written", got, err)
	}
	if _, err := Ask(t.Context(), dir, greetingTime, nil, make([]*os.File, MaxFiles+1), silent()); !isRefusal(err) {
		t.Errorf("too many files: got %v, want a refusal", err)
	}
}

// TestHostilePlaces listens in stores that came from somebody else. No file outside of the store is removed or
// overwritten.
func TestHostilePlaces(t *testing.T) {
	for name, make := range map[string]func(t *testing.T, dir, victim string) error{
		"an address of a file": func(_ *testing.T, dir, victim string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, DirectoryName), 0o700),
				os.Symlink(filepath.Dir(victim), filepath.Join(dir, DirectoryName, elsewhere+"x")),
				os.WriteFile(filepath.Join(dir, addressName),
					[]byte(filepath.Join(dir, DirectoryName, elsewhere+"x", filepath.Base(victim))), 0o600))
		},
		"an address of a socket of another program": func(t *testing.T, dir, victim string) error {
			if err := os.Remove(victim); err != nil {
				return err
			}
			l, err := net.Listen("unix", victim)
			if err != nil {
				return err
			}
			l.(*net.UnixListener).SetUnlinkOnClose(false)
			return errors.Join(l.Close(), os.Mkdir(filepath.Join(dir, DirectoryName), 0o700),
				os.WriteFile(filepath.Join(dir, addressName), []byte(victim), 0o600))
		},
		"a directory that is a link": func(_ *testing.T, dir, victim string) error {
			return os.Symlink(filepath.Dir(victim), filepath.Join(dir, DirectoryName))
		},
		"an address that is a link": func(_ *testing.T, dir, victim string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, DirectoryName), 0o700),
				os.Symlink(victim, filepath.Join(dir, addressName)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			parent, err := os.MkdirTemp("", "") // t.TempDir is too long for a socket
			must.Do(t, err)
			t.Cleanup(func() { must.Do(t, os.RemoveAll(parent)) })
			dir := filepath.Join(parent, strings.Repeat("long", 25))
			victim := filepath.Join(parent, "v", "socket")
			must.Do(t, errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(filepath.Dir(victim), 0o700),
				os.WriteFile(victim, []byte("precious"), 0o600)))
			must.Do(t, make(t, dir, victim))
			before := must.Get(os.Lstat(victim))(t)
			if s, err := Listen(t.Context(), dir, func(context.Context, *Job) []byte { return nil }); err == nil {
				if got, err := asked(t.Context(), dir); err != nil {
					t.Errorf("got %q, %v", got, err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			} else if name != "a directory that is a link" {
				t.Error(err)
			}
			after, err := os.Lstat(victim)
			if err != nil || !os.SameFile(before, after) || before.Size() != after.Size() {
				t.Errorf("the file outside: got %v, %v, want it as it was", after, err)
			}
		})
	}
}
