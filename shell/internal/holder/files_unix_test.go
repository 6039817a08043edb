//go:build unix

package holder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
		if _, err := j.Files(make([]string, count)); err == nil {
			t.Error("got files with fewer names")
		}
		files := must.Get(j.Files(strings.Fields(string(j.Request))))(t)
		for _, f := range files[:count] {
			fmt.Fprintln(&text, f.Name())
			if _, err := io.Copy(&text, f); err != nil {
				t.Error(err)
			}
		}
		if _, err := io.WriteString(files[count], "written"); err != nil {
			t.Error(err)
		}
		return text.Bytes()
	})
	want, names := "", ""
	var files []*os.File
	for i := range count + 1 {
		path := filepath.Join(away, fmt.Sprint(i))
		must.Do(t, os.WriteFile(path, []byte(fmt.Sprintf("content %d\n", i)), 0o600))
		if i < count {
			want += path + "\n" + fmt.Sprintf("content %d\n", i)
		}
		names += path + "\n"
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
		result, err := Ask(t.Context(), dir, greetingTime, []byte(names), files, silent())
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

// TestHostilePlaces listens in a store that came from somebody else. Its link leads to no file outside of the store.
func TestHostilePlaces(t *testing.T) {
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), socketName)
	must.Do(t, errors.Join(os.WriteFile(victim, []byte("precious"), 0o600),
		os.Symlink(filepath.Dir(victim), filepath.Join(dir, DirectoryName))))
	if _, err := Listen(t.Context(), dir, nil); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("a directory that is a link: got %v", err)
	}
	must.Do(t, errors.Join(os.Remove(filepath.Join(dir, DirectoryName)),
		os.Mkdir(filepath.Join(dir, DirectoryName), 0o700),
		os.Symlink(victim, filepath.Join(dir, DirectoryName, socketName))))
	s := must.Get(Listen(t.Context(), dir, func(context.Context, *Job) []byte { return []byte("here") }))(t)
	if got, err := asked(t.Context(), dir); err != nil || got != "here" {
		t.Errorf("got %q, %v", got, err)
	}
	must.Do(t, s.Close())
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("the file outside: got %q, %v, want it as it was", text, err)
	}
}
