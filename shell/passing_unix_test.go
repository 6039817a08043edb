//go:build unix

package shell

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/shell/internal/holder"
)

// write writes files of some names.
func write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, content := range files {
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o755),
			os.WriteFile(name, []byte(content), 0o600)))
	}
}

// give runs a command in a directory, and returns what it prints.
func give(t *testing.T, dir string, args ...string) string {
	t.Helper()
	p := child(t, args...)
	p.Dir = dir
	out, err := p.CombinedOutput()
	if err != nil {
		t.Errorf("%q: %v: %s", args, err, out)
	}
	return string(out)
}

// TestPassedFiles gives commands files as only the process that gives them can open them.
func TestPassedFiles(t *testing.T) {
	cleanedStore(t)
	write(t, map[string]string{"parts/a.csv": "id,label\nn1,A\n", "parts/b.csv": "id,label\nn2,A\nn3,A\n"})
	for _, db := range []string{"h", "g"} {
		if db == "g" {
			serving(t, "g")
		}
		if got := give(t, ".", "import", db, "--append", "--nodes", "parts"); !strings.Contains(got,
			"3 nodes and 0 edges added") {
			t.Errorf("%s: got %s", db, got)
		}
		// A pipe that has a name, and one that has none.
		must.Do(t, unix.Mkfifo(db+".csv", 0o600))
		writer := &exec.Cmd{Path: machineProgram(t, "sh"),
			Args: []string{"sh", "-c", "printf 'id\\nn1\\nn2\\n' > " + db + ".csv"}}
		must.Do(t, writer.Start())
		if got := give(t, ".", "score", db, "--nodes", db+".csv", "--format", "csv"); strings.Count(got, "\nn") != 2 {
			t.Errorf("%s, a pipe: got %s", db, got)
		}
		must.Do(t, writer.Wait())
		if db == "h" { // in a directory it is no file of a table: to open it might wait for ever
			write(t, map[string]string{db + ".parts/a.csv": "id\nn1\n"})
			must.Do(t, os.Rename(db+".csv", db+".parts/b.csv"))
			if out, err := child(t, "score", db, "--nodes", db+".parts").CombinedOutput(); err == nil ||
				!strings.Contains(string(out), "is a pipe, a socket or a device in a directory, want files") {
				t.Errorf("%s, a pipe in a directory: got %v, %s", db, err, out)
			}
		}
		in, out, err := os.Pipe()
		must.Do(t, err)
		p := child(t, "export", db, "labels", "--out", "/dev/fd/3")
		p.ExtraFiles = []*os.File{out}
		must.Do(t, errors.Join(p.Start(), out.Close()))
		labels, err := io.ReadAll(in)
		if err := errors.Join(err, p.Wait(), in.Close()); err != nil ||
			!strings.HasSuffix(string(labels), "\nn3,A,A\n") {
			t.Errorf("%s, /dev/fd/3: got %d bytes, %v", db, len(labels), err)
		}
		p = child(t, "score", db, "--nodes", "-", "--format", "csv")
		p.Stdin = strings.NewReader("id\nn3\n")
		if got, err := p.Output(); err != nil || strings.Count(string(got), "\nn3,") != 1 {
			t.Errorf("%s, standard input: got %s, %v", db, got, err)
		}
	}
}

// TestUnwritablePlaces has writes fail, and wants nothing left behind and the file that was there.
func TestUnwritablePlaces(t *testing.T) {
	cleanedStore(t)
	write(t, map[string]string{"old.csv": "old"})
	serving(t, "g")
	before := listDir(t)
	for args, want := range map[string]string{
		"export g labels --out /dev/full":           "no space left on device",
		"export g labels --out g/labels.csv":        "the directory is a store, want the file elsewhere",
		"export g scores --out old.csv --hops 9":    "--hops",
		"export g transition --out no/such/old.csv": "there is no directory no/such",
		"backup g old.csv":                          "old.csv is there already",
		"export g labels --out old.csv/base.csv":    "a directory",
	} {
		got := run(t, "", strings.Fields(args)...)
		if got.code == exitDone || !strings.Contains(got.err, want) {
			t.Errorf("%s: got %+v, want %s", args, got, want)
		}
	}
	if content, err := os.ReadFile("old.csv"); err != nil || string(content) != "old" ||
		!slices.Equal(listDir(t), before) {
		t.Errorf("got %q, %v, and the files %v, want %v", content, err, listDir(t), before)
	}
}

// TestKilledAsker kills a command in the middle of its work. Its file is the one that was there, and the next command
// leaves no other.
func TestKilledAsker(t *testing.T) {
	cleanedStore(t)
	write(t, map[string]string{"out.json": "old"})
	serving(t, "g")
	p := child(t, "import", "g", "--append", "--nodes", "-", "--stats", "out.json")
	rows, err := p.StdinPipe()
	if err == nil {
		_, err = io.WriteString(rows, "id,label\nnew,A\n")
	}
	must.Do(t, errors.Join(err, p.Start()))
	partial := func() bool {
		return slices.ContainsFunc(listDir(t), func(name string) bool { return strings.HasPrefix(name, ".out.json.") })
	}
	for end := time.Now().Add(time.Minute); !partial() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	must.Do(t, p.Process.Kill())
	p.Process.Wait()   //nolint:errcheck // it was killed
	defer rows.Close() // not before: the end of its input would be the end of a whole import
	if content, err := os.ReadFile("out.json"); err != nil || string(content) != "old" || !partial() {
		t.Errorf("got %q, %v, and the files %v, want the old one beside one that is not complete", content, err, listDir(t))
	}
	// The job ends soon, and with it the lock of its file.
	for end := time.Now().Add(time.Minute); partial() && time.Now().Before(end); {
		give(t, ".", "clean", "g", "--hops", "1", "--stats", "out.json")
	}
	if content, err := os.ReadFile("out.json"); err != nil || string(content) == "old" || partial() {
		t.Errorf("got %.20q, %v, and the files %v", content, err, listDir(t))
	}
	if got := give(t, ".", "shell", "g", "-c", "count nodes where id = 'new'", "--format", "csv"); got != "count\n0\n" {
		t.Errorf("got %s, want no node of half an import", got)
	}
}

// TestUnpassedFiles asks for jobs with names of files that are not passed. The holder opens none of them, and does no
// other work.
func TestUnpassedFiles(t *testing.T) {
	cleanedStore(t)
	write(t, map[string]string{"new.csv": "id,label\nnew,A\n"})
	served(t, "g")
	before := listDir(t)
	for _, args := range []string{
		"export g labels --out out.csv", "backup g out.backup", "clean g --hops 1 --stats out.json",
		"import g --append --nodes new.csv", "score g --nodes new.csv",
		"import x --nodes new.csv --edges new.csv", "demo", "restore a x", "shell h -c undo", "serve h",
		"check h --repair --yes", "worker",
	} {
		var text, out bytes.Buffer
		must.Do(t, gob.NewEncoder(&text).Encode(request{Args: strings.Fields(args), Program: "graphcleaner"}))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		result, err := holder.Ask(ctx, "g", time.Second, text.Bytes(), nil, holder.Streams{Out: &out, Err: &out})
		cancel()
		var got answer
		if err == nil {
			err = gob.NewDecoder(bytes.NewReader(result)).Decode(&got)
		}
		if wrote := strings.HasPrefix(args, "clean"); err != nil ||
			got.Code == exitDone || !wrote && out.Len() == 0 {
			t.Errorf("%s: got exit code %d, %v and %s, want a failure", args, got.Code, err, &out)
		}
		if !strings.Contains(out.String(), "process that holds the store") &&
			!strings.Contains(out.String(), "no such file") {
			t.Errorf("%s: got %s", args, &out)
		}
	}
	if after := listDir(t); !slices.Equal(after, before) {
		t.Errorf("got the files %v, want %v", after, before)
	}
}
