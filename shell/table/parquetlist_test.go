package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// A listRow has lists of all forms: of required and of optional values, in a group as Arrow writes them, or bare.
type listRow struct {
	ID    string    `parquet:"id"`
	Bare  []float32 `parquet:"bare"`
	Group []int64   `parquet:"group,list"`
	Maybe []float64 `parquet:"maybe,optional,list"`
	Words []string  `parquet:"words,list"`
	N     int64     `parquet:"n"`
}

// drawListRows draws rows with lists that are empty, short, or longer than a page.
func drawListRows(r *rand.Rand, count int) (rows []listRow) {
	for i := range count {
		row := listRow{ID: fmt.Sprint("n", i), N: int64(i)}
		length := r.IntN(5)
		if r.IntN(20) == 0 {
			length = r.IntN(1500)
		}
		for range length {
			row.Bare = append(row.Bare, float32(r.IntN(100))/8)
			row.Words = append(row.Words, []string{"a", "", "é \"x\"", "[,]"}[r.IntN(4)])
		}
		for range r.IntN(4) {
			row.Group = append(row.Group, r.Int64())
		}
		if r.IntN(3) > 0 {
			row.Maybe = make([]float64, 1+r.IntN(3))
		}
		rows = append(rows, row)
	}
	return rows
}

// listText is a list as the reader gives it.
func listText[T any](list []T) string {
	if list == nil {
		list = []T{}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	if err := encoder.Encode(list); err != nil {
		panic(err)
	}
	return strings.TrimSpace(out.String())
}

func TestParquetLists(t *testing.T) {
	for seed := range uint64(12) {
		rows := drawListRows(rand.New(rand.NewPCG(seed, 0)), 1+int(seed)*300)
		var out bytes.Buffer
		w := parquet.NewGenericWriter[listRow](&out, parquet.PageBufferSize(1000), parquet.DataPageVersion(1+int(seed)%2), parquet.Compression(&parquet.Snappy))
		for part := range slices.Chunk(rows, 700) {
			must.Get(w.Write(part))(t)
			must.Do(t, w.Flush())
		}
		must.Do(t, w.Close())
		path := write(t, "a.parquet", out.Bytes())
		for _, workers := range []int{1, 3} {
			in, err := openFile(t.Context(), path, 8<<20)
			must.Do(t, err)
			if !in.IsList(1) || !in.IsList(2) || !in.IsList(3) || !in.IsList(4) || in.IsList(0) || in.IsList(5) {
				t.Errorf("seed %d: the columns with lists are not those with lists", seed)
			}
			next := 0
			err = in.Scan(t.Context(), workers, func(int, *Chunk) error { return nil }, func(_ int, c *Chunk) error {
				for row, err := range c.Rows() {
					if err != nil {
						return err
					}
					of := rows[next]
					next++
					maybe := ""
					if of.Maybe != nil {
						maybe = listText(of.Maybe)
					}
					want := []string{of.ID, listText(of.Bare), listText(of.Group), maybe, listText(of.Words), fmt.Sprint(of.N)}
					for i, field := range row.Fields {
						if string(field) != want[i] {
							return fmt.Errorf("row %d, column %s: got %.200s, want %.200s", next, in.Header()[i], field, want[i])
						}
					}
					if row.Line != int64(next) {
						return fmt.Errorf("got the line %d, want %d", row.Line, next)
					}
				}
				return nil
			})
			if err = errors.Join(err, in.Close()); err != nil || next != len(rows) {
				t.Fatalf("seed %d, %d workers: got %d of %d rows and %v", seed, workers, next, len(rows), err)
			}
		}
	}
}

// A list of lists is refused by name.
func TestParquetNestedLists(t *testing.T) {
	type row struct {
		ID   string    `parquet:"id"`
		Deep [][]int64 `parquet:"deep,list"`
	}
	_, err := openFile(t.Context(), write(t, "a.parquet", parquetFile(t, row{ID: "a"})), 1<<20)
	if err == nil || !strings.Contains(err.Error(), `column "deep": got a nested or unusual type`) {
		t.Errorf("got %v, want that the type is nested", err)
	}
}

// FuzzParquetLists reads anything as a parquet file with lists: it has rows, or an error of ours.
func FuzzParquetLists(f *testing.F) {
	for version := 1; version <= 2; version++ {
		for _, codec := range []parquet.WriterOption{parquet.Compression(&parquet.Uncompressed), parquet.Compression(&parquet.Zstd)} {
			var out bytes.Buffer
			must.Do(f, parquet.Write(&out, drawListRows(rand.New(rand.NewPCG(1, 0)), 5), codec, parquet.DataPageVersion(version)))
			f.Add(out.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		err := readWithin(write(t, "a.parquet", content), 1<<20)
		if _, ours := errors.AsType[*Error](err); err != nil && !ours {
			t.Errorf("got %v, want an error of ours", err)
		}
	})
}
