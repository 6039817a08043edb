package shell

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/shell/internal/demograph"
)

// testMemory is the budget of commands without --memory in tests: each memtable of a store is zeroed when the store
// opens, and a quarter of the machine's memory makes it 64 MiB.
const testMemory = 64 << 20

// papersVariable is, in scripts, the number of papers of the demo.
const papersVariable = "GRAPHCLEANER_TEST_PAPERS"

func TestMain(m *testing.M) {
	defaultMemory = func() int64 { return testMemory }
	if peak := os.Getenv(programVariable); peak != "" {
		os.Exit(beProgram(peak))
	}
	debug.SetGCPercent(400) // what commands and tests hold is little, and memory is there
	testscript.Main(memdir.Tests(withTemplates{m}), map[string]func(){
		"graphcleaner": func() {
			if papers, err := strconv.Atoi(os.Getenv(papersVariable)); err == nil {
				demoPapers = papers
			}
			ctx, _ := UntilSignal()
			os.Exit(Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

// programVariable makes the test binary the program, which writes how much memory it had resident, in KiB, to the file
// of that name.
const programVariable = "GRAPHCLEANER_TEST_PROGRAM"

// beProgram runs the program.
func beProgram(peak string) int {
	code := Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return code // only Linux says
	}
	for line := range strings.Lines(string(status)) {
		if most, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			if err := os.WriteFile(peak, []byte(strings.Fields(most)[0]), 0o600); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}
	return code
}

// withTemplates runs tests, and removes after them the directories that they copy.
type withTemplates struct{ *testing.M }

func (m withTemplates) Run() int {
	defer func() {
		_ = os.RemoveAll(cleanedTemplate.dir) // the tests are over
	}()
	return m.M.Run()
}

// The scripts of testdata/script run the program in a directory that holds the files of a made-up graph in graph/, and
// of a smaller one, which is learned faster, in graph/small/.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script")
}

// TestLongScripts runs what takes minutes: commands that train or measure, with all their flags.
func TestLongScripts(t *testing.T) {
	longtest.Only(t)
	runScripts(t, "testdata/longscript")
}

func runScripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// samebytes A B is cmp for files that nobody can read.
			"samebytes": func(ts *testscript.TestScript, negated bool, args []string) {
				if same := ts.ReadFile(args[0]) == ts.ReadFile(args[1]); same == negated {
					ts.Fatalf("%s and %s: same is %v", args[0], args[1], same)
				}
			},
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "cache"))
			for name, nodes := range map[string]int{"graph": 400, "graph/small": 60} {
				dir := filepath.Join(env.WorkDir, filepath.FromSlash(name))
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return err
				}
				g := demograph.New(nodes, 1)
				splits := "id,split\n"
				for v := range g.Field {
					splits += g.ID(v) + "," + []string{"train", "val", "test"}[v%3] + "\n"
				}
				if err := os.WriteFile(filepath.Join(dir, "splits.csv"), []byte(splits), 0o600); err != nil {
					return err
				}
				if err := g.Write(dir); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

// An outcome has the exit code and the output of one run of the program.
type outcome struct {
	code     int
	out, err string
}

// run runs a command line with a text on standard input.
func run(t testing.TB, input string, args ...string) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	code := Main(t.Context(), args, strings.NewReader(input), &out, &errOut)
	return outcome{code, out.String(), errOut.String()}
}

// mustRun runs a command line that succeeds and returns what it printed.
func mustRun(t testing.TB, args ...string) string {
	t.Helper()
	got := run(t, "", args...)
	if got.code != exitDone {
		t.Fatalf("%q: got exit code %d and %s", args, got.code, got.err)
	}
	return got.out
}

// importArgs is the command line of an import into g, of nodes.csv and edges.csv where more does not name others.
func importArgs(more string) []string {
	args := append([]string{"import", "g"}, strings.Fields(more)...)
	for _, flag := range []string{"nodes", "edges"} {
		if !slices.Contains(args, "--"+flag) {
			args = append(args, "--"+flag, flag+".csv")
		}
	}
	return args
}

// writeFiles writes files into a new directory, which it makes the working one.
func writeFiles(t testing.TB, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, content := range files {
		must.Do(t, os.WriteFile(name, []byte(content), 0o600))
	}
}

// listDir returns the names in the working directory.
func listDir(t testing.TB) []string {
	t.Helper()
	entries := must.Get(os.ReadDir("."))(t)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// gz compresses a text.
func gz(t testing.TB, text string) string {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	must.Get(z.Write([]byte(text)))(t)
	must.Do(t, z.Close())
	return out.String()
}

// npyFile returns an .npy file of a slice of numbers.
func npyFile(descr, shape string, values any) string {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape)
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	out, err := binary.Append(append(out, header...), binary.LittleEndian, values)
	if err != nil {
		panic(err) // the values are no numbers of a size
	}
	return string(out)
}

// array returns a float32 .npy file [rows×cols].
func array(rows, cols int, values ...float32) string {
	return npyFile("<f4", fmt.Sprintf("(%d, %d)", rows, cols), values)
}

// vector returns an int64 .npy file [n].
func vector(values ...int64) string { return npyFile("<i8", fmt.Sprintf("(%d,)", len(values)), values) }

// sparse returns the .npz of a CSR matrix of ones.
func sparse(t testing.TB, rows, cols int64, indptr, indices []int64) string {
	t.Helper()
	return zipped(t, map[string]string{
		"indptr": vector(indptr...), "indices": vector(indices...), "shape": vector(rows, cols),
		"data": vector(slices.Repeat([]int64{1}, len(indices))...),
	})
}

func zipped(t testing.TB, arrays map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, content := range arrays {
		w, err := z.Create(name + ".npy")
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		must.Do(t, err)
	}
	must.Do(t, z.Close())
	return out.String()
}

func parquetFile[T any](t testing.TB, rows ...T) string {
	t.Helper()
	var out bytes.Buffer
	must.Do(t, parquet.Write(&out, rows))
	return out.String()
}

func TestUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.WriteFile("file", nil, 0o600))
	for _, c := range []struct {
		args string
		code int
		want string // in what is printed to standard error, or to standard output where code is 0
	}{
		{"", exitDone, "Usage: "},
		{"--help", exitDone, "Do the whole job"},
		{"--version", exitDone, "graphcleaner "},
		{"import --help", exitDone, "import my.graph --nodes nodes.csv --edges edges.csv"},
		{"import", exitUsage, `import --help" for help`},
		{"import g", exitUsage, "nothing to import, want --nodes and --edges for a new store"},
		{"import g --nodes n.csv", exitUsage, "a new store needs both --nodes and --edges"},
		{"import g --classes A --predictions p.npy", exitUsage, "need --nodes and --edges"},
		{"import file --nodes n.csv --edges e.csv", exitFailed, "file is a file, want a directory"},
		{"clean g --memory 5GB --threads=-1", exitUsage, "--threads -1: want 1 or more"},
		{"clean g --threshold 2", exitUsage, "--threshold 2: want a number between 0 and 1"},
		{"eval g --method best", exitUsage, "--method best: want one of default, paper, confident-learning"},
		{"clean g --memory 5parsecs", exitUsage, `got "5parsecs", want a size such as 512MiB or 2GiB`},
		{"clean .", exitFailed, "not a graphcleaner store: want the directory that import made"},
		{"shell g -c stats -f f", exitUsage, "--command and --file can't be used together"},
		{"export g scores", exitUsage, "--out"},
		{"export g scores --out s.npy", exitUsage, "scores are a table"},
		{"export g everything --out f.csv", exitUsage, `must be one of "scores","suspects"`},
		{"eval", exitUsage, "want a store, or --nodes and --edges"},
		{"eval g --features f.npy", exitUsage, "go with --nodes and --edges"},
		{"eval g --predictions p.npy", exitUsage, "--predictions want the noisy labels and the split"},
		{"eval g --repeats 0", exitUsage, "--repeats 0: want 1 or more"},
		{"eval g --split 0.8/0.1/0.1 --splits s.csv", exitUsage, "want --split or --splits, got both"},
	} {
		got := run(t, "", strings.Fields(c.args)...)
		text := got.err
		if c.code == exitDone {
			text = got.out
		}
		if got.code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s: got exit code %d and %s\nwant %d and %s", c.args, got.code, text, c.code, c.want)
		}
	}
	if names := listDir(t); !slices.Equal(names, []string{"file"}) {
		t.Errorf("left behind: %v", names)
	}
}

func TestByteSize(t *testing.T) {
	for text, want := range map[string]byteSize{
		"512MiB": 512 << 20, "2GiB": 2 << 30, "1GB": 1e9, "1.5 GiB": 3 << 29, "4g": 4 << 30, "100000000": 1e8, "1tb": 1e12,
	} {
		var got byteSize
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GiB", "-1GiB", "NaNGiB", "1e30GiB", "two", "1 2"} {
		var got byteSize
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
	for size, want := range map[byteSize]string{1 << 30: "1 GiB", 3 << 29: "1.5 GiB", 1000: "1000 bytes",
		64 << 20: "64 MiB"} {
		if got := size.String(); got != want {
			t.Errorf("%d: got %s, want %s", int64(size), got, want)
		}
	}
}
