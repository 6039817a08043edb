package table

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A column of 16-bit floats is refused as such, and not as text with a NUL byte.
func TestFloat16IsNamed(t *testing.T) {
	type row struct {
		ID   string  `parquet:"id"`
		Half [2]byte `parquet:"half"`
	}
	var file bytes.Buffer
	if err := parquet.Write(&file, []row{{"a", [2]byte{0, 0x3c}}}); err != nil {
		t.Fatal(err)
	}
	// The footer is written again, with the type that this writer cannot write.
	content := file.Bytes()
	end := len(content) - 8
	begin := end - int(binary.LittleEndian.Uint32(content[end:]))
	var meta format.FileMetaData
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), content[begin:end], &meta); err != nil {
		t.Fatal(err)
	}
	for i := range meta.Schema {
		if meta.Schema[i].Name == "half" {
			meta.Schema[i].LogicalType.Value = new(format.Float16Type)
		}
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &meta)
	if err != nil {
		t.Fatal(err)
	}
	content = append(content[:begin:begin], footer...)
	content = append(binary.LittleEndian.AppendUint32(content, uint32(len(footer))), "PAR1"...)
	path := filepath.Join(t.TempDir(), "nodes.parquet")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := Open(t.Context(), path, 64<<20)
	if err == nil {
		t.Fatal(in.Close())
	}
	if want := `column "half": got 16-bit floats, want floats of 32 or 64 bits`; !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
