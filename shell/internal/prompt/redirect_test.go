package prompt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/shell/internal/columnar"
	"github.com/graphcleaner/graphcleaner/shell/print"
)

// TestOutputOfNoFormat: a file whose name asks for a format that there is not is not begun.
func TestOutputOfNoFormat(t *testing.T) {
	for name, ok := range map[string]bool{"a.xlsx": false, "a.csv.bak": false, "a.HTML": false, "a.txt": true,
		"a.TXT": true, "a": true, "a.md": true} {
		file := filepath.Join(t.TempDir(), name)
		_, _, err := answer(t, Options{Store: opened(papers.Loaded(t))}, ".output "+file+"\ncount nodes")
		if _, missing := os.Stat(file); ok != (err == nil) || ok != (missing == nil) {
			t.Errorf("%s: got error %v, file %v", name, err, missing)
		}
		if !ok && !strings.Contains(err.Error(),
			"want a name that ends with .csv, .tsv, .json, .jsonl, .md, .parquet or .txt") {
			t.Errorf("%s: got error %v, want one with the formats", name, err)
		}
	}
}

// TestOutputIsWholeOrAsItWas holds what .output leaves at the end of sessions of all kinds.
func TestOutputIsWholeOrAsItWas(t *testing.T) {
	const old = "what was there\n"
	for _, c := range []struct {
		name, text string
		opt        Options
		fails      bool
		want       string
	}{
		{name: "a statement", text: ".output F\ncount nodes", want: "count\n10\n"},
		{name: "nothing", text: ".output F\n", want: ""},
		{name: "a typo", text: ".output F\ncount nodse", fails: true, want: old},
		{name: "a typo behind a statement", text: ".output F\ncount nodes;\ncount nodse", fails: true, want: old},
		{name: "a typo behind the file", text: ".output F\ncount nodes;\n.output\ncount nodse", fails: true, want: "count\n10\n"},
		{name: "a typo in a file that is read", text: ".output F\n.read BAD", fails: true, want: old},
		{name: "typos alone, kept going", text: ".output F\ncount nodse;\n.output", opt: Options{KeepGoing: true}, fails: true, want: old},
		{
			name: "a typo among others, kept going", text: ".output F\ncount nodes;\ncount nodse;\ncount nodes where degree > 100",
			opt: Options{KeepGoing: true}, fails: true, want: "count\n10\ncount\n0\n",
		},
		{name: "typos alone, at the prompt", text: ".output F\ncount nodse\n.quit\n", opt: Options{Interactive: true, NoHistory: true}, want: old},
		{
			name: "a typo among others, at the prompt", text: ".output F\ncount nodse\ncount nodes\n",
			opt: Options{Interactive: true, NoHistory: true}, want: "count\n10\n",
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
				must.Do(t, os.WriteFile(name, []byte(text), 0o640))
			}
			c.opt.Store, c.opt.Format = opened(papers.Loaded(t)), columnar.Format(print.FormatCSV)
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
	must.Do(t, s.redirect(t.Context(), file))
	for _, answer := range []struct {
		text string
		err  error
	}{{"whole\n", nil}, {"half of o", context.Canceled}, {"whole as well\n", nil}} {
		must.Get(s.out.Write([]byte(answer.text)))(t)
		if err := s.settle(answer.err); !errors.Is(err, answer.err) {
			t.Errorf("%q: got error %v, want %v", answer.text, err, answer.err)
		}
	}
	must.Do(t, s.endOutput(false))
	if got, err := os.ReadFile(file); err != nil || string(got) != "whole\nwhole as well\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestOutputByName holds that the name of the file decides about the format, and the mode about all others.
func TestOutputByName(t *testing.T) {
	t.Chdir(t.TempDir())
	store := opened(papers.Cleaned(t))
	out, people, err := answer(t, Options{Store: store}, `.output a.csv;
suspects limit 1 return id, label;
.help undo
.mode json
count nodes;
.output A.TSV
nodes where year > 3000 return id, year;
.output b.json
suspects limit 1 return id;
.output c.jsonl
suspects limit 1 return id;
.output d.md
suspects limit 1 return id;
.output e.parquet
suspects limit 1 return id;
.output f
suspects limit 1 return id;
.output
suspects limit 1 return id`)
	if err != nil || !strings.HasPrefix(out, "undo [N]\n") || !strings.HasSuffix(out, "\n[\n{\"id\":\"s3\"}\n]\n") {
		t.Errorf("got error %v and %q", err, out)
	}
	want := "1 row to a.csv\na.csv keeps the format of its name; the mode is for what follows\n1 more row to a.csv\n" +
		"0 rows to A.TSV\n1 row to b.json\n1 row to c.jsonl\n1 row to d.md\n1 row to e.parquet\n1 row to f\n"
	if people != want {
		t.Errorf("people were told %q, want %q", people, want)
	}
	for name, want := range map[string]string{
		"a.csv": "id,label\ns3,Systems\ncount\n10\n", "A.TSV": "id\tyear\n", "b.json": "[\n{\"id\":\"s3\"}\n]\n",
		"c.jsonl": "{\"id\":\"s3\"}\n",
		"d.md":    "| id |\n| --- |\n| s3 |\n", "f": "[\n{\"id\":\"s3\"}\n]\n",
	} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	if got, err := os.ReadFile("e.parquet"); err != nil || !strings.HasPrefix(string(got), "PAR1") ||
		!strings.HasSuffix(string(got), "PAR1") {
		t.Errorf("e.parquet: got %q, %v", got, err)
	}
	for name, text := range map[string]string{
		"b.json":    "b.json holds one answer, and has it: want .output and another file first",
		"e.parquet": "e.parquet holds one answer",
		"g.csv.gz":  ".output: g.csv.gz: answers are not packed, want a name without .gz",
	} {
		_, _, err := answer(t, Options{Store: store}, ".output "+name+"\ncount nodes;\nreject p1;")
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got error %v, want %s", name, err, text)
		}
	}
	if out, _, err := answer(t, Options{Store: store}, "count history"); err != nil || !strings.Contains(out, "0") {
		t.Errorf("a decision without room for its answer: got %q, %v, want none", out, err)
	}
}
