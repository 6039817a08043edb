//go:build unix

package shell

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"golang.org/x/sys/unix"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// A hostileNode is a row of a parquet file of nodes.
type hostileNode struct {
	ID    string `parquet:"id,snappy"`
	Label string `parquet:"label,dict"`
	Year  int64  `parquet:"year"`
}

// Rows of parquet files of long texts.
type (
	longID struct {
		ID string `parquet:"id,zstd"`
	}
	longLabel struct {
		ID    int64  `parquet:"id"`
		Label string `parquet:"label,zstd"`
	}
	longTitle struct {
		ID    int64  `parquet:"id"`
		Title string `parquet:"title,zstd"`
	}
)

// endless is the content of a pipe that goes on until nobody reads it any more.
const endless = "endless"

// hostileMemory is the --memory of imports of hostile files. Of the process no more may be resident, but what the test
// binary takes beyond the program.
const (
	hostileMemory = 128 << 20
	testBinary    = 16 << 20
)

// TestHostileFiles imports files that are made to harm: each is refused with a message that names it, within the memory
// given, leaves nothing, and makes nothing elsewhere.
func TestHostileFiles(t *testing.T) {
	const nodes, edges = "id,label\na,X\nb,Y\nc,X\n", "src,dst\na,b\nb,c\n"
	long := strings.Repeat("x", 1<<20)
	line := strings.Repeat("x", 16<<20)
	bomb := strings.Repeat(gz(t, line), 640) // 10 GiB of one line
	quoted := gz(t, "id,label\n\"") + bomb
	header := func(descr, shape string, size int) string { return npyFile(descr, shape, make([]byte, size)) }
	pickle := "\x80\x04cposix\nsystem\n(S'touch pwned'\ntR."
	parquetNodes := parquetFile(t, hostileNode{"a", "X", 1}, hostileNode{"b", "Y", 2}, hostileNode{"c", "X", 3})
	footer := func(length uint32) string { // the length that the end of the file claims
		b := []byte(parquetNodes)
		binary.LittleEndian.PutUint32(b[len(b)-8:], length)
		return string(b)
	}
	claims := zipped(t, map[string]string{"a": header("<f4", "(3, 2)", 24)})
	claimed := string(binary.LittleEndian.AppendUint32(nil, uint32(len(header("<f4", "(3, 2)", 24)))))
	for _, c := range []struct{ name, file, content, want string }{ // beside nodes.csv and edges.csv, or in their place
		{"one endless line", "nodes.csv", endless, "nodes.csv"},
		{"one endless line of edges", "edges.csv", endless, "edges.csv"},
		{"10 GiB on one line, compressed", "nodes.csv.gz", bomb, "nodes.csv.gz:1: got a record of more than 16 MiB"},
		{"10 GiB in a quote, compressed", "nodes.csv.gz", quoted, "nodes.csv.gz:2: got a record of more than 16 MiB"},
		{"10 GiB on one line of edges", "edges.tsv.gz", bomb, "edges.tsv.gz:1: got a record of more than 16 MiB"},
		{"a million columns", "nodes.csv", "id" + commas(1<<20) + "\na" + strings.Repeat(",", 1<<20) + "\n", "nodes.csv"},
		{"gzip header alone", "nodes.csv.gz", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "nodes.csv.gz"},
		{"gzip of a wrong checksum", "nodes.csv.gz", wrongChecksum(gz(t, nodes)), "checksum"},
		{"a NUL byte", "nodes.csv", "id,label\na,X\x00\n", "nodes.csv:2: got a NUL byte"},
		{"no UTF-8", "nodes.csv", "id,label\na\xff,X\n", "nodes.csv:2: got bytes that are not UTF-8"},
		{"an id of 1 MB", "nodes.csv", "id,label\n" + long + ",X\n", "nodes.csv:2: invalid node id"},
		{"a label of 1 MB", "nodes.csv", "id,label\na," + long + "\n", "nodes.csv:2: "},
		{"a column name of 1 MB", "nodes.csv", "id," + long + "\na,1\n", "has 1048576 bytes, want at most 256"},
		{"a prediction of an id of 1 MB", "p.csv", "id,X,Y\n" + long + ",1,0\n", "p.csv:2: "},
		{"an id that ends the line for terminals", "nodes.csv", "id,label\n\x1b[2J,X\n", "nodes.csv:2: invalid node id"},

		{"npy of more rows than bytes", "f.npy", header("<f4", "(3, 1000000)", 24), "f.npy: holds 24 bytes of values"},
		{"npy of 2^63 values", "f.npy", header("<f8", "(9223372036854775807, 1)", 24), "f.npy: "},
		{"npy whose size wraps to 0", "f.npy", header("<f8", "(4294967296, 536870912)", 0), "f.npy: "},
		{"npy of a header of 4 GiB", "f.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff{", "f.npy: has .npy version 2, want 1"},
		{"npy of objects", "f.npy", header("|O", "(3, 1)", 0) + pickle, "f.npy: holds Python objects"},
		{"a pickle", "f.npy", pickle, "f.npy: is not an .npy array"},
		{"a pickle in an npz", "f.npz", archived(t, "features.pkl", pickle),
			`holds "features.pkl", want arrays of numpy alone`},
		{"a path out of the archive", "f.npz", archived(t, "../../pwned", "x"), "want arrays of numpy alone"},
		{"an array of a path out of the archive", "f.npz", archived(t, "/tmp/../pwned.npy", array(2, 1, 1, 2)), "f.npz: "},
		{"npz that claims 16 EiB", "f.npz", strings.ReplaceAll(claims, claimed, "\xff\xff\xff\xff"), "f.npz: "},
		{"npz of one wide row", "f.npz", zipped(t, map[string]string{"features": header("|u1", "(1, 5000000)", 5000000)}),
			"f.npz: "},
		{"npz of 4 million columns", "f.npz",
			zipped(t, map[string]string{"features": header("|u1", "(3, 4000000)", 3*4000000)}), "has shape [3×4000000], want at most"},
		{"csr of 4 million columns", "f.npz", sparse(t, 3, 4000000, []int64{0, 1, 2, 3}, []int64{0, 1, 2}),
			"has shape [3×4000000], want at most"},
		{"csr of half a million columns", "f.npz", sparse(t, 3, 500000, []int64{0, 1, 2, 3}, []int64{0, 1, 2}),
			"has shape [3×500000], want at most"},
		{"npz of 2^20 empty members", "f.npz", manyMembers(t, 1<<16), "f.npz: "},
		{"csr of 2^62 rows", "f.npz", sparse(t, 1<<62, 4, []int64{0, 1, 2, 3}, []int64{0, 1, 2}), "f.npz: "},
		{"csr that runs backwards", "f.npz", sparse(t, 3, 4, []int64{0, 2, 1, 3}, []int64{0, 1, 2}), "f.npz: "},
		{"csr that leaves a value out", "f.npz", sparse(t, 3, 4, []int64{0, 1, 2, 2}, []int64{0, 1, 2}),
			`f.npz: array "indptr" ends with 2, want 3`},
		{"csr of a negative column", "f.npz", sparse(t, 3, 4, []int64{0, 1, 2, 3}, []int64{0, -1, 2}), "f.npz: "},
		{"csr of a row of 2^40 values", "f.npz", sparse(t, 3, 4, []int64{0, 1 << 40, 1 << 40, 3}, []int64{0, 1, 2}),
			"f.npz: "},
		{"edges.npy of 2^61 rows", "e.npy", header("<i8", "(2305843009213693952, 2)", 0), "e.npy: "},
		{"edges.npy beyond the nodes", "e.npy", npyFile("<i8", "(1, 2)", []int64{0, 1 << 62}), "e.npy"},
		{"predictions of infinity", "p.csv", "id,X,Y\na,inf,0\nb,1,0\nc,1,0\n", "p.csv:2: "},

		{"parquet of a footer of 4 GiB", "n.parquet", footer(1<<32 - 1), "n.parquet: is not a whole parquet file"},
		{"parquet of a footer of another place", "n.parquet", footer(16), "n.parquet: "},
		{"parquet without a beginning", "n.parquet", parquetNodes[40:], "n.parquet:1: got a NUL byte, want text"},
		{"parquet that is empty", "n.parquet", "", "n.parquet: "},
		{"parquet of rows of nothing", "n.parquet", emptyIDs(t, 1<<14), "n.parquet:1: "},
		{"parquet of an id of 24 MiB", "n.parquet", longTexts(t, 1, longID{strings.Repeat("x", 24<<20)}),
			`n.parquet:1: column "id": got a page that takes`},
		{"parquet of a label of 24 MiB", "n.parquet", longTexts(t, 1, longLabel{1, strings.Repeat("x", 24<<20)}),
			`n.parquet:1: column "label": got a page that takes`},
		{"parquet of ids that fill the memory", "n.parquet", longTexts(t, 300, longID{long}), "n.parquet:1: "},
		{"parquet of properties that fill the memory", "n.parquet", longTexts(t, 300, longTitle{1, long}), "n.parquet:1: "},
		{"parquet of 2^13 columns", "n.parquet", wideParquet(t, 1<<13), "n.parquet: "},
		{"parquet of a long id", "n.parquet", parquetFile(t, hostileNode{strings.Repeat("x", 4<<20), "X", 1}),
			"n.parquet:1: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := map[string]string{"nodes.csv": nodes, "edges.csv": edges}
			files[c.file] = c.content
			for name, content := range files {
				must.Do(t, writeHostile(t, filepath.Join(dir, name), content))
			}
			flags := map[string]string{"nodes": "nodes.csv", "edges": "edges.csv", "memory": strconv.Itoa(hostileMemory)}
			flags[map[byte]string{'n': "nodes", 'e': "edges", 'f': "features", 'p': "predictions"}[c.file[0]]] = c.file
			args := []string{"import", "g", "--threads=2"}
			for name, value := range flags {
				args = append(args, "--"+name+"="+value)
			}
			child := exec.Command(os.Args[0], args...)
			child.Dir = dir
			peak := filepath.Join(t.TempDir(), "peak")
			child.Env = append(os.Environ(), programVariable+"="+peak, "TMPDIR="+dir)
			var out bytes.Buffer
			child.Stdout, child.Stderr = &out, &out
			err := child.Run()
			exit, failed := errors.AsType[*exec.ExitError](err)
			if !failed || exit.ExitCode() != exitFailed || !strings.Contains(out.String(), c.want) || out.Len() > 4<<10 {
				t.Errorf("%q: got %v and %.4096s\nwant exit code 1 and %s", args, err, out.String(), c.want)
			}
			resident := readPeak(t, peak)
			if resident > hostileMemory+testBinary {
				t.Errorf("%d MiB were resident, want %d at most", resident>>20, (hostileMemory+testBinary)>>20)
			}
			for _, entry := range must.Get(os.ReadDir(dir))(t) {
				if _, ours := files[entry.Name()]; !ours {
					t.Errorf("left behind: %s", entry.Name())
				}
			}
			t.Logf("durability: memory: %d MiB of %d", resident>>20, hostileMemory>>20)
			survived := 1
			if t.Failed() {
				survived = 0
			}
			t.Logf("durability: malformed inputs: %s: %d of 1", c.name, survived)
		})
	}
}

// readPeak reads the peak that beProgram wrote, in bytes; zero where it could not.
func readPeak(t *testing.T, path string) int64 {
	t.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	must.Do(t, err)
	return must.Get(strconv.ParseInt(string(text), 10, 64))(t) << 10
}

// commas are so many columns of a header, each with a name.
func commas(columns int) string {
	var b strings.Builder
	for i := range columns {
		fmt.Fprintf(&b, ",c%d", i)
	}
	return b.String()
}

func wrongChecksum(compressed string) string {
	b := []byte(compressed)
	b[len(b)-8] ^= 1
	return string(b)
}

// longTexts is a parquet file of so many rows, all alike.
func longTexts[T any](t *testing.T, rows int, row T) string {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[T](&out, parquet.PageBufferSize(1), parquet.DataPageStatistics(false),
		parquet.SkipPageBounds("id"), parquet.SkipPageBounds("label"), parquet.SkipPageBounds("title"))
	for range rows {
		must.Get(w.Write([]T{row}))(t)
	}
	must.Do(t, w.Close())
	return out.String()
}

// wideParquet is a parquet file of one row of so many columns.
func wideParquet(t *testing.T, columns int) string {
	t.Helper()
	fields, row := parquet.Group{"id": parquet.Int(64)}, parquet.Row{}
	for i := range columns {
		fields[fmt.Sprintf("c%05d", i)] = parquet.Int(64)
		row = append(row, parquet.Int64Value(1).Level(0, 0, i))
	}
	var out bytes.Buffer
	w := parquet.NewWriter(&out, parquet.NewSchema("nodes", fields), parquet.PageBufferSize(1))
	must.Get(w.WriteRows([]parquet.Row{append(row, parquet.Int64Value(1).Level(0, 0, columns))}))(t)
	must.Do(t, w.Close())
	return out.String()
}

func emptyIDs(t *testing.T, rows int) string {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[hostileNode](&out)
	for range rows / 1024 {
		must.Get(w.Write(make([]hostileNode, 1024)))(t)
	}
	must.Do(t, w.Close())
	return out.String()
}

// archived returns a zip of one member of any name.
func archived(t *testing.T, name, content string) string {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create(name)
	if err == nil {
		_, err = w.Write([]byte(content))
	}
	must.Do(t, errors.Join(err, z.Close()))
	return out.String()
}

// manyMembers returns a zip of so many empty arrays.
func manyMembers(t *testing.T, members int) string {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := range members {
		must.Get(z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%d.npy", i)}))(t)
	}
	must.Do(t, z.Close())
	return out.String()
}

// writeHostile writes a file, or makes a pipe into which text without an end of line flows for as long as it is read.
func writeHostile(t *testing.T, path, content string) error {
	if content != endless {
		return os.WriteFile(path, []byte(content), 0o600)
	}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pipe, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return // the test is over
		}
		defer pipe.Close()
		block := []byte(strings.Repeat("x", 1<<20))
		for err == nil {
			_, err = pipe.Write(block)
		}
	}()
	t.Cleanup(func() {
		// Where nobody has read from the pipe the goroutine waits for that.
		// It ends once nobody reads any more.
		if reader, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
			if err := reader.Close(); err != nil {
				t.Error(err)
			}
		}
		<-ended
	})
	return nil
}
