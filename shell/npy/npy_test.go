package npy

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// arrayFile returns the bytes of an .npy file.
func arrayFile(descr string, fortran bool, shape string, values ...any) []byte {
	order := map[bool]string{true: "True", false: "False"}[fortran]
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape)
	out := append([]byte(magic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(text)))
	out = append(out, text...)
	var endian binary.AppendByteOrder = binary.LittleEndian
	if strings.HasPrefix(descr, ">") {
		endian = binary.BigEndian
	}
	for _, v := range values {
		switch v := v.(type) {
		case string:
			out = append(out, v...)
		case float32:
			out = endian.AppendUint32(out, math.Float32bits(v))
		case float64:
			out = endian.AppendUint64(out, math.Float64bits(v))
		case int8:
			out = append(out, byte(v))
		case uint8:
			out = append(out, v)
		case int16:
			out = endian.AppendUint16(out, uint16(v))
		case uint16:
			out = endian.AppendUint16(out, v)
		case int32:
			out = endian.AppendUint32(out, uint32(v))
		case uint32:
			out = endian.AppendUint32(out, v)
		case int64:
			out = endian.AppendUint64(out, uint64(v))
		case uint64:
			out = endian.AppendUint64(out, v)
		default:
			panic(fmt.Sprintf("no such value: %T", v))
		}
	}
	return out
}

type member struct {
	name    string
	content []byte
}

// archive returns the bytes of an .npz file.
func archive(t testing.TB, method uint16, members ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, m := range members {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m.name + ".npy", Method: method})
		if err == nil {
			_, err = w.Write(m.content)
		}
		must.Do(t, err)
	}
	must.Do(t, z.Close())
	return out.Bytes()
}

func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, content, 0o600))
	return path
}

// rowsOf yields the rows of a matrix, and at last an error, if any.
func rowsOf(r *Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for {
			row, err := r.Next()
			if errors.Is(err, io.EOF) || !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// dense reads a file as dense rows.
func dense(path, name string) (rows [][]float64, err error) {
	r, err := Open(context.Background(), path, name)
	if err != nil {
		return nil, err
	}
	for row, err := range rowsOf(r) {
		if err != nil {
			return rows, err
		}
		rows = append(rows, slices.Clone(row.Values))
	}
	return rows, r.Close()
}

func TestDenseTypesAndOrders(t *testing.T) {
	for _, c := range []struct {
		content []byte
		want    string
	}{
		{arrayFile("<f4", false, "(2, 3)", float32(1), float32(2), float32(3), float32(4), float32(5), float32(-6.5)),
			"[[1 2 3] [4 5 -6.5]]"},
		{arrayFile(">f4", false, "(1, 2)", float32(1), float32(2)), "[[1 2]]"},
		{arrayFile("<f8", true, "(2, 3)", 1.0, 4.0, 2.0, 5.0, 3.0, 6.0), "[[1 2 3] [4 5 6]]"},
		{arrayFile(">f8", true, "(1, 2)", 1.0, 4.0), "[[1 4]]"},
		{arrayFile("|b1", false, "(2,)", uint8(1), uint8(0)), "[[1] [0]]"},
		{arrayFile("|i1", false, "(1,)", int8(-3)), "[[-3]]"},
		{arrayFile("|u1", false, "(1,)", uint8(253)), "[[253]]"},
		{arrayFile("<i2", false, "(1,)", int16(-3)), "[[-3]]"},
		{arrayFile(">u2", false, "(1,)", uint16(65535)), "[[65535]]"},
		{arrayFile(">i4", false, "(1,)", int32(-3)), "[[-3]]"},
		{arrayFile("<u4", false, "(1,)", uint32(math.MaxUint32)), "[[4.294967295e+09]]"},
		{arrayFile("<i8", false, "(1,)", int64(-3)), "[[-3]]"},
		{arrayFile("<u8", false, "(1,)", uint64(math.MaxUint64)), "[[1.8446744073709552e+19]]"},
		{arrayFile("<f2", false, "(2,)", uint16(0x3c00), uint16(0xc000)), "[[1] [-2]]"},
		{arrayFile("<f4", false, "(0, 5)"), "[]"},
		{arrayFile("<f4", false, "(2, 0)"), "[[] []]"},
	} {
		for name, content := range map[string][]byte{
			"a.npy":          c.content,
			"stored.npz":     archive(t, zip.Store, member{"arr_0", c.content}),
			"wantedname.NPZ": archive(t, zip.Store, member{"other", c.content[:20]}, member{"predictions", c.content}),
		} {
			if name != "a.npy" && strings.Contains(string(c.content), "True") {
				continue // archives have C order
			}
			rows, err := dense(write(t, name, content), "predictions")
			if got := fmt.Sprint(rows); err != nil || got != c.want {
				t.Errorf("%s of %.60q: got %v, %v, want %s", name, c.content[10:], got, err, c.want)
			}
		}
	}
}

// Blocks of rows in Fortran order meet at the right places.
func TestFortranBlocks(t *testing.T) {
	const rows, cols = 20, blockBytes / 8 / 8 // eight rows to a block
	values := make([]byte, 4*rows*cols)
	for i := range rows {
		for j := range cols {
			binary.LittleEndian.PutUint32(values[4*(j*rows+i):], uint32(i*cols+j))
		}
	}
	r := must.Get(Open(t.Context(), write(t, "f.npy",
		arrayFile("<i4", true, fmt.Sprintf("(%d, %d)", rows, cols), string(values))), ""))(t)
	seen := 0
	for row, err := range rowsOf(r) {
		must.Do(t, err)
		for j, v := range row.Values {
			if want := float64(seen*cols + j); v != want {
				t.Fatalf("row %d column %d: got %v, want %v", seen, j, v, want)
			}
		}
		seen++
	}
	if seen != rows {
		t.Errorf("got %d rows, want %d", seen, rows)
	}
	must.Do(t, r.Close())
}

// csrMembers is the matrix [[0 5 0] [0 0 0] [7 0 6]], its last row out of order.
func csrMembers() []member {
	return []member{
		{"indices", arrayFile("<i4", false, "(3,)", int32(1), int32(2), int32(0))},
		{"indptr", arrayFile("<i8", false, "(4,)", int64(0), int64(1), int64(1), int64(3))},
		{"format", arrayFile("|S3", false, "()", "csr")},
		{"shape", arrayFile("<i8", false, "(2,)", int64(3), int64(3))},
		{"data", arrayFile("<f4", false, "(3,)", float32(5), float32(6), float32(7))},
	}
}

// Columns of a row come in any order, and values of one column add up.
func TestCSR(t *testing.T) {
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		path := write(t, "x.npz", archive(t, method, csrMembers()...))
		rows, err := dense(path, "features")
		if got, want := fmt.Sprint(rows), "[[0 5 0] [0 0 0] [7 0 6]]"; err != nil || got != want {
			t.Errorf("method %d: got %v, %v, want %v", method, got, err, want)
		}
	}
}

func TestCSRErrors(t *testing.T) {
	replace := func(name string, content []byte) []member {
		members := csrMembers()
		i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
		if content == nil {
			return slices.Delete(members, i, i+1)
		}
		members[i].content = content
		return members
	}
	for _, c := range []struct {
		members []member
		want    string
	}{
		{replace("format", arrayFile("<U3", false, "()", "c\x00\x00\x00s\x00\x00\x00c\x00\x00\x00")),
			`is a sparse matrix in another format than csr: save m.tocsr()`},
		{replace("indices", nil),
			`has indptr but not "indices", want the data, indices, indptr and shape of a scipy CSR matrix`},
		{replace("shape", arrayFile("<i8", false, "(2,)", int64(4), int64(3))),
			`array "indptr" holds 4 values, want 5, one more than rows`},
		{replace("shape", arrayFile("<i8", false, "(2,)", int64(3), int64(-1))),
			`array "shape" has shape [3×-1], want at most`},
		{replace("shape", arrayFile("<i8", false, "(2,)", int64(3), int64(2))),
			`array "indices" row 2 holds column 2, want 0 to 1`},
		{replace("data", arrayFile("<f4", false, "(2,)", float32(5), float32(6))),
			`array "indices" holds 3 values, want the 2 of data`},
		{replace("data", arrayFile("<f4", false, "(300000000000,)", float32(5), float32(6))),
			`array "data" holds 8 bytes of values, want 1200000000000 for its shape [300000000000] of <f4`},
		{replace("data", arrayFile("|O", false, "(3,)", "pickle")),
			`array "data" holds Python objects (|O), which are not read because that means running code, want numbers`},
		{replace("indptr", arrayFile("<i8", false, "(4,)", int64(0), int64(2), int64(1), int64(3))),
			`array "indptr" row 1 says 1, want a number from 2 to 3`},
		{replace("indptr", arrayFile("<i8", false, "(4,)", int64(1), int64(2), int64(2), int64(3))),
			`array "indptr" begins with 1, want 0`},
		{replace("indptr", arrayFile("<i8", false, "(4,)", int64(0), int64(1), int64(1), int64(2))),
			`array "indptr" ends with 2, want 3, the length of data`},
		{replace("indptr", arrayFile("<i8", false, "(4,)", int64(0), int64(1), int64(1), int64(1)<<60)),
			`array "indptr" row 2 says 1152921504606846976, want a number from 1 to 3`},
		{replace("indices", arrayFile("<i4", false, "(3,)", int32(-1), int32(2), int32(0))),
			`array "indices" row 0 holds column -1, want 0 to 2`},
		{replace("indices", arrayFile("<f4", false, "(3,)", float32(1), float32(2), float32(0))),
			`array "indices" holds no integers, want integers`},
	} {
		path := write(t, "x.npz", archive(t, zip.Deflate, c.members...))
		rows, err := dense(path, "features")
		if err == nil || !strings.Contains(err.Error(), path+": "+c.want) {
			t.Errorf("got %v, %v\nwant an error with %s", rows, err, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	good := arrayFile("<f4", false, "(2, 2)", float32(1), float32(2), float32(3), float32(4))
	text := func(header string) []byte {
		return append(binary.LittleEndian.AppendUint16(append([]byte(magic), 1, 0), uint16(len(header))), header...)
	}
	zipped := archive(t, zip.Store, member{"a", good})
	damaged := bytes.Clone(zipped)
	damaged[bytes.Index(zipped, good)+len(good)-1] ^= 1
	bomb := arrayFile("<f4", false, "(1, 4000000)", strings.Repeat("\x00", 16000000))
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"a.npy", nil, "ends early, inside of its header"},
		{"a.npy", good[:40], "ends early, inside of its header"},
		{"a.npy", good[:len(good)-1], "holds 15 bytes of values, want 16 for its shape [2×2] of <f4"},
		{"a.npy", append(bytes.Clone(good), 0), "holds 17 bytes of values, want 16"},
		{"a.npy", []byte("id,label\n1,2\n3,4\n"), `is not an .npy array: it does not begin with \x93NUMPY`},
		{"a.npy", append([]byte(magic), 9, 0, 0, 0, 0, 0), "has .npy version 9, want 1"},
		{"a.npy", arrayFile("|O", false, "(2, 2)", "pickle"), "holds Python objects (|O)"},
		{"a.npy", arrayFile("<c8", false, "(2, 2)"), `holds values of type "<c8", want float16, float32`},
		{"a.npy", text("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }"), "an array of plain numbers"},
		{"a.npy", text("{'descr': '<f4', 'fortran_order': False, }"), "without descr, fortran_order and shape"},
		{"a.npy", text("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"), "want a size"},
		{"a.npy", text("{'descr': '<f4'"), "without descr, fortran_order and shape"},
		{"a.npy", arrayFile("<f4", false, "(2, 2, 2)"), "has shape [2×2×2], want a matrix of two dimensions"},
		{"a.npy", arrayFile("<f4", false, "()", float32(1)), "has shape [], want a matrix of two dimensions"},
		{"a.npy", arrayFile("<f8", false, "(4294967296, 4294967296)"), "has shape [4294967296×4294967296], want at most " +
			"1152921504606846975 values"},
		{"a.npy", arrayFile("<f8", false, "(4294967295, 4194304)"), "holds 0 bytes of values, want 144115188042301440"},
		{"a.npz", good, "is not a whole .npz file"},
		{"a.npz", zipped[:len(zipped)-30], "is not a whole .npz file"},
		{"a.npz", damaged, "checksum"},
		{"a.npz", archive(t, zip.Store, member{"a", good}, member{"b", good}),
			`holds the arrays [a b], want one, or one called "features", or a scipy CSR matrix`},
		{"a.npz", archive(t, zip.Store, member{"a", good}, member{"a", good}), `holds the array "a" twice`},
		{"a.npz", archive(t, zip.Store), `holds the arrays [], want one`},
		{"a.npz", archive(t, zip.Deflate,
			member{"a", arrayFile("<f4", true, "(2, 2)", float32(1), float32(2), float32(3), float32(4))}),
			"is in Fortran order within an archive"},
		{"a.npz", inflated(t, bomb), "compressed bytes cannot give"},
	} {
		path := write(t, c.name, c.content)
		rows, err := dense(path, "features")
		if err == nil || !strings.Contains(err.Error(), path+": ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %.40v, %v\nwant an error with %s", c.name, rows, err, c.want)
		}
	}
}

// inflated returns an .npz whose directory claims ten times the bytes that its member has.
func inflated(t *testing.T, content []byte) []byte {
	z := archive(t, zip.Deflate, member{"a", content})
	size := binary.LittleEndian.AppendUint32(nil, uint32(len(content)))
	claim := binary.LittleEndian.AppendUint32(nil, uint32(10*len(content)))
	return bytes.ReplaceAll(z, size, claim)
}

func TestWriterRoundTrip(t *testing.T) {
	write32 := func(out io.Writer, rows, cols int, values ...[]float32) error {
		return Write(out, rows, cols, func(yield func([]float32, error) bool) {
			for _, row := range values {
				if !yield(row, nil) {
					return
				}
			}
		})
	}
	var out bytes.Buffer
	must.Do(t, write32(&out, 2, 3, []float32{1, 2, 3}, []float32{4, float32(math.NaN()), 6}))
	if begin := out.Len() - 2*3*4; begin%64 != 0 {
		t.Errorf("the values begin at byte %d, want a multiple of 64", begin)
	}
	rows, err := dense(write(t, "w.npy", out.Bytes()), "")
	if got, want := fmt.Sprint(rows), "[[1 2 3] [4 NaN 6]]"; err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for rows := range 3 {
		if err := write32(io.Discard, rows, 1, []float32{1}); (err == nil) != (rows == 1) {
			t.Errorf("one row of %d: got error %v", rows, err)
		}
	}
	if err := write32(io.Discard, 1, 2, []float32{1}); err == nil {
		t.Error("a row of one value of two: got no error")
	}
}

// No header makes the reader panic, or read what is not there. Files are short: go test tries each byte of those that
// reach new code for being needed, a minute a file, and counts no execs meanwhile.
func FuzzOpen(f *testing.F) {
	f.Add(arrayFile("<f4", false, "(2, 2)", float32(1), float32(2), float32(3), float32(4)), false)
	f.Add(arrayFile(">i8", true, "(2, 2)", int64(1), int64(2), int64(3), int64(4)), false)
	f.Add(arrayFile("<f8", false, "(4294967295, 4194304)"), false)
	f.Add(archive(f, zip.Deflate, csrMembers()...), true)
	f.Add(archive(f, zip.Store, member{"a", arrayFile("<f4", true, "(1, 2)", float32(1), float32(2))}), true)
	f.Fuzz(func(t *testing.T, content []byte, zipped bool) {
		if len(content) > 4<<10 {
			t.Skip("longer than what the headers of a few arrays take")
		}
		name := "f.npy"
		if zipped {
			name = "f.npz"
		}
		r, err := Open(t.Context(), write(t, name, content), "features")
		if err != nil {
			return
		}
		var values, rows int64
		for row, err := range rowsOf(r) {
			if rows++; err != nil || rows > 1000 {
				break
			}
			if values += int64(len(row.Values)); values > 1<<24 {
				break
			}
		}
		// which has zeros
		if limit := int64(len(content)+1) * maxInflation; values > limit && !bytes.Contains(content, []byte("indptr")) {
			t.Errorf("got %d values of a file of %d bytes", values, len(content))
		}
		must.Do(t, r.Close())
	})
}
