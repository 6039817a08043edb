package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// Columns of a parquet file that are no properties do not stop an import: they are named and left out, unless they are
// what is asked for.
func TestUnusualColumns(t *testing.T) {
	file := must.Get(filepath.Abs("table/testdata/unusual.parquet"))(t)
	content := must.Get(os.ReadFile(file))(t)
	writeFiles(t, map[string]string{"nodes.parquet": string(content), "edges.csv": "src,dst\n1,2\n"})
	got := run(t, "", "import", "g", "--nodes", "nodes.parquet", "--edges", "edges.csv")
	if want := "nodes.parquet: properties are booleans, numbers and texts, so these columns are left out: where, ms, us, ns, tags, deep, prices\n"; got.code != exitDone || !strings.Contains(got.err, want) {
		t.Fatalf("got exit code %d and %s, want %s", got.code, got.err, want)
	}
	got = run(t, "", "shell", "g", "--format", "csv", "-c", "nodes where price < 13 return id, none, price, huge, key order by price")
	want := "id,none,price,huge,key\n3,,-0.05,,00000000-0000-0000-0000-000000000000\n" +
		"1,,12.5,12345678901234567890123456789012345678,00010203-0405-0607-0809-0a0b0c0d0e0f\n"
	if got.out != want {
		t.Errorf("got %s%s, want %s", got.out, got.err, want)
	}
	for _, c := range []struct{ args, want string }{
		{"--nodes nodes.parquet --columns label=where --edges edges.csv", `nodes.parquet: column "where": got a nested or unusual type, want booleans`},
		{"--nodes nodes.parquet --columns place=deep --edges edges.csv", `nodes.parquet: column "deep": got a nested or unusual type`},
		{"--nodes nodes.parquet --edges nodes.parquet --edge-columns src=id,dst=where", `nodes.parquet: column "where": got a nested or unusual type`},
	} {
		if got := run(t, "", append([]string{"import", "h"}, strings.Fields(c.args)...)...); got.code == exitDone || !strings.Contains(got.err, c.want) {
			t.Errorf("%s: got exit code %d and %s, want %s", c.args, got.code, got.err, c.want)
		}
	}
}
