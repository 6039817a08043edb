package shell

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

// errFullOutput is that of a standard output which takes nothing.
var errFullOutput = errors.New("no space left on device")

type fullOutput struct{}

func (fullOutput) Write([]byte) (int, error) { return 0, errFullOutput }

// TestExitCodes holds what every command ends with: 0 done, 1 failed, 2 wrong usage, 130 interrupted. The verdict of
// gate is tested with it.
func TestExitCodes(t *testing.T) {
	cleanedFiles(t)
	const memory = " --memory=128MiB"
	mustRun(t, strings.Fields("backup g whole.backup"+memory)...)
	for _, c := range []struct {
		command string
		done    string // prints to standard output; "" where it takes long
		failed  []string
		usage   []string
		stopped string // told once its context has ended; "" where done is
		endless bool   // done does nothing that could be interrupted
	}{
		{command: "demo", failed: []string{"demo --dir g"}, usage: []string{"demo x"}, stopped: "demo --dir d"},
		{
			command: "import", done: "import g --features features.csv",
			failed: []string{"import new --nodes none.csv --edges edges.csv", "import none --features features.csv",
				"import g --features none.csv", "import g --decisions none.jsonl"},
			usage: []string{"import", "import g", "import g --nodes nodes.csv", "import g --nodes nodes.csv --edges edges.csv"},
		},
		{command: "predict", stopped: "predict g", failed: []string{"predict none"},
			usage: []string{"predict", "predict g --seed x"}},
		{
			command: "estimate", done: "estimate g",
			failed: []string{"estimate none"}, usage: []string{"estimate", "estimate g --hops 0"},
		},
		{command: "rescore", stopped: "rescore g", failed: []string{"rescore none"},
			usage: []string{"rescore", "rescore g --memory x"}},
		{command: "clean", stopped: "clean g", failed: []string{"clean none", "clean g --stats none/s.json"},
			usage: []string{"clean", "clean g --hops 0", "clean g --out-of-fold --preset paper"}},
		{
			command: "shell", done: "shell g -c stats",
			failed: []string{"shell none -c stats", "shell g -c state", "shell g -f none.q", "shell g -c .output+none/f"},
			usage:  []string{"shell", "shell g --format yaml", "shell g -c stats -f x"},
		},
		{
			command: "draw", done: "draw g p0", failed: []string{"draw none p0", "draw g nobody", "draw g p0 --out none/a.svg"},
			usage: []string{"draw", "draw g", "draw g p0 p1"}, endless: true,
		},
		{command: "review", failed: []string{"review none", "review g --where noprop=1"},
			usage: []string{"review", "review g --where ("}, stopped: "review g"},
		{command: "gate", failed: []string{"gate none --most 1", "gate g --baseline none.csv"},
			usage: []string{"gate", "gate g"}, endless: true},
		{command: "eval", failed: []string{"eval none", "eval g --noise file:none.csv"},
			usage: []string{"eval", "eval g --hops 0"}, stopped: "eval g"},
		{
			command: "export", done: "export g labels --out -", failed: []string{"export none labels --out -",
				"export g labels --out none/l.csv"},
			usage: []string{"export g labels", "export g none --out -"},
		},
		{command: "stats", done: "stats g", failed: []string{"stats none"}, usage: []string{"stats"}, endless: true},
		{command: "check", done: "check g", failed: []string{"check none"}, usage: []string{"check"}},
		{command: "backup", done: "backup g -", failed: []string{"backup none b", "backup g b --since none"},
			usage: []string{"backup", "backup g", "backup g whole.backup"}},
		{
			command: "restore", done: "restore --verify whole.backup", failed: []string{"restore none.backup r",
				"restore nodes.csv r"},
			usage: []string{"restore", "restore whole.backup", "restore whole.backup g"}, stopped: "restore whole.backup r",
		},
		{command: "compact", done: "compact g", failed: []string{"compact none"}, usage: []string{"compact"}, endless: true},
	} {
		t.Run(c.command, func(t *testing.T) {
			tell := func(ctx context.Context, line string, out interface {
				Write([]byte) (int, error)
			}, want int) {
				t.Helper()
				args := strings.Fields(line)
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "+", " ")
				}
				var errOut bytes.Buffer
				code := Main(ctx, args, strings.NewReader(""), out, &errOut)
				if code != want || code != exitDone && errOut.Len() == 0 {
					t.Errorf("%s: got exit code %d and %q, want %d", line, code, errOut.String(), want)
				}
			}
			for _, line := range c.failed {
				tell(t.Context(), line, new(bytes.Buffer), exitFailed)
			}
			for _, line := range append(c.usage, c.command+" --no-such-flag") {
				tell(t.Context(), line, new(bytes.Buffer), exitUsage)
			}
			tell(t.Context(), c.command+" --help", new(bytes.Buffer), exitDone)
			tell(t.Context(), c.command+" --help", fullOutput{}, exitFailed)
			if c.done != "" {
				tell(t.Context(), c.done, new(bytes.Buffer), exitDone)
			}
			if c.endless {
				tell(t.Context(), c.done, fullOutput{}, exitFailed)
			}
			if c.stopped == "" {
				c.stopped = c.done
			}
			if !c.endless {
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				tell(ended, c.stopped, new(bytes.Buffer), exitInterrupted)
			}
		})
	}
}
