package shell

import (
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
)

// Flags of numbers take decimals, and no number that stands for a flag that is not given.
func TestFlagNumbers(t *testing.T) {
	writeFiles(t, map[string]string{"n.csv": threeNodes, "e.csv": twoEdges, "p.csv": "id,X,Y\na,1,0\nb,0,1\nc,0,1\n"})
	mustRun(t, "import", "g", "--nodes", "n.csv", "--edges", "e.csv")
	for _, c := range []struct{ args, want string }{
		{"gate g --most 0x10", `got "0x10", want a whole number`},
		{"gate g --most 1_000", `got "1_000", want a whole number`},
		{"gate g --most 1e3", `got "1e3", want a whole number`},
		{"clean g --seed 0x10", `got "0x10", want a whole number from 0`},
		{"clean g --seed=-1", `got "-1", want a whole number from 0`},
		{"review g --limit 0", `got "0", want a whole number from 1`},
		{"import g --predictions p.csv --top-k 0", `got "0", want a whole number from 1`},
		{"import g --predictions p.csv --top-k=-1", `got "-1", want a whole number from 1`},
		{"predict g --top-k 0", `got "0", want a whole number from 1`},
	} {
		got := run(t, "", strings.Fields(c.args)...)
		if got.code != exitUsage || !strings.Contains(got.err, c.want) {
			t.Errorf("%s: got exit code %d and %s, want %d and %s", c.args, got.code, got.err, exitUsage, c.want)
		}
	}
	mustRun(t, "import", "g", "--predictions", "p.csv", "--top-k", "1")
	if got := run(t, "", "gate", "g", "--most=-1"); got.code != exitUsage || !strings.Contains(got.err, "--most -1: want 0 or more") {
		t.Errorf("a negative number: got exit code %d and %s", got.code, got.err)
	}
	gate := run(t, "", "gate", "g", "--most", "0010")
	if gate.code == exitUsage {
		t.Errorf("0010: got %s, want 10", gate.err)
	}
}

// What a decision says of who and why can be written to every format and read again.
func TestRemarksHaveNoControlCharacters(t *testing.T) {
	db := closedStore(t, papers.Cleaned(t))
	for _, args := range [][]string{{"shell", db, "--who", "a\x01b", "-c", "accept p4"}, {"review", db, "--who", "a\x01b"}} {
		if got := run(t, "q\n", args...); got.code != exitUsage || !strings.Contains(got.err, "control characters") {
			t.Errorf("%q: got exit code %d and %s", args, got.code, got.err)
		}
	}
	if got := run(t, "", "shell", db, "-c", "accept p4 because 'a\rb'"); got.code != exitFailed || !strings.Contains(got.err, "control characters") {
		t.Errorf("a reason: got exit code %d and %s", got.code, got.err)
	}
	mustRun(t, "shell", db, "-c", "accept p4 because 'a\tb\n\"c'")
}

// Splits are kept by one name each, in whatever spelling they come.
func TestSplitsHaveOneName(t *testing.T) {
	writeFiles(t, map[string]string{
		"n.csv": "id,label,split\na,X,Train\nb,Y,Validation\nc,X,TEST\nd,X,\n", "e.csv": twoEdges, "s.csv": "id,split\na,VALID\nb,None\nc,\nd,test\n",
		"i.csv": "id,label\n1,X\n0,Y\n-0,X\n", "ie.csv": "src,dst\n1,0\n",
	})
	splits := func() string {
		return strings.ReplaceAll(mustRun(t, "shell", "g", "-c", "nodes return split", "--format", "csv"), "\n", " ")
	}
	mustRun(t, "import", "g", "--nodes", "n.csv", "--edges", "e.csv")
	if got, want := splits(), "split train val test  "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	mustRun(t, "import", "g", "--splits", "s.csv")
	if got, want := splits(), "split val none  test "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// An id that is an integer in other words makes text of all.
	if got := run(t, "", "import", "i", "--nodes", "i.csv", "--edges", "ie.csv"); !strings.Contains(got.err, `Ids are text, since "-0" is no integer`) {
		t.Errorf("got %s, want a remark on the ids", got.err)
	}
}
