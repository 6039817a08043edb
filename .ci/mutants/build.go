package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// draw puts a sample of faults into the copy. Places where the compiler refuses the change are replaced by others.
func (s *study) draw(ctx context.Context, count int, seed uint64) (err error) {
	var all []mutant
	for _, p := range s.packages {
		dir, err := filepath.Rel(s.path("copy"), p.Dir)
		if err != nil {
			return err
		}
		for _, name := range p.GoFiles {
			found, err := places(p.ImportPath, s.path("copy"), filepath.Join(dir, name))
			if err != nil {
				return err
			}
			all = append(all, found...)
		}
	}
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))
	if err := s.writeSwitch(len(all)); err != nil {
		return err
	}
	original := map[string][]byte{}
	for {
		s.mutants = map[int]mutant{}
		faults := map[string]map[int]mutant{} // by file
		for name := range original {
			faults[name] = nil
		}
		for _, number := range order[:min(count, len(order))] {
			m := all[number]
			s.mutants[number] = m
			if faults[m.File] == nil {
				faults[m.File] = map[int]mutant{}
			}
			faults[m.File][number] = m
		}
		for name, of := range faults {
			if original[name] == nil {
				if original[name], err = os.ReadFile(s.path("copy/" + name)); err != nil {
					return err
				}
			}
			text := original[name]
			if len(of) > 0 {
				text = faulty(text, s.module+"/internal/mutant", of)
			}
			if err := os.WriteFile(s.path("copy/"+name), text, 0o666); err != nil {
				return err
			}
		}
		refused, err := s.refused(ctx)
		if err != nil || len(refused) == 0 {
			return err
		}
		before := len(order)
		order = slices.DeleteFunc(order, func(i int) bool {
			_, drawn := s.mutants[i]
			return drawn && refused[fmt.Sprintf("%s:%d", all[i].File, all[i].Line)]
		})
		if len(order) == before {
			return fmt.Errorf("the tree does not build: %s", slices.Sorted(maps.Keys(refused)))
		}
	}
}

// writeSwitch writes the package that the changed files ask whether their fault is chosen. The number stands in a file,
// so that processes which a test starts learn it too. The word "learn" there has them note the places they reach.
func (s *study) writeSwitch(count int) error {
	const text = `package mutant

import (
	"fmt"
	"os"
	"strconv"
)

var (
	chosen = -1
	learns bool
	seen   [%d]bool
)

func init() {
	text, _ := os.ReadFile(%q)
	learns = string(text) == "learn"
	if number, err := strconv.Atoi(string(text)); err == nil {
		chosen = number
	}
}

func On(number int) bool {
	if learns && !seen[number] {
		seen[number] = true
		if file, err := os.OpenFile(%q, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666); err == nil {
			fmt.Fprintln(file, number)
			file.Close()
		}
	}
	return number == chosen
}
`
	dir := s.path("copy/internal/mutant")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "mutant.go"),
		fmt.Appendf(nil, text, max(count, 1), s.path("chosen"), s.path("reached")), 0o666)
}

// refused returns the lines ("file:line") of the copy that the compiler refuses.
func (s *study) refused(ctx context.Context) (map[string]bool, error) {
	build := exec.CommandContext(ctx, "go", "build", "-gcflags=-e", "./...")
	build.Dir = s.path("copy")
	out, err := build.CombinedOutput()
	lines := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(\S+?\.go):(\d+):`).FindAllStringSubmatch(string(out), -1) {
		lines[filepath.Clean(m[1])+":"+m[2]] = true
	}
	if err != nil && len(lines) == 0 {
		return nil, fmt.Errorf("go build: %w: %s", cmp.Or(ctx.Err(), err), out)
	}
	return lines, ctx.Err()
}

// buildTests builds the tests of all packages, and lists them.
func (s *study) buildTests(ctx context.Context) error {
	for _, p := range s.packages {
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s", "-o", s.binary(p.ImportPath),
			p.ImportPath)
		build.Dir = s.path("copy")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", p.ImportPath, cmp.Or(ctx.Err(), err), out)
		}
		list := exec.CommandContext(ctx, s.binary(p.ImportPath), "-test.list", "^(Test|Example|Fuzz)")
		list.Dir = p.Dir
		out, err := list.Output()
		if err != nil {
			return fmt.Errorf("tests of %s: %w", p.ImportPath, err)
		}
		for name := range strings.FieldsSeq(string(out)) {
			s.tests = append(s.tests, test{Package: p.ImportPath, Name: name})
		}
	}
	return nil
}

func (s *study) binary(importPath string) string {
	return s.path(strings.ReplaceAll(importPath, "/", "-") + ".test")
}
