package table

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// How each text is read is found from its content, and told.
func TestLayouts(t *testing.T) {
	again := func(header string) string {
		return "got the header again (" + header +
			"), want a row. If files were put together here, take this line out, or name a directory of the " +
			"files. If the first line is a row, add --no-header"
	}
	noHeader := Form{NoHeader: true}
	for _, c := range []struct {
		name, content string
		form          Form
		want, told    string
	}{
		{"a.csv", "id,label\n1,A\n", Form{}, `["id" "label"] 2["1" "A"]`, ""},
		{"a.txt", "id,label\n1,A\n", Form{}, `["id" "label"] 2["1" "A"]`, ""},
		{"part-00000", "id\tlabel\n1\tA, B\n", Form{}, `["id" "label"] 2["1" "A, B"]`, "tabs"},
		{"a.csv", "id\tlabel\n1\tA\n", Form{}, `["id" "label"] 2["1" "A"]`, "tabs"},
		{"a.csv", "id;label\n1;0,5\n", Form{}, `["id" "label"] 2["1" "0,5"]`, "semicolons"},
		{"a.csv", "\"id\";\"label\"\n1;\"A;B\"\n", Form{}, `["id" "label"] 2["1" "A;B"]`, "semicolons"},
		{"a.psv", "id|label\n1|A b\n", Form{}, `["id" "label"] 2["1" "A b"]`, "bars"},
		{"a.csv", "id, \"label\"\n1,  \"A, \"\"B\"\"\"\n", Form{}, `["id" "label"] 2["1" "A, \"B\""]`,
			"commas, blanks around values"},
		// blanks around values, as the first line has them; those in quotes stay
		{"a.csv", "src, dst\n0, 1\n 2 ,\t\" 3\"\n", Form{}, `["src" "dst"] 2["0" "1"] 3["2" "\" 3\""]`,
			"commas, blanks around values"},
		{"a.csv", "src, dst\n\" 0\", 1 \r\n", Form{}, `["src" "dst"] 2[" 0" "1"]`, "commas, blanks around values"},
		{"a.txt", "0 |A b\n1 | C\n", noHeader, `["1" "2"] 1["0" "A b"] 2["1" "C"]`, "bars, blanks around values, no header"},
		{"a.tsv", "id\t label\n1\t b \n2\t \"\tc\"\n", Form{}, `["id" "label"] 2["1" "b"] 3["2" "\tc"]`,
			"tabs, blanks around values"},
		{"a.csv", "id,label\n1, A\n", Form{}, `["id" "label"] 2["1" " A"]`, ""},
		// one column, whatever its name is
		{"a.csv", "id\nA b\nc\n", Form{}, `["id"] 2["A b"] 3["c"]`, ""},
		{"a.csv", "paper id\n1\n2\n", Form{}, `["paper id"] 2["1"] 3["2"]`, ""},
		{"a.tsv", "id\n1;2\n", Form{}, `["id"] 2["1;2"]`, ""},
		// runs of blanks
		{"a.edges", "src dst\n1   2\n \t3\t 4 \r\n\n  \n5 6", Form{}, `["src" "dst"] 2["1" "2"] 3["3" "4"] 6["5" "6"]`,
			"blanks"},
		{"a.txt", "id label\n1 \"A b\"\n2 5\"\n3 \"\"\n", Form{}, `["id" "label"] 2["1" "A b"] 3["2" "5\""] 4["3" ""]`,
			"blanks"},
		// comments
		{"snap.txt", "# Directed graph: a.txt\n# Nodes: 2 Edges: 1\n# FromNodeId\tToNodeId\n0\t1\n#a\t1\n", Form{},
			`["FromNodeId" "ToNodeId"] 4["0" "1"]`,
			"tabs, header in a comment, comments # (2 lines)"},
		{"snap.txt", "# FromNodeId\tToNodeId\n0\t1\n", noHeader, `["1" "2"] 2["0" "1"]`,
			"tabs, no header, comments # (1 line)"},
		{"out.konect", "% sym unweighted\n% 1 2\n1 2\n%3 4\n", noHeader, `["1" "2"] 3["1" "2"]`,
			"blanks, no header, comments % (2 lines)"},
		{"a.csv", "# made, today\nid,label\n1,A\n#2,B\n", Form{}, `["id" "label"] 3["1" "A"]`, "commas, comments # (1 line)"},
		{"a.csv", "\ufeff# a \"quote\n\nid,label\n1,\"A\n#B\"\n# \",C\n", Form{}, `["id" "label"] 4["1" "A\n#B"]`,
			"commas, comments # (1 line)"},
		// Excel's first line, a comma in a header of semicolons, a tab in a run of blanks
		{"a.csv", "\"sep=;\"\r\nid;label\r\n1;A, B\r\n", Form{}, `["id" "label"] 3["1" "A, B"]`, "semicolons"},
		{"a.csv", "sep=;\r\nid;label\r\n1;A, B\r\n", Form{}, `["id" "label"] 3["1" "A, B"]`, "semicolons"},
		{"a.txt", "1 2 \t1 100\n2 3 \t1 200\n", noHeader, `["1" "2" "3" "4"] 1["1" "2" "1" "100"] 2["2" "3" "1" "200"]`,
			"blanks, no header"},
		{"a.txt", "id\tlabel \n1\tA b\n", Form{}, `["id" "label "] 2["1" "A b"]`, "tabs"},
		{"a.csv", "1;A;5, EUR\n2;B;6\n", noHeader, `["1" "2" "3"] 1["1" "A" "5, EUR"] 2["2" "B" "6"]`,
			"semicolons, no header"},
		// of several separators that cut the first lines evenly, the one behind the first field, or a tab
		{"out.konect", "% sym\n0 1\t1\t1082008561\n1 2\t1\t1082008562\n", noHeader,
			`["1" "2" "3" "4"] 2["0" "1" "1" "1082008561"] 3["1" "2" "1" "1082008562"]`,
			"blanks, no header, comments % (1 line)"},
		{"a.txt", "0\t1\t0.5 2\n1\t2\t1 1\n", noHeader, `["1" "2" "3"] 1["0" "1" "0.5 2"] 2["1" "2" "1 1"]`,
			"tabs, no header"},
		{"a.txt", "0 1 {'w': 2, 'kind': 'a'}\n1 2 {'w': 3, 'kind': 'b'}\n", noHeader, `["1" "2" "3" "4" "5" "6"] ` +
			`1["0" "1" "{'w':" "2," "'kind':" "'a'}"] 2["1" "2" "{'w':" "3," "'kind':" "'b'}"]`, "blanks, no header"},
		{"a.txt", "0\t1\t{'w': 2, 'kind': 'a'}\n", noHeader, `["1" "2" "3"] 1["0" "1" "{'w': 2, 'kind': 'a'}"]`,
			"tabs, no header"},
		{"a.txt", "0;a,b 0;AI\n1;a,b 1;DB\n", noHeader, `["1" "2" "3"] 1["0" "a,b 0" "AI"] 2["1" "a,b 1" "DB"]`,
			"semicolons, no header"},
		{"a.txt", "0|AI|a, b\n1|DB|a, b\n", noHeader, `["1" "2" "3"] 1["0" "AI" "a, b"] 2["1" "DB" "a, b"]`,
			"bars, no header"},
		{"a.csv", "0;AI;0,5\n1;DB;0,7\n", noHeader, `["1" "2" "3"] 1["0" "AI" "0,5"] 2["1" "DB" "0,7"]`,
			"semicolons, no header"},
		{"a.txt", "0,AI,x;y;z;w\n1,DB,x;y;z;w\n", noHeader, `["1" "2" "3"] 1["0" "AI" "x;y;z;w"] 2["1" "DB" "x;y;z;w"]`,
			"commas, no header"},
		{"a.csv", "0|1,AI\n1|2,DB\n", noHeader, `["1" "2"] 1["0|1" "AI"] 2["1|2" "DB"]`, "commas, no header"},
		{"a.txt", "Smith, J\tAI\nDoe, A\tDB\n", noHeader, `["1" "2"] 1["Smith, J" "AI"] 2["Doe, A" "DB"]`, "tabs, no header"},
		{"a.txt", "a b|A,x\nc d|B\n", noHeader, `["1" "2"] 1["a b" "A,x"] 2["c d" "B"]`, "bars, no header"},
		// Hive, and names that say something else
		{"000000_0", "0\x01A, b\n1\x01B\n", noHeader, `["1" "2"] 1["0" "A, b"] 2["1" "B"]`,
			"the character 1, as Hive's, no header"},
		{"a.parquet", "id,label\n1,A\n", Form{}, `["id" "label"] 2["1" "A"]`, "commas"},
		// hashtags
		{"a.csv", "#a,#b\nx,#a\n#b,x\n", noHeader, `["1" "2"] 1["#a" "#b"] 2["x" "#a"] 3["#b" "x"]`, "commas, no header"},
		{"a.csv", "#a,A\nx,B\n#c,A\n#d,A\n", noHeader, `["1" "2"] 1["#a" "A"] 2["x" "B"] 3["#c" "A"] 4["#d" "A"]`,
			"commas, no header"},
		// comments between and behind rows, as many fields as they have
		{"a.tsv", "# x\n1\ta\n# 7\tb\n2\tb\n3\ta\n", noHeader, `["1" "2"] 2["1" "a"] 4["2" "b"] 5["3" "a"]`,
			"tabs, no header, comments # (1 line)"},
		{"a.txt", "# x\n1 a\n2 b\n# end of file\n", noHeader, `["1" "2"] 2["1" "a"] 3["2" "b"]`,
			"blanks, no header, comments # (1 line)"},
		{"a.txt", "#Paper Class\n1 a\n2 b\n", noHeader, `["1" "2"] 2["1" "a"] 3["2" "b"]`,
			"blanks, no header, comments # (1 line)"},
		{"a.txt", "%sym unweighted\n1 2\n2 3\n", noHeader, `["1" "2"] 2["1" "2"] 3["2" "3"]`,
			"blanks, no header, comments % (1 line)"},
		{"a.csv", "# colours\nid,colour\n1,#f00\n2,#0f0\n", Form{}, `["id" "colour"] 3["1" "#f00"] 4["2" "#0f0"]`,
			"commas, comments # (1 line)"},
		{"a.tsv", "#a\tA\n#b\tB\n", noHeader, `["1" "2"] 1["#a" "A"] 2["#b" "B"]`, "tabs, no header"},
		{"a.csv", "# made\nid,label\n1,A\n# half\n", Form{},
			`["id" "label"] 3["1" "A"]`, "commas, comments # (1 line)"},
		{"a.csv", "id,label\n#1,A\n", Form{}, `["id" "label"] 2["#1" "A"]`, ""},
		// no header
		{"a.csv", "1,2\n2,3\n", noHeader, `["1" "2"] 1["1" "2"] 2["2" "3"]`, "commas, no header"},
		{"a.csv", "\"a\",\"x \"\"y\"\"\"\nb,z\n", noHeader, `["1" "2"] 1["a" "x \"y\""] 2["b" "z"]`, "commas, no header"},
		{"a.tsv", "\"a\"\t\\\\\nb\tz\n", noHeader, `["1" "2"] 1["a" "\\\\"] 2["b" "z"]`, "tabs, no header"},
		// what the form says of tables that have no such separator
		{"a.txt", "1::2::5\n", Form{Delimiter: ':', NoHeader: true}, `["1" "2" "3" "4" "5"] 1["1" "" "2" "" "5"]`,
			`":", no header`},
		{"a.csv", "id,label\n1,A\n", Form{Delimiter: ' '}, `["id" "label"] 2["1" "A"]`, ""},
		{"a.csv", "id,a b\n1 2,c\n", Form{Delimiter: ' '}, `["id,a" "b"] 2["1" "2,c"]`, "blanks"},
		// R and pandas
		{"r.txt", "\"id\" \"label\"\n\"1\" 35 \"A b\"\n\"2\" 40 \"C\"\n", Form{},
			`["" "id" "label"] 2["1" "35" "A b"] 3["2" "40" "C"]`, "blanks"},
		{"r.tsv", "\"id\"\t\"label\"\n\"1\"\t35\t\"A\"\n\"2\"\t40\t\"B\"\n", Form{},
			`["" "id" "label"] 2["1" "35" "A"] 3["2" "40" "B"]`, ""},
		{"d.txt", "0;0,1;0,9\n1;0,2;0,8\n2;0,3;0,7\n", Form{NoHeader: true},
			`["1" "2" "3"] 1["0" "0,1" "0,9"] 2["1" "0,2" "0,8"] 3["2" "0,3" "0,7"]`, "semicolons, no header"},
		{"r.csv", "\"id\",\"label\"\n\"1\",35,\"A\"\n\"2\",40,\"B\"\n", Form{},
			`["" "id" "label"] 2["1" "35" "A"] 3["2" "40" "B"]`, ""},
		{"r.csv", "\"id\";\"label\"\n\"1\";35;\"A\"\n\"2\";40;\"B\"\n", Form{},
			`["" "id" "label"] 2["1" "35" "A"] 3["2" "40" "B"]`, "semicolons"},
		{"p.csv", ",id,label\n0,35,A\n", Form{}, `["" "id" "label"] 2["0" "35" "A"]`, ""},
		{"p.tsv", "\tlabel\n35\tA\n", Form{}, `["" "label"] 2["35" "A"]`, ""},
		// quotes in tsv: what goes on behind a closing quote, or has none, is text with quotes
		{"q.tsv", "\"id\"\tlabel\n1\t\"Art, \"\"Music\"\"\"\n2\t\"a\tb\nc\"\r\n3\t\"A\" and " +
			"\"B\"\n4\t\"\"\n5\t\"open\n6\tB\n", Form{},
			`["id" "label"] 2["1" "Art, \"Music\""] 3["2" "a\tb\nc"] 5["3" "\"A\" and \"B\""] 6["4" ""] 7["5" "\"open"] 8["6" "B"]`, ""},
		// no escapes
		{"a.tsv", "id\\d\tlabel\n1\tC:\\new\n2\t$\\nu$\n\\\t\\x\\\n\"3\\\"\t\\\"\"\n", Form{},
			`["id\\d" "label"] 2["1" "C:\\new"] 3["2" "$\\nu$"] 4["\\" "\\x\\"] 5["3\\" "\\\"\""]`, ""},
		// the header again, of files put together; not a row that has one name of it
		{"a.csv", "id,label\nid,A\nid,label\n", Form{}, `["id" "label"] 2["id" "A"]:3: ` + again("id,label"), ""},
		{"a.csv", "\ufeffid,label\r\n1,A\r\n\ufeff\"id\",\"label\"\r\n", Form{},
			`["id" "label"] 2["1" "A"]:3: ` + again("id,label"), ""},
		{"a.txt", "id label\n1 A\nid  label\n", Form{}, `["id" "label"] 2["1" "A"]:3: ` + again("id,label"), "blanks"},
		{"a.tsv", "id\tlabel\n1\t\"A\nB\"\nid\tlabel", Form{}, `["id" "label"] 2["1" "A\nB"]:4: ` + again("id,label"), ""},
		{"a.csv", "id\nb\nid\n", Form{}, `["id"] 2["b"] 3["id"]`, ""},
		{"a.csv", "a,b\nb,a\na,b\n", noHeader, `["1" "2"] 1["a" "b"] 2["b" "a"] 3["a" "b"]`, "commas, no header"},
		{"a.csv", "1,2\n2,1\n1,2\n", Form{}, `["1" "2"] 2["2" "1"] 3["1" "2"]`, ""},
		{"a.edges", "# src dst\n1 2\n# src dst\n2 3\n", Form{}, `["src" "dst"] 2["1" "2"] 4["2" "3"]`,
			"blanks, header in a comment"},
	} {
		for _, name := range []string{c.name, c.name + ".gz", "packed.dat"} {
			content := []byte(c.content)
			if name != c.name {
				content = zipped(t, c.content)
			}
			if name == "packed.dat" && endingOf(c.name) != ".txt" {
				continue // the ending counts
			}
			path := write(t, name, content)
			in, err := Parts{name: path, paths: []string{path}}.WithForm(c.form, nil).open(t.Context(), 0, testMemory, 7)
			if err != nil {
				t.Errorf("%s %q: %v", name, c.content, err)
				continue
			}
			got := fmt.Sprintf("%q", in.Header())
			for row, err := range in.Rows() {
				if err != nil {
					got += strings.TrimPrefix(err.Error(), path)
					break
				}
				got += fmt.Sprintf(" %d%q", row.Line, row.Fields)
			}
			if got != c.want || in.Form() != c.told {
				t.Errorf("%s %q: got %s, told %q\nwant %s, told %q", name, c.content, got, in.Form(), c.want, c.told)
			}
			if err := in.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A form without a header holds for the tables whose first line is none.
func TestRecognizedHeaders(t *testing.T) {
	isHeader := func(fields []string) bool { return fields[0] == "id" }
	for _, c := range []struct{ content, want string }{
		{"id,label\n1,A\n", `["id" "label"]`},
		{"1,A\n2,B\n", `["1" "2"]`},
		{"#id,label\nx,A\n", `["id" "label"]`},
		{"#x,A\n#id,label\ny,B\n", `["id" "label"]`},
		{"#made, here\nid,label\nx,A\n", `["id" "label"]`},
		{"id;price, EUR\n1;5\n", `["id" "price, EUR"]`},
		{"id,A\nx,id\n", `["1" "2"]`}, // the code of a country, which is there again
	} {
		path := write(t, "a.csv", []byte(c.content))
		in := must.Get(Parts{name: path, paths: []string{path}}.WithForm(Form{NoHeader: true}, isHeader).open(t.Context(),
			0, testMemory, chunkBytes))(t)
		if got := fmt.Sprintf("%q", in.Header()); got != c.want {
			t.Errorf("%q: got %s, want %s", c.content, got, c.want)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestHeaderLooksLike(t *testing.T) {
	for _, c := range []struct {
		content string
		want    int
	}{
		{"id,label\n1,A\n", 1}, {"node_id\tnode_id\n1\t2\n", 1}, {"1,2\n", -1}, {"0 0\n1 2\n", -1},
		{"ann,bob\nbob,cat\n", -1},
		{"31\t0\t1\tTheory\n35\t0\t0\tTheory\n", -1}, {"ann,bob\ncat,dan\n", 0}, {"paper,0,1\na,0.5,0\n", -1},
		{"paper,0,1\n7,0.5,0\n", 1},
	} {
		in := must.Get(openFile(t.Context(), write(t, "a.txt", []byte(c.content)), testMemory))(t)
		if got := in.HeaderLooksLike(); got != c.want {
			t.Errorf("%q: got %d, want %d", c.content, got, c.want)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The parts of a table without a header are read as the first is.
func TestPartsWithoutHeader(t *testing.T) {
	first, second := write(t, "part-00000", []byte("1 2\n2 3\n")), write(t, "part-00001", []byte("x,y z\n"))
	in := must.Get(Open(t.Context(), Parts{name: "d", paths: []string{first, second}}.WithForm(Form{NoHeader: true},
		nil), testMemory))(t)
	var got strings.Builder
	for row, err := range in.Rows() {
		must.Do(t, err)
		fmt.Fprintf(&got, "%q", row.Fields)
	}
	if want := `["1" "2"]["2" "3"]["x,y" "z"]`; got.String() != want || in.Form() != "blanks, no header" {
		t.Errorf("got %s, told %q, want %s", got.String(), in.Form(), want)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}
