package table

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// How each text is read is found from its content, and told.
func TestLayouts(t *testing.T) {
	noHeader := Form{NoHeader: true}
	for _, c := range []struct {
		name, content string
		form          Form
		want, told    string
	}{
		{"a.csv", "id,label\n1,A\n", Form{}, `["id" "label"] 2["1" "A"]`, ""},
		{"part-00000", "id\tlabel\n1\tA, B\n", Form{}, `["id" "label"] 2["1" "A, B"]`, "tabs"},
		{"a.csv", "id;label\n1;0,5\n", Form{}, `["id" "label"] 2["1" "0,5"]`, "semicolons"},
		{"a.psv", "id|label\n1|A b\n", Form{}, `["id" "label"] 2["1" "A b"]`, "bars"},
		// one column, whatever its name is
		{"a.csv", "id\nA b\nc\n", Form{}, `["id"] 2["A b"] 3["c"]`, ""},
		// runs of blanks
		{"a.edges", "src dst\n1   2\n \t3\t 4 \r\n\n  \n5 6", Form{}, `["src" "dst"] 2["1" "2"] 3["3" "4"] 6["5" "6"]`,
			"blanks"},
		{"a.txt", "id label\n1 \"A\"\n2 5\"\n", Form{}, `["id" "label"] 2["1" "\"A\""] 3["2" "5\""]`,
			"blanks"},
		// comments
		{"snap.txt", "# FromNodeId\tToNodeId\n0\t1\n", noHeader, `["1" "2"] 2["0" "1"]`,
			"tabs, no header, comments # (1 line)"},
		{"out.konect", "% sym unweighted\n% 1 2\n1 2\n%3 4\n", noHeader, `["1" "2"] 3["1" "2"]`,
			"blanks, no header, comments % (2 lines)"},
		{"a.csv", "# made, today\nid,label\n1,A\n#2,B\n", Form{}, `["id" "label"] 3["1" "A"]`, "commas, comments # (1 line)"},
		{"a.csv", "\ufeff# a \"quote\n\nid,label\n1,\"A\n#B\"\n# \",C\n", Form{}, `["id" "label"] 4["1" "A\n#B"]`,
			"commas, comments # (1 line)"},
		{"a.txt", "id\tlabel \n1\tA b\n", Form{}, `["id" "label "] 2["1" "A b"]`, "tabs"},
		{"a.txt", "0\t1\t0.5 2\n1\t2\t1 1\n", noHeader, `["1" "2" "3"] 1["0" "1" "0.5 2"] 2["1" "2" "1 1"]`,
			"tabs, no header"},
		{"a.txt", "0,AI,x;y;z;w\n1,DB,x;y;z;w\n", noHeader, `["1" "2" "3"] 1["0" "AI" "x;y;z;w"] 2["1" "DB" "x;y;z;w"]`,
			"commas, no header"},
		{"a.txt", "Smith, J\tAI\nDoe, A\tDB\n", noHeader, `["1" "2"] 1["Smith, J" "AI"] 2["Doe, A" "DB"]`, "tabs, no header"},
		// comments between and after rows, as many fields as they have
		{"a.tsv", "# x\n1\ta\n# 7\tb\n2\tb\n3\ta\n", noHeader, `["1" "2"] 2["1" "a"] 4["2" "b"] 5["3" "a"]`,
			"tabs, no header, comments # (1 line)"},
		{"a.txt", "# x\n1 a\n2 b\n# end of file\n", noHeader, `["1" "2"] 2["1" "a"] 3["2" "b"]`,
			"blanks, no header, comments # (1 line)"},
		{"a.csv", "# made\nid,label\n1,A\n# half\n", Form{},
			`["id" "label"] 3["1" "A"]`, "commas, comments # (1 line)"},
		{"a.csv", "id,label\n#1,A\n", Form{}, `["id" "label"] 2["#1" "A"]`, ""},
		// no header
		{"a.csv", "\"a\",\"x \"\"y\"\"\"\nb,z\n", noHeader, `["1" "2"] 1["a" "x \"y\""] 2["b" "z"]`, "commas, no header"},
		{"a.tsv", "\"a\"\t\\\\\nb\tz\n", noHeader, `["1" "2"] 1["a" "\\\\"] 2["b" "z"]`, "tabs, no header"},
		// what the form says of tables that have no such separator
		{"a.txt", "1::2::5\n", Form{Delimiter: ':', NoHeader: true}, `["1" "2" "3" "4" "5"] 1["1" "" "2" "" "5"]`,
			`":", no header`},
		{"a.csv", "id,label\n1,A\n", Form{Delimiter: ' '}, `["id" "label"] 2["1" "A"]`, ""},
		{"a.csv", "id,a b\n1 2,c\n", Form{Delimiter: ' '}, `["id,a" "b"] 2["1" "2,c"]`, "blanks"},
		// quotes in tsv: what goes on after a closing quote, or has none in its line, is text with quotes
		{"q.tsv", "\"id\"\tlabel\n1\t\"Art, \"\"Music\"\"\"\n2\t\"a\tbc\"\r\n3\t\"A\" and " +
			"\"B\"\n4\t\"\"\n5\t\"open\n6\tB\"\n", Form{},
			`["id" "label"] 2["1" "Art, \"Music\""] 3["2" "a\tbc"] 4["3" "\"A\" and \"B\""] 5["4" ""] 6["5" "\"open"] 7["6" "B\""]`, ""},
		// no escapes
		{"a.tsv", "id\\d\tlabel\n1\tC:\\new\n2\t$\\nu$\n\\\t\\x\\\n\"3\\\"\t\\\"\"\n", Form{},
			`["id\\d" "label"] 2["1" "C:\\new"] 3["2" "$\\nu$"] 4["\\" "\\x\\"] 5["3\\" "\\\"\""]`, ""},
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
			in, err := Open(t.Context(), path, Options{Form: c.form, Memory: testMemory, chunk: 7})
			if err != nil {
				t.Errorf("%s %q: %v", name, c.content, err)
				continue
			}
			got := fmt.Sprintf("%q", in.Header())
			for row, err := range rowsOf(in) {
				if err != nil {
					got += strings.TrimPrefix(err.Error(), path)
					break
				}
				got += fmt.Sprintf(" %d%q", row.Line, row.Fields)
			}
			if got != c.want || in.Form() != c.told {
				t.Errorf("%s %q: got %s, told %q\nwant %s, told %q", name, c.content, got, in.Form(), c.want, c.told)
			}
			must.Do(t, in.Close())
		}
	}
}

// A form without a header holds for the tables whose first line is none.
func TestRecognizedHeaders(t *testing.T) {
	isHeader := func(fields []string) bool { return fields[0] == "id" }
	for _, c := range []struct{ content, want string }{
		{"id,label\n1,A\n", `["id" "label"]`},
		{"1,A\n2,B\n", `["1" "2"]`},
		{"#made, here\nid,label\nx,A\n", `["id" "label"]`},
	} {
		path := write(t, "a.csv", []byte(c.content))
		in := must.Get(Open(t.Context(), path, Options{Form: Form{NoHeader: true}, IsHeader: isHeader,
			Memory: testMemory}))(t)
		if got := fmt.Sprintf("%q", in.Header()); got != c.want {
			t.Errorf("%q: got %s, want %s", c.content, got, c.want)
		}
		must.Do(t, in.Close())
	}
}

// The parts of a table without a header are read as the first is.
func TestPartsWithoutHeader(t *testing.T) {
	first, second := write(t, "part-00000", []byte("1 2\n2 3\n")), write(t, "part-00001", []byte("x,y z\n"))
	opt := Options{Form: Form{NoHeader: true}, Memory: testMemory}
	in := must.Get(open(t.Context(), "d", []string{first, second}, opt))(t)
	var got strings.Builder
	for row, err := range rowsOf(in) {
		must.Do(t, err)
		fmt.Fprintf(&got, "%q", row.Fields)
	}
	if want := `["1" "2"]["2" "3"]["x,y" "z"]`; got.String() != want || in.Form() != "blanks, no header" {
		t.Errorf("got %s, told %q, want %s", got.String(), in.Form(), want)
	}
	must.Do(t, in.Close())
}
