package shell

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// machineProgram is a program of the machine. Without it the test is skipped.
func machineProgram(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("there is no %s on this machine", name)
	}
	return path
}

// completionFile writes the completions of a shell into a new working directory, in which are a directory and a file.
func completionFile(t *testing.T, shell string) string {
	t.Helper()
	writeFiles(t, map[string]string{"papers.csv": ""})
	if err := os.Mkdir("papers.graph", 0o755); err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs("completions." + shell)
	if err == nil {
		err = os.WriteFile(path, []byte(mustRun(t, "completions", shell)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBashCompletions has the function of bash complete words. Names of files are completed by bash itself: compopt asks for them.
func TestBashCompletions(t *testing.T) {
	bash := machineProgram(t, "bash")
	if err := exec.Command(bash, "-c", "((BASH_VERSINFO[0] >= 4))").Run(); err != nil {
		t.Skip("bash is older than version 4 on this machine")
	}
	script := `source "$1"; shift
compopt() { offered=$*; }
COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _graphcleaner; echo "$offered${COMPREPLY[*]}"`
	path := completionFile(t, "bash")
	for _, c := range []struct{ line, want string }{
		{"graphcleaner c", "clean check compact completions"},
		{"graphcleaner --log json --quiet comp", "compact completions"},
		{"graphcleaner --lo", "--log"},
		{"graphcleaner --log ", "text json"},
		{"graphcleaner clean ", "-o dirnames"},
		{"graphcleaner clean g ", ""},
		{"graphcleaner clean --pre", "--preset"},
		{"graphcleaner clean --preset ", "default paper"},
		{"graphcleaner clean --preset = p", "paper"},
		{"graphcleaner clean --preset =", "default paper"},
		{"graphcleaner clean --hops ", ""},
		{"graphcleaner clean --hops 3 ", "-o dirnames"},
		{"graphcleaner clean --hops = 3 ", "-o dirnames"},
		{"graphcleaner clean --report ", "-o default"},
		{"graphcleaner import g --nodes ", "-o default"},
		{"graphcleaner export g s", "scores suspects"},
		{"graphcleaner export g scores -o ", "-o default"},
		{"graphcleaner restore a b ", "-o default"},
		{"graphcleaner stats g --format j", "json jsonl"},
		{"graphcleaner clean g --direction ", "both out in"},
		{"graphcleaner completions ", "bash zsh fish"},
		{"graphcleaner frobnicate ", ""},
	} {
		words := append([]string{"-c", script, "bash", path}, strings.Split(c.line, " ")...)
		out, err := exec.Command(bash, words...).CombinedOutput()
		if got := strings.TrimSuffix(string(out), "\n"); err != nil || got != c.want {
			t.Errorf("%q: got %q and %v, want %q", c.line, got, err, c.want)
		}
	}
}

// TestFishCompletions asks fish.
func TestFishCompletions(t *testing.T) {
	fish := machineProgram(t, "fish")
	path := completionFile(t, "fish")
	for _, c := range []struct{ line, want string }{
		{"graphcleaner cl", "clean"},
		{"graphcleaner clean --pre", "--preset"},
		{"graphcleaner clean --preset ", "default paper"},
		{"graphcleaner clean --preset=p", "--preset=paper"},
		{"graphcleaner clean pap", "papers.graph/"},
		{"graphcleaner clean --report pap", "papers.csv papers.graph/"},
		{"graphcleaner export g tran", "transition"},
		{"graphcleaner completions ", "bash fish zsh"},
		{"graphcleaner --log ", "json text"},
	} {
		c1 := exec.Command(fish, "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, path, c.line)
		c1.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := c1.CombinedOutput()
		var got []string
		for line := range strings.Lines(string(out)) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			got = append(got, word)
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%q: got %q and %v, want %q", c.line, got, err, c.want)
		}
	}
}

// TestManualPage holds that groff and man show the page without a warning, and that it has every command and flag.
func TestManualPage(t *testing.T) {
	writeFiles(t, map[string]string{"graphcleaner.1": mustRun(t, "man")})
	for _, c := range [][]string{
		{"groff", "-man", "-Tutf8", "-ww", "-rLL=160n", "graphcleaner.1"},
		{"man", "--warnings", "-l", "./graphcleaner.1"},
		{"mandoc", "-Tlint", "-Wwarning", "graphcleaner.1"},
	} {
		t.Run(c[0], func(t *testing.T) {
			page := exec.Command(machineProgram(t, c[0]), c[1:]...)
			page.Env = append(os.Environ(), "MANWIDTH=160", "GROFF_NO_SGR=1", "LC_ALL=C.UTF-8", "MAN_KEEP_FORMATTING=")
			var out, errOut strings.Builder
			page.Stdout, page.Stderr = &out, &errOut
			err := page.Run()
			if c[0] == "mandoc" { // it wants a date; the page has none, so that it is the same on every day
				for warning := range strings.Lines(out.String()) {
					if !strings.Contains(warning, "missing date") {
						t.Errorf("got %s", warning)
					}
				}
				return
			}
			if err != nil || errOut.Len() > 0 {
				t.Errorf("got %v and %s", err, errOut.String())
			}
			text := plain(out.String())
			for _, want := range append(spoken(t), "graphcleaner clean my.graph --hops 2 --memory 2GiB --threads 2 "+
				"--seed 7", "suspects where degree > 3 limit 20'", "suspects limit 20'", "EXIT STATUS",
				"Interrupted by Ctrl-C") {
				if !strings.Contains(text, want) {
					t.Errorf("the page has no %s", want)
				}
			}
		})
	}
}

// plain is a page without the letters that are written over others to make them bold.
func plain(page string) string {
	var text []rune
	for _, r := range page {
		if r == '\b' && len(text) > 0 {
			text = text[:len(text)-1]
			continue
		}
		text = append(text, r)
	}
	return string(text)
}

// model is the model of the command line.
func model(t *testing.T) *kong.Application {
	t.Helper()
	s := &streams{ctx: t.Context()}
	return s.parser(new(commandLine), nil, installedName, io.Discard, func(int) {}).Model
}

// spoken are the names of all commands and flags, with their placeholders.
func spoken(t *testing.T) (all []string) {
	for _, c := range model(t).Leaves(false) {
		all = append(all, "graphcleaner "+c.Name)
		for _, flag := range c.Flags {
			text := "--" + flag.Name
			if !flag.IsBool() {
				text += " " + flag.FormatPlaceHolder()
			}
			all = append(all, text)
		}
	}
	return all
}

// TestManualsFit holds what the manuals take for granted of the command line.
func TestManualsFit(t *testing.T) {
	valued := map[string]bool{}
	m := model(t)
	for _, c := range append(m.Leaves(false), m.Node) {
		for _, flag := range c.Flags {
			if before, ok := valued[flag.Name]; ok && before == flag.IsBool() {
				t.Errorf("--%s of %s has a value, or has none, elsewhere it is the other way round", flag.Name, c.Name)
			}
			valued[flag.Name] = !flag.IsBool()
			for _, value := range flag.EnumSlice() {
				if flag.Enum != "" && !strings.Contains(flag.Help, value) {
					t.Errorf("%s: the help of --%s says nothing of %s", c.Name, flag.Name, value)
				}
			}
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		text := mustRun(t, "completions", shell)
		for _, c := range m.Leaves(false) {
			if !strings.Contains(text, c.Name) {
				t.Errorf("%s: there is no %s", shell, c.Name)
			}
			for _, flag := range c.Flags {
				if !strings.Contains(text, "-"+flag.Name) && !strings.Contains(text, "-l "+flag.Name) {
					t.Errorf("%s: %s has no --%s", shell, c.Name, flag.Name)
				}
			}
		}
	}
}
