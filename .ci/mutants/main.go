// Command mutants measures how many faults the tests find. It draws places in the code with a seed and builds the tests
// once, with one small fault at each place, all asleep. It runs each test alone and notes which places it reaches. Then
// it wakes one fault after another, and runs the tests that reach it until one fails: those of its package first.
//
//	go run ./.ci/mutants --work DIR [--rooms cleaner,shell]
//
// DIR takes a copy of the tree, the tests and the results. Another run with the same DIR goes on after the last result.
// The table has a row for each room. Tests that fail with all faults asleep are named and left out.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A test is a function of the tests of a package, and the places that it reaches.
type test struct {
	Package, Name string
	Reaches       []int
	Seconds       float64
	Fails         bool // with all faults asleep
}

// A result is a mutant with the package whose tests found it, or "".
type result struct {
	mutant
	Number  int
	Reached bool // by some test
	FoundBy string
	Seconds float64
}

// A study is a sample of mutants, built into the tests of a copy of the tree.
type study struct {
	work, module string
	packages     []goPackage
	mutants      map[int]mutant // by number
	tests        []test
}

// A goPackage is what go list says of a package.
type goPackage struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

func main() {
	count := flag.Int("count", 200, "number of mutants")
	seed := flag.Uint64("seed", 1, "the same seed draws the same places")
	tree := flag.String("tree", ".", "root of the repository; its files as git has them in the index are measured")
	work := flag.String("work", "", "directory of the copy and of the results")
	rooms := flag.String("rooms", "", "only faults in these rooms, and only their tests; all of them without it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *tree, *work, *rooms, *count, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, tree, work, rooms string, count int, seed uint64) error {
	if work == "" {
		return fmt.Errorf("no directory: add --work DIR")
	}
	work, err := filepath.Abs(work)
	if err != nil {
		return err
	}
	s := &study{work: work, mutants: map[int]mutant{}}
	if _, err := os.Stat(s.path("tests.json")); os.IsNotExist(err) {
		if err := copyTree(ctx, tree, s.path("copy")); err != nil {
			return err
		}
	}
	if err := s.list(ctx, rooms); err != nil {
		return err
	}
	if err := s.prepare(ctx, count, seed); err != nil {
		return err
	}
	results, err := s.tryAll(ctx)
	if err != nil {
		return err
	}
	s.table(results)
	return nil
}

// room is the top directory of a package.
func (s *study) room(importPath string) string {
	room, _, _ := strings.Cut(strings.TrimPrefix(importPath, s.module+"/"), "/")
	return room
}

func (s *study) path(name string) string { return filepath.Join(s.work, name) }

func copyTree(ctx context.Context, tree, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "git", "-C", tree, "checkout-index", "-a", "--prefix="+to+"/").CombinedOutput()
	if err != nil {
		return fmt.Errorf("git checkout-index: %w: %s", err, out)
	}
	return nil
}

// list reads the packages of the copy, in the rooms that are named, that have files on this platform.
func (s *study) list(ctx context.Context, rooms string) error {
	list := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	list.Dir = s.path("copy")
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p goPackage
		if err := d.Decode(&p); err != nil {
			return err
		}
		if p.Dir == s.path("copy") {
			s.module = p.ImportPath
		}
		named := rooms == "" || slices.Contains(strings.Split(rooms, ","), s.room(p.ImportPath))
		if named && !strings.Contains(p.ImportPath, "/internal/testing/") &&
			!strings.HasSuffix(p.ImportPath, "/internal/mutant") {
			s.packages = append(s.packages, p)
		}
	}
	return nil
}

// prepare draws the mutants, builds the tests, and learns which test reaches which place. All of it is kept in DIR.
func (s *study) prepare(ctx context.Context, count int, seed uint64) error {
	if text, err := os.ReadFile(s.path("tests.json")); err == nil {
		kept := struct {
			Mutants map[int]mutant
			Tests   []test
		}{}
		if err := json.Unmarshal(text, &kept); err != nil {
			return fmt.Errorf("tests.json: %w", err)
		}
		s.mutants, s.tests = kept.Mutants, kept.Tests
		return nil
	}
	if err := s.draw(ctx, count, seed); err != nil {
		return err
	}
	if err := s.buildTests(ctx); err != nil {
		return err
	}
	for i := range s.tests {
		if err := s.learn(ctx, &s.tests[i]); err != nil {
			return err
		}
		if (i+1)%100 == 0 || i+1 == len(s.tests) {
			fmt.Fprintf(os.Stderr, "test %d of %d\n", i+1, len(s.tests))
		}
	}
	text, err := json.Marshal(map[string]any{"Mutants": s.mutants, "Tests": s.tests})
	if err != nil {
		return err
	}
	return os.WriteFile(s.path("tests.json"), text, 0o666)
}

// learn runs a test with all faults asleep, and notes which places it reaches.
func (s *study) learn(ctx context.Context, t *test) error {
	if err := os.WriteFile(s.path("chosen"), []byte("learn"), 0o666); err != nil {
		return err
	}
	if err := os.Remove(s.path("reached")); err != nil && !os.IsNotExist(err) {
		return err
	}
	begin := time.Now()
	t.Fails = !s.passes(ctx, t.Package, []string{t.Name}, 10*time.Minute)
	t.Seconds = time.Since(begin).Seconds()
	text, err := os.ReadFile(s.path("reached"))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for line := range strings.FieldsSeq(string(text)) {
		number, err := strconv.Atoi(line)
		if err != nil {
			return err
		}
		t.Reaches = append(t.Reaches, number)
	}
	slices.Sort(t.Reaches)
	t.Reaches = slices.Compact(t.Reaches)
	if t.Fails {
		fmt.Fprintf(os.Stderr, "left out, because it fails without a fault: %s %s\n", t.Package, t.Name)
	}
	return ctx.Err()
}

// passes runs tests of a package in a process group of its own, which ends with it.
func (s *study) passes(ctx context.Context, importPath string, names []string, limit time.Duration) bool {
	i := slices.IndexFunc(s.packages, func(p goPackage) bool { return p.ImportPath == importPath })
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return true
	}
	defer removeAll(scratch)
	limited, stop := context.WithTimeout(ctx, limit)
	defer stop()
	run := exec.CommandContext(limited, s.binary(importPath), "-test.failfast", "-test.timeout", limit.String(),
		"-test.run", "^("+strings.Join(names, "|")+")$")
	run.Dir = s.packages[i].Dir
	run.Env = append(os.Environ(), "TMPDIR="+scratch)
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run.Cancel = func() error { return syscall.Kill(-run.Process.Pid, syscall.SIGKILL) }
	run.WaitDelay = time.Second
	passed := run.Run() == nil
	if run.Process != nil {
		_ = syscall.Kill(-run.Process.Pid, syscall.SIGKILL) // what it may have left
	}
	return passed
}

// removeAll removes a directory, where tests may have left folders that nobody may write.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// tryAll tries each mutant that has no result yet, in an order of chance, so that the first of them are a sample too.
func (s *study) tryAll(ctx context.Context) ([]result, error) {
	file, err := os.OpenFile(s.path("results.jsonl"), os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var results []result
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("results.jsonl: %w", err)
		}
		results = append(results, r)
	}
	numbers := slices.Sorted(maps.Keys(s.mutants))
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	for _, number := range numbers {
		if slices.ContainsFunc(results, func(r result) bool { return r.Number == number }) {
			continue
		}
		tried, err := s.try(ctx, number)
		if err != nil {
			return nil, err
		}
		if err := json.NewEncoder(file).Encode(tried); err != nil {
			return nil, err
		}
		results = append(results, tried)
		fmt.Fprintf(os.Stderr, "%d/%d %s:%d %s: %s\n", len(results), len(s.mutants), tried.File, tried.Line, tried.Kind,
			cmp.Or(tried.FoundBy, "NOT FOUND"))
	}
	return results, nil
}

// batchSeconds are how long the tests of a package take that are run together, the quickest first: most faults are
// found by the first of them.
var batchSeconds = []float64{1, 4, 16, 64, math.Inf(1)}

// try wakes a fault and runs the tests that reach it, those of its package first, then the quickest packages.
func (s *study) try(ctx context.Context, number int) (result, error) {
	begin := time.Now()
	tried := result{mutant: s.mutants[number], Number: number}
	if err := os.WriteFile(s.path("chosen"), []byte(strconv.Itoa(number)), 0o666); err != nil {
		return tried, err
	}
	seconds := map[string]float64{}
	tests := map[string][]test{}
	for _, t := range s.tests {
		if slices.Contains(t.Reaches, number) && !t.Fails {
			seconds[t.Package] += t.Seconds
			tests[t.Package] = append(tests[t.Package], t)
		}
	}
	tried.Reached = len(tests) > 0
	order := slices.SortedFunc(maps.Keys(tests), func(a, b string) int {
		switch tried.Package {
		case a:
			return -1
		case b:
			return 1
		}
		return cmp.Compare(seconds[a], seconds[b])
	})
	for _, p := range order {
		if !s.passesInBatches(ctx, p, tests[p]) {
			tried.FoundBy = p
			break
		}
	}
	tried.Seconds = time.Since(begin).Seconds()
	return tried, ctx.Err()
}

// passesInBatches runs tests of a package, the quickest first.
func (s *study) passesInBatches(ctx context.Context, importPath string, tests []test) bool {
	slices.SortFunc(tests,
		func(a, b test) int { return cmp.Or(cmp.Compare(a.Seconds, b.Seconds), cmp.Compare(a.Name, b.Name)) })
	for _, most := range batchSeconds {
		var names []string
		var seconds float64
		for len(tests) > 0 && (len(names) == 0 || seconds+tests[0].Seconds <= most) {
			names, seconds = append(names, tests[0].Name), seconds+tests[0].Seconds
			tests = tests[1:]
		}
		limit := time.Minute + time.Duration(10*seconds)*time.Second
		if len(names) > 0 && !s.passes(ctx, importPath, names, limit) {
			return false
		}
	}
	return true
}

// table prints how many mutants each room has, and how many of them were found.
func (s *study) table(results []result) {
	type row struct{ all, reached, own, found int }
	rooms := map[string]*row{}
	total := &row{}
	for _, r := range results {
		room := s.room(r.Package)
		if rooms[room] == nil {
			rooms[room] = &row{}
		}
		for _, t := range []*row{rooms[room], total} {
			t.all++
			if r.Reached {
				t.reached++
			}
			if r.FoundBy != "" {
				t.found++
			}
			if r.FoundBy == r.Package {
				t.own++
			}
		}
	}
	fmt.Println("| room | mutants | reached by a test | found by its own package | found | share " +
		"|\n|---|---|---|---|---|---|")
	for _, name := range append(slices.Sorted(maps.Keys(rooms)), "all") {
		t := cmp.Or(rooms[name], total)
		fmt.Printf("| %s | %d | %d | %d | %d | %.0f%% |\n", name, t.all, t.reached, t.own, t.found,
			100*float64(t.found)/float64(max(t.all, 1)))
	}
}
