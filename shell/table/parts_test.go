package table

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// Files of all kinds are read as if they were one, by rows or in parallel, and a row is found again by its line.
func TestParts(t *testing.T) {
	type row struct {
		ID string `parquet:"id"`
		N  int64  `parquet:"n"`
	}
	random := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	var want []string
	for part := range 9 {
		var text strings.Builder
		var rows []row
		text.WriteString("id,n\n")
		name := filepath.Join(dir, fmt.Sprintf("part-%d.csv", part))
		if part%3 == 2 {
			name = filepath.Join(dir, fmt.Sprintf("part-%d.parquet", part))
		}
		for line := range int64(random.IntN(400)) {
			r := row{strconv.Itoa(part) + "x", line}
			rows = append(rows, r)
			fmt.Fprintf(&text, "%s,%d\n", r.ID, r.N)
			at := line + 2
			if part%3 == 2 {
				at = line + 1
			}
			want = append(want, fmt.Sprintf("%s:%d %s,%d", name, at, r.ID, r.N))
		}
		content := []byte(text.String())
		switch part % 3 {
		case 1:
			name += ".gz"
			for i := range want {
				want[i] = strings.Replace(want[i], strings.TrimSuffix(name, ".gz")+":", name+":", 1)
			}
			content = zipped(t, text.String())
		case 2:
			content = parquetFile(t, rows...)
		}
		must.Do(t, os.WriteFile(name, content, 0o600))
	}
	for _, hidden := range []string{"_SUCCESS", ".part-0.csv.crc"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, hidden), nil, 0o600))
	}
	for _, workers := range []int{1, 3} {
		got := partRows(t, dir, workers)
		if !slices.Equal(got, want) {
			t.Errorf("%d workers: got %d rows %.300q\nwant %d rows %.300q", workers, len(got), got, len(want), want)
		}
	}
}

// partRows reads rows with their places, by a number of workers.
func partRows(t *testing.T, dir string, workers int) (rows []string) {
	t.Helper()
	in, err := Open(t.Context(), dir, Options{Memory: 1 << 30, chunk: 300})
	must.Do(t, err)
	err = in.Scan(t.Context(), workers, func(int, *Chunk) error { return nil }, func(_ int, c *Chunk) error {
		for row, err := range c.Rows() {
			if err != nil {
				return err
			}
			path, line := in.Place(row.Line)
			rows = append(rows, fmt.Sprintf("%s:%d %s,%s", path, line, row.Fields[0], row.Fields[1]))
		}
		return nil
	})
	if in.Offset() != in.Size() {
		t.Errorf("%d bytes were read, want all %d", in.Offset(), in.Size())
	}
	must.Do(t, errors.Join(err, in.Close()))
	return rows
}

func TestPartsErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"a/1.csv": "id,n\na,1\n", "a/2.csv": "n,id\n1,b\n", "b/1.csv": "id\na\n", "b/2.csv": "id\nb\nc,d\n",
		"c/_x.csv": "id\n",
		"d/1.csv":  "id\na\n", "d/notes.txt": "Read me.\n", "e/1.csv": "", "e/2.csv": "", "lake/_delta_log/0.json": "{}",
	} {
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	for name, want := range map[string]string{
		"a": filepath.FromSlash("a/2.csv") + ":1: has the columns n, id, want those of " +
			filepath.FromSlash("a/1.csv") + ": id, n",
		"b":    filepath.FromSlash("b/2.csv") + ":3: got 2 fields, want 1 (id)",
		"c":    "c: is a directory without files",
		"d":    filepath.FromSlash("d/notes.txt") + ":1: has the columns Read, me., want those of",
		"e":    filepath.FromSlash("e/1.csv") + ": the file is empty",
		"f":    "open f: no such file",
		"lake": "lake: has a log _delta_log that says which files count",
		".":    "is a directory in a directory, want files",
	} {
		if _, err := read(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

// Standard input is csv or tsv, and is read once.
func TestInput(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"id,n\na,1\n", "a|1"},
		{"id\tn, or m\na\t1\n", "a|1"},
		{"id,n\na\tb,1", "a\tb|1"},
		{"\xef\xbb\xbfid,n\r\na,1\r\n", "a|1"},
		{strings.Repeat("x", 70<<10) + ",n\na,1\n", "a|1"},
		{"", "-: the file is empty"},
		{"PAR1....", "-: got parquet data from a pipe or a device, want a file"},
		{"\x1f\x8b...", "-: is not a whole gzip file (it ends early)"},
		{string(zipped(t, "id,n\na,1\n")), "a|1"},
		{"id,n\na\n", "-:2: got 1 fields, want 2"},
	} {
		ctx := stream.WithInput(t.Context(),
			io.MultiReader(strings.NewReader(c.text[:len(c.text)/2]), strings.NewReader(c.text[len(c.text)/2:])))
		var got []string
		in, err := Open(ctx, "-", Options{Memory: 1 << 30})
		if err == nil {
			for row, failed := range rowsOf(in) {
				if err = failed; err == nil {
					got = append(got, string(row.Fields[0])+"|"+string(row.Fields[1]))
				}
			}
			err = errors.Join(err, in.Close())
		}
		if text := fmt.Sprint(strings.Join(got, " "), err); !strings.Contains(text, c.want) {
			t.Errorf("%.40q: got %s, want %s", c.text, text, c.want)
		}
		if _, err := Open(ctx, "-", Options{Memory: 1 << 30}); err == nil || !strings.Contains(err.Error(), "read already") {
			t.Errorf("%.40q: got %v the second time, want that it was read already", c.text, err)
		}
	}
	if _, err := Open(t.Context(), "-", Options{Memory: 1 << 30}); err == nil ||
		err.Error() != "-: standard input is not read here, want a file" {
		t.Errorf("without an input: got %v", err)
	}
}
