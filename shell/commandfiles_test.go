package shell

import (
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// No command writes a file over another one that the same command names.
func TestOutputsAreFilesOfTheirOwn(t *testing.T) {
	files := map[string]string{"n.csv": threeNodes, "e.csv": twoEdges, "noisy.csv": "id,label\na,X\n"}
	writeFiles(t, files)
	mustRun(t, "import", "g", "--nodes", "n.csv", "--edges", "e.csv")
	for link, to := range map[string]string{"link.csv": "n.csv", "here": "."} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"import s --nodes n.csv --edges e.csv --stats link.csv", "--stats link.csv is also the file of --nodes"},
		{"eval g --flags new --stats here/new", "--stats here/new is also the file of --flags"},
		{"eval g --noise file:noisy.csv --flags noisy.csv", "is also the file of"},
		{"backup g b --since b", "--since b is also the file of FILE"},
	} {
		got := run(t, "", strings.Fields(c.args)...)
		if got.code != exitUsage || !strings.Contains(got.err, c.want) {
			t.Errorf("%s: got exit code %d and %s%s\nwant %d and %s", c.args, got.code, got.out, got.err, exitUsage, c.want)
		}
	}
	for name, want := range files {
		if got := string(mustRead(t, name)); got != want {
			t.Errorf("%s has become %q", name, got)
		}
	}
	got := run(t, "", strings.Fields("eval g --flags /dev/null --stats /dev/null")...)
	if got.code == exitUsage {
		t.Errorf("a device: got exit code %d and %s", got.code, got.err)
	}
}

// Every flag and argument that takes a file says whether the file is read or written.
func TestFilesAreTagged(t *testing.T) {
	parser := must.Get(kong.New(new(commandLine), kong.Vars{"version": "", "seed": "1", "methods": "", "noises": "", "threads": "1", "address": anyPort}))(t)
	for _, command := range parser.Model.Leaves(false) {
		values := command.Positional
		for _, flag := range command.Flags {
			if strings.HasPrefix(flag.PlaceHolder, "FILE") {
				values = append(values, flag.Value)
			}
		}
		for _, value := range values {
			of := value.Tag.Get("file")
			if of != "read" && of != "write" && (value.Flag != nil || value.Name == "FILE") {
				t.Errorf("%s: %s has the tag file:%q", command.Name, value.Name, of)
			}
		}
	}
}
