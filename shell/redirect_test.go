package shell

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/papers"
	"github.com/graphcleaner/graphcleaner/shell/print"
)

// TestOutputIsWholeOrAsItWas holds what .output leaves at the end of sessions of all kinds.
func TestOutputIsWholeOrAsItWas(t *testing.T) {
	const old = "what was there\n"
	for _, c := range []struct {
		name, text string
		opt        SessionOptions
		fails      bool
		want       string
	}{
		{name: "a statement", text: ".output F\ncount nodes", want: "count\n10\n"},
		{name: "nothing", text: ".output F\n", want: ""},
		{name: "a typo", text: ".output F\ncount nodse", fails: true, want: old},
		{name: "a typo behind a statement", text: ".output F\ncount nodes;\ncount nodse", fails: true, want: old},
		{name: "a typo behind the file", text: ".output F\ncount nodes;\n.output\ncount nodse", fails: true, want: "count\n10\n"},
		{name: "a typo in a file that is read", text: ".output F\n.read BAD", fails: true, want: old},
		{name: "typos alone, kept going", text: ".output F\ncount nodse;\n.output", opt: SessionOptions{KeepGoing: true}, fails: true, want: old},
		{
			name: "a typo among others, kept going", text: ".output F\ncount nodes;\ncount nodse;\ncount nodes where degree > 100",
			opt: SessionOptions{KeepGoing: true}, fails: true, want: "count\n10\ncount\n0\n",
		},
		{name: "typos alone, at the prompt", text: ".output F\ncount nodse\n.quit\n", opt: SessionOptions{Interactive: true, NoHistory: true}, want: old},
		{
			name: "a typo among others, at the prompt", text: ".output F\ncount nodse\ncount nodes\n",
			opt: SessionOptions{Interactive: true, NoHistory: true}, want: "count\n10\n",
		},
		{name: "a file that cannot be", text: ".output F\ncount nodes;\n.output no/such/file", fails: true, want: "count\n10\n"},
		{name: "the same file again", text: ".output F\ncount nodes;\n.output F\ncount nodes where degree > 100", want: "count\n0\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TERM", "dumb")
			dir := t.TempDir()
			file := filepath.Join(dir, "answers")
			bad := filepath.Join(dir, "bad.q")
			for name, text := range map[string]string{file: old, bad: "count nodes; count nodse"} {
				if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
					t.Fatal(err)
				}
			}
			c.opt.Store, c.opt.Format = papers.Loaded(t), print.FormatCSV
			_, people, err := answer(t, c.opt, strings.NewReplacer("F", file, "BAD", bad).Replace(c.text))
			if (err != nil) != c.fails {
				t.Errorf("got error %v and %s", err, people)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
			if told := strings.Contains(people, file+" was not written"); told != (c.want == old) {
				t.Errorf("people were told %q", people)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 2 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
}

// TestOutputDropsHalfAnAnswer cancels a statement whose answer has begun.
func TestOutputDropsHalfAnAnswer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "answers")
	s := &session{out: os.Stdout}
	if err := s.redirect(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	for _, answer := range []struct {
		text string
		err  error
	}{{"whole\n", nil}, {"half of o", context.Canceled}, {"whole as well\n", nil}} {
		if _, err := s.out.Write([]byte(answer.text)); err != nil {
			t.Fatal(err)
		}
		if err := s.answered(answer.err); !errors.Is(err, answer.err) {
			t.Errorf("%q: got error %v, want %v", answer.text, err, answer.err)
		}
	}
	if err := s.endOutput(false); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "whole\nwhole as well\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestNoFileIsWrittenIntoAStore gives every flag that names a file to be written the path of one in a store.
func TestNoFileIsWrittenIntoAStore(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	for link, to := range map[string]string{"alias": "g", "link": filepath.Join("g", "MANIFEST")} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip(err)
		}
	}
	filesOf := func() []string {
		entries, err := os.ReadDir("g")
		if err != nil {
			t.Fatal(err)
		}
		var files []string
		for _, entry := range entries {
			files = append(files, entry.Name())
		}
		return files
	}
	mustRun(t, "check", "g") // leaves the store as opening it does
	before := filesOf()
	for _, command := range []string{
		"shell g -c .output+F", "shell g --read-only -c .output+F", "export g labels --out F", "gate g --most 5 --write-baseline F", "backup g F",
		"import g --splits nodes.csv --stats F", "import h --nodes nodes.csv --edges edges.csv --stats F",
		"import h --nodes nodes.csv --edges edges.csv --report F", "predict g --stats F", "clean g --stats F", "clean g --report F",
		"export g features --out f.npy --stats F", "eval g --report F", "eval g --stats F", "eval g --flags F",
		"check g --repair --yes --report F", "import F --nodes nodes.csv --edges edges.csv", "demo --dir F",
	} {
		for _, file := range []string{"g/new.csv", "alias/new.csv", "g/work/new.csv", "link", "g/MANIFEST"} {
			if file == "g/work/new.csv" {
				if err := os.MkdirAll("g/work", 0o700); err != nil {
					t.Fatal(err)
				}
			}
			args := strings.Fields(strings.ReplaceAll(command, "F", file))
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "+", " ")
			}
			if strings.HasPrefix(command, "export g labels") && filepath.Ext(file) == "" {
				continue // the name says no format
			}
			got := run(t, "", args...)
			if got.code == exitDone {
				t.Errorf("%s: got exit code 0 and %s%s", args, got.out, got.err)
			}
		}
	}
	if after := slices.DeleteFunc(filesOf(), func(name string) bool { return name == "work" }); !slices.Equal(after, before) {
		t.Errorf("the store has the files %v, want %v", after, before)
	}
	if got := mustRun(t, "check", "g"); !strings.Contains(got, "no problems") {
		t.Errorf("check: got %s", got)
	}
	err := withStore("g", kv.Options{}, func(*kv.Store) error { return nil })
	if err != nil {
		t.Errorf("the store does not open: %v", err)
	}
}
