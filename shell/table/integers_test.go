package table

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestIntegerPairs reads random lines, most of them two integers, and expects the rows of Rows. Those that IntegerPairs
// takes are what strconv makes of the fields.
func TestIntegerPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	odd := []string{"", "-1", "007", "00", "+1", "1e3", " 1", "x", "12345678x", "/", ":", "18446744073709551616", "é", `"7"`, "1_0"}
	for round := range 200 {
		separator, ending := ",", "csv"
		if round%2 == 1 {
			separator, ending = "\t", "tsv"
		}
		text := "src" + separator + "dst\n"
		for range r.IntN(60) {
			fields := []string{
				strconv.FormatUint(r.Uint64()>>r.IntN(64), 10), strconv.FormatUint(r.Uint64()>>(1+r.IntN(63)), 10),
			}
			end := "\n"
			switch r.IntN(60) {
			case 0:
				fields[r.IntN(2)] = odd[r.IntN(len(odd))]
			case 1:
				fields = append(fields, "3")
			case 2:
				fields = fields[:1]
			case 3:
				end = "\r\n"
			case 4:
				end = "\n\n"
			}
			text += strings.Join(fields, separator) + end
		}
		if r.IntN(2) == 0 {
			text = strings.TrimSuffix(text, "\n")
		}
		path := write(t, "edges."+ending, []byte(text))
		read := func(size int) (rows []string) {
			must.Do(t, reopened(t, path).Scan(t.Context(), 1, func(_ int, c *Chunk) error {
				pairs := make([]IntegerPair, size)
				for n := size; n > 0 && n == size; {
					n = c.IntegerPairs(pairs)
					for _, p := range pairs[:n] {
						rows = append(rows, fmt.Sprintf("%d %d %v", p.Line, p.Fields, error(nil)))
					}
				}
				for row, err := range c.Rows() {
					rows = append(rows, fmt.Sprintf("%d %s %v", row.Line, row.Fields, err))
				}
				return nil
			}, nil))
			return rows
		}
		want, got := read(0), read(1+r.IntN(5))
		if !slices.Equal(got, want) {
			t.Fatalf("%q: got rows\n%s\nwant\n%s", text, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// reopened opens a file that ends with the test.
func reopened(t *testing.T, path string) *Reader {
	t.Helper()
	in := must.Get(openFile(context.Background(), path, 1<<30))(t)
	t.Cleanup(func() { must.Do(t, in.Close()) })
	return in
}
