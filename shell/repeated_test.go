package shell

import (
	"strings"
	"testing"
)

// A flag of one value that is given twice is wrong usage in every command: the last would count, and a file be lost.
func TestRepeatedFlags(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges})
	for _, c := range []struct{ args, flag string }{
		{"import g --nodes nodes.csv --edges edges.csv --splits a.csv --splits b.csv", "--splits"},
		{"import g --nodes nodes.csv --edges edges.csv --columns id=a --columns label=b", "--columns"},
		{"remove g --edges edges.csv --edge-columns src=a --edge-columns dst=b", "--edge-columns"},
		{"import g --predictions a.npy --predictions=b.npy", "--predictions"},
		{"import g --decisions a.csv --decisions b.csv", "--decisions"},
		{"demo --seed 1 --seed 2", "--seed"},
		{"predict g --seed 1 --seed 2", "--seed"},
		{"estimate g --memory 1GiB --memory 2GiB", "--memory"},
		{"clean g --hops 2 --memory 1GiB --hops 3", "--hops"},
		{"shell g -c stats -c classes", "--command"},
		{"shell g -f a --file b", "--file"},
		{"review g --who a --who b", "--who"},
		{"gate g --most 1 --most 2", "--most"},
		{"eval g --noise sym:0.1 --noise sym:0.2", "--noise"},
		{"export g scores -o a.csv --out b.csv", "--out"},
		{"stats g --format json --format csv", "--format"},
		{"check g --memory 1GiB --memory 1GiB", "--memory"},
		{"backup g b --since a --since c", "--since"},
		{"compact g --memory 1GiB --memory 2GiB", "--memory"},
	} {
		got := run(t, "", strings.Fields(c.args)...)
		want := c.flag + " is given twice, want it once"
		if got.code != exitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%s: got exit code %d and %s\nwant %d and %s", c.args, got.code, got.err, exitUsage, want)
		}
	}
	got := run(t, "", strings.Fields("eval --nodes nodes.csv --edges edges.csv --method default --method argmax --classes P --classes Q --noise sym:2")...)
	if strings.Contains(got.err, "twice") {
		t.Errorf("flags of several values: got %s, want them taken", got.err)
	}
}
