package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// simpleRows reads text byte by byte, as the package's documentation says: a line for every row, and one for what ends
// the reading.
func simpleRows(l layout, content []byte, columns int) (rows []string) {
	separator, comment := l.separator, l.comment
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	var header []string
	for line := int64(1); len(content) > 0; {
		var record []byte
		var fields []string
		var bad, open error
		if separator == blanks || separator == '\t' || content[0] == comment {
			record = content[:lineEnd(content)]
			if separator == '\t' {
				fields, _, bad = simpleQuotes(record, l)
			} else {
				fields = strings.FieldsFunc(strings.TrimSuffix(strings.TrimSuffix(string(record), "\n"), "\r"), isBlank)
			}
		} else {
			var length int
			if fields, length, bad = simpleQuotes(content, l); length < 0 {
				length = lineEnd(content)
				open = errors.New("a quoted field is still open at the end of the file")
			}
			record = content[:length]
		}
		content = content[len(record):]
		at := line
		lines := slices.Collect(bytes.Lines(record))
		line += int64(len(lines))
		if record[0] == comment {
			continue
		}
		if bad != nil {
			at = line - 1
		}
		for i, text := range lines {
			if err := checkText(text); err != nil {
				at, bad = line-int64(len(lines)-i), err
				break
			}
		}
		if open != nil {
			at, bad = line-1, open
		}
		if string(bytes.TrimRight(record, "\n")) == "" || string(record) == "\r\n" || string(record) == "\r" ||
			bad == nil && len(fields) == 0 {
			continue
		}
		if bad == nil && header != nil {
			if len(fields) != columns {
				bad = fmt.Errorf("got %d fields", len(fields))
			} else if !l.numbered && slices.Equal(fields, header) {
				bad = errors.New("the header comes again")
			}
		}
		switch {
		case bad != nil:
			message, _, _ := strings.Cut(bad.Error(), ", want")
			return append(rows, fmt.Sprintf("%d: %s", at, message))
		case header != nil:
			rows = append(rows, fmt.Sprintf("%d %q", at, fields))
		}
		if header == nil {
			header = fields
		}
	}
	return rows
}

var (
	simpleQuoted = regexp.MustCompile(`^"((?:[^"]|"")*)"`)
	simpleOpen   = regexp.MustCompile(`^"(?:[^"]|"")*$`)
	simpleRest   = regexp.MustCompile(`^(?:\r?\n|\r?$)`) // of a record, after its last field
)

// simpleQuotes returns the fields of the record that a csv or tsv text begins with and the record's length; −1 where a
// quote is left open.
func simpleQuotes(text []byte, l layout) (fields []string, length int, bad error) {
	separator := l.separator
	for rest := string(text); ; rest = rest[1:] {
		if separator != '\t' && simpleOpen.MatchString(rest) {
			return nil, -1, nil
		}
		quoted := simpleQuoted.FindStringSubmatch(rest)
		behind := rest
		if quoted != nil {
			behind = rest[len(quoted[0]):]
		}
		isWhole := simpleRest.MatchString(behind) || behind[0] == separator
		switch {
		case quoted != nil && isWhole:
			fields = append(fields, strings.ReplaceAll(quoted[1], `""`, `"`))
			rest = behind
		case quoted != nil && separator != '\t':
			line := lineEnd([]byte(behind))
			return fields, len(text) - len(behind) + line, fmt.Errorf("got %q after a closing quote", behind[:1])
		default:
			end := strings.IndexAny(rest, string(separator)+"\n")
			if end < 0 {
				end = len(rest)
			}
			field := rest[:end]
			if rest = rest[end:]; rest == "" || rest[0] == '\n' {
				field = strings.TrimSuffix(field, "\r")
			}
			fields = append(fields, field)
		}
		if match := simpleRest.FindString(rest); match != "" || rest == "" {
			return fields, len(text) - len(rest) + len(match), nil
		}
	}
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' }

// rowsOf yields the rows of a file one after another, and at last an error, if any.
func rowsOf(r *Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for c := (Chunk{}); ; {
			if err := r.fill(&c); err != nil {
				if !errors.Is(err, io.EOF) {
					yield(Row{}, err)
				}
				return
			}
			for row, err := range c.Rows() {
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}

// rowText words a row or an error as simpleRows does.
func rowText(row Row, err error) string {
	bad, ok := errors.AsType[*Error](err)
	if !ok && err != nil {
		return err.Error()
	}
	if err == nil {
		return fmt.Sprintf("%d %q", row.Line, row.Fields)
	}
	message, _, _ := strings.Cut(bad.Msg, ", want")
	return fmt.Sprintf("%d: %s", bad.Line, message)
}

// scanned returns what Scan makes of a file, in the order of the file. Rows at the beginning of a chunk that are pairs
// of integers are read as such.
func scanned(t testing.TB, path string, chunk, workers int, ordered bool) []string {
	t.Helper()
	r := must.Get(Open(t.Context(), path, Options{Memory: testMemory, chunk: chunk}))(t)
	parts, failed := make([][]string, workers), make([]error, workers)
	var mu sync.Mutex
	var got []string
	var inOrder func(int, *Chunk) error
	if ordered {
		inOrder = func(worker int, _ *Chunk) error {
			got = append(got, parts[worker]...)
			return failed[worker]
		}
	}
	err := r.Scan(t.Context(), workers, func(worker int, c *Chunk) error {
		parts[worker], failed[worker] = parts[worker][:0], nil
		var pairs [2]IntegerPair
		for n := len(pairs); n == len(pairs); {
			n = c.IntegerPairs(pairs[:])
			for _, p := range pairs[:n] {
				fields := [][]byte{strconv.AppendUint(nil, p.Fields[0], 10), strconv.AppendUint(nil, p.Fields[1], 10)}
				parts[worker] = append(parts[worker], rowText(Row{p.Line, fields}, nil))
			}
		}
		for row, err := range c.Rows() {
			if failed[worker] = err; err != nil {
				break
			}
			parts[worker] = append(parts[worker], rowText(row, nil))
		}
		if !ordered {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, parts[worker]...)
			return failed[worker]
		}
		return nil
	}, inOrder)
	if err != nil {
		got = append(got, rowText(Row{}, err))
	}
	must.Do(t, r.Close())
	return got
}

// againstSimple holds every way of reading a file against simpleRows.
func againstSimple(t testing.TB, path string, content []byte, chunk int) {
	t.Helper()
	must.Do(t, os.WriteFile(path, content, 0o600))
	r, err := Open(t.Context(), path, Options{Memory: testMemory, chunk: chunk})
	if err != nil {
		return // the header, of which other tests are
	}
	columns := len(r.Header())
	must.Do(t, r.Close())
	want := simpleRows(r.layout, content, columns)
	for workers := range 3 {
		if got := scanned(t, path, chunk, 1+workers, true); !slices.Equal(got, want) {
			t.Fatalf("%q in chunks of %d, %d workers: got\n%q\nwant\n%q", content, chunk, 1+workers, got, want)
		}
	}
	got := scanned(t, path, chunk, 2, false)
	if len(want) > 0 && !strings.Contains(want[len(want)-1], " [\"") { // an error ends it wherever the other goroutine is
		got, want = got[len(got)-1:], want[len(want)-1:]
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("%q in chunks of %d, in no order: got\n%q\nwant\n%q", content, chunk, got, want)
	}
}

// awkward draws a text of the bytes that matter.
func awkward(r *rand.Rand, separator byte) []byte {
	pieces := []string{
		"a", "b", "c", string(separator), string(separator), string(separator), "\n", "\n", "\n", "\"", "\"\"",
		"\r\n", "\r", "é", " ", " \"", "\n#", "\n# x\"", "\\t", "\\", "\\\\", "x\n" + "y" + string(separator) + "z\n",
		"\nh" + string(separator) + "i\n", "\n12" + string(separator), "345678901234567890\r\n",
		"\n7" + string(separator) + "0\n", "\n007" + string(separator) + "1\n", "\n99999999999999999999" +
			string(separator) + "1\n",
		"\xff", "\x00",
	}
	most := len(pieces)
	if r.IntN(3) > 0 {
		most -= 2 // as most files, all text
	}
	var text []byte
	for range r.IntN(60) {
		text = append(text, pieces[r.IntN(most)]...)
	}
	return text
}

func TestReadersAgree(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(longtest.Of(200, 3000)) {
		r := rand.New(rand.NewPCG(seed, 0))
		path, separator := filepath.Join(dir, "a.csv"), byte(',')
		if seed%3 == 0 {
			path, separator = filepath.Join(dir, "a.tsv"), '\t'
		}
		if seed%7 == 0 {
			path, separator = filepath.Join(dir, "a.edges"), ' '
		}
		content := append([]byte("h"+string(separator)+"i\n"), awkward(r, separator)...)
		if seed%11 == 0 {
			content = append([]byte("g"+string(separator)+"h"+string(separator)+"i\n1"+string(separator)+"2\n"), content...)
		}
		if seed%4 == 0 {
			content = append([]byte("# \"a\n#\n"), content...)
		}
		if seed%5 == 0 {
			content = append([]byte("\ufeff"), content...)
		}
		againstSimple(t, path, content, 1+r.IntN(40))
	}
}

func FuzzReadersAgree(f *testing.F) {
	f.Add([]byte("id,label\n1,\"A\n\"\"B\"\r\n"), false, 3)
	f.Add([]byte("\xef\xbb\xbfid\tlabel\n\\t\t\"a\\\r\n\"\"b\"\n\"c\"d\t\"e\n"), true, 1)
	f.Add([]byte("id,   label\n1,A\n\"id\",label\n\ufeff\"id\",label\niP, A\n"), false, 1)
	f.Fuzz(func(t *testing.T, content []byte, tabs bool, chunk int) {
		name := "f.csv"
		if tabs {
			name = "f.tsv"
		}
		againstSimple(t, filepath.Join(t.TempDir(), name), content, min(max(chunk, 1), 1<<16))
	})
}

// The error of the first chunk is the one that Scan returns, whoever met it first, and nothing after it comes in
// order.
func TestScanError(t *testing.T) {
	content := "id\n" + strings.Repeat("xyz\n", 1000)
	path := write(t, "a.csv", []byte(content))
	for _, ordered := range []bool{true, false} {
		for workers := 1; workers < 5; workers++ {
			r, err := Open(t.Context(), path, Options{Memory: testMemory, chunk: 16})
			must.Do(t, err)
			last := int64(0)
			var inOrder func(int, *Chunk) error
			if ordered {
				inOrder = func(int, *Chunk) error {
					last++
					return nil
				}
			}
			err = r.Scan(t.Context(), workers, func(_ int, c *Chunk) error {
				for row, err := range c.Rows() {
					if err != nil {
						return err
					}
					if row.Line >= 500 {
						return r.Errorf(row.Line, "", "the end")
					}
				}
				return nil
			}, inOrder)
			if want := path + ":500: the end"; err == nil || err.Error() != want {
				t.Errorf("%d workers: got %v, want %s", workers, err, want)
			}
			if ordered && (last < 100 || last > 499) {
				t.Errorf("%d workers: %d chunks came in order, want those before line 500", workers, last)
			}
			must.Do(t, r.Close())
		}
	}
}

func TestScanCancelled(t *testing.T) {
	path := write(t, "a.csv", []byte("id\n"+strings.Repeat("xyz\n", 1000)))
	r := must.Get(Open(t.Context(), path, Options{Memory: testMemory, chunk: 16}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	chunks := 0
	err := r.Scan(ctx, 2, func(int, *Chunk) error { return nil }, func(int, *Chunk) error {
		if chunks++; chunks == 10 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || chunks > 12 {
		t.Errorf("got %v after %d chunks, want it to be cancelled after 10", err, chunks)
	}
	must.Do(t, r.Close())
}
