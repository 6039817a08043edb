// Command mutants measures how many faults the tests find. It draws places in the code with a seed, makes one small
// fault at each, and runs the tests of the package, and then of the packages that import it, nearest first, until one
// of them fails. The files stay as they are: the compiler gets an overlay.
//
//	go run .ci/mutants/main.go --count 200 --seed 1 --out results.jsonl
//
// Run it again with the same file, and it continues after the last result. It prints a table with a row for each room.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A goPackage is what go list says of a package.
type goPackage struct {
	ImportPath, Dir                    string
	GoFiles                            []string
	Imports, TestImports, XTestImports []string
}

// A mutant is one fault: the bytes from Start to End of File become Text.
type mutant struct {
	Package, File string
	Line          int
	Kind          string
	Start, End    int
	Text          string
}

// A result is a mutant with the package whose tests found it, or "".
type result struct {
	mutant
	FoundBy string
	Built   bool // false: the compiler found it, which counts for nothing
	Seconds float64
}

var module string

func main() {
	count := flag.Int("count", 200, "number of mutants")
	seed := flag.Uint64("seed", 1, "the same seed draws the same places")
	out := flag.String("out", "", "file of the results")
	only := flag.String("only", "", "packages whose path contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *count, *seed, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, count int, seed uint64, out, only string) error {
	packages, err := list(ctx)
	if err != nil {
		return err
	}
	var places []mutant
	for _, p := range packages {
		for _, name := range p.GoFiles {
			if strings.Contains(p.ImportPath, only) {
				found, err := mutants(p.ImportPath, filepath.Join(p.Dir, name))
				if err != nil {
					return err
				}
				places = append(places, found...)
			}
		}
	}
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	done, err := earlier(out)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer file.Close()
	var results []result
	for _, place := range places {
		if len(results) == count {
			break
		}
		i := slices.IndexFunc(done, func(r result) bool { return r.mutant == place })
		if i < 0 {
			tried, err := try(ctx, place, packages)
			if err != nil {
				return err
			}
			if err := json.NewEncoder(file).Encode(tried); err != nil {
				return err
			}
			done, i = append(done, tried), len(done)
		}
		if done[i].Built {
			results = append(results, done[i])
			fmt.Fprintf(os.Stderr, "%d/%d %s:%d %s: %s\n", len(results), count, place.File, place.Line, place.Kind,
				cmp.Or(done[i].FoundBy, "NOT FOUND"))
		}
	}
	table(results)
	return nil
}

// list returns the packages of the module that have files on this platform.
func list(ctx context.Context) ([]goPackage, error) {
	name, err := exec.CommandContext(ctx, "go", "list", "-m").Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m: %w", err)
	}
	module = strings.TrimSpace(string(name))
	text, err := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports",
		"./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []goPackage
	for d := json.NewDecoder(strings.NewReader(string(text))); d.More(); {
		var p goPackage
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	return packages, nil
}

// earlier reads the results of a run that was ended.
func earlier(name string) ([]result, error) {
	file, err := os.Open(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var results []result
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// swapped is the operator in whose place a fault puts another.
var swapped = map[token.Token]struct{ text, kind string }{
	token.LSS: {"<=", "boundary"}, token.LEQ: {"<", "boundary"}, token.GTR: {">=", "boundary"},
	token.GEQ: {">", "boundary"},
	token.EQL: {"!=", "condition"}, token.NEQ: {"==", "condition"}, token.LAND: {"||", "condition"},
	token.LOR: {"&&", "condition"},
}

// mutants returns the faults that a file can have.
func mutants(importPath, name string) ([]mutant, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	relative, err := filepath.Rel(here, name)
	if err != nil {
		return nil, err
	}
	var found []mutant
	add := func(kind string, from, to token.Pos, text string) {
		start := files.Position(from)
		found = append(found, mutant{importPath, relative, start.Line, kind, start.Offset, files.Position(to).Offset, text})
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if s, ok := swapped[n.Op]; ok && !ofError(n) {
				add(s.kind, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), s.text)
			}
		case *ast.IfStmt:
			if b, ok := n.Cond.(*ast.BinaryExpr); ok && ofError(b) && b.Op == token.NEQ {
				add("lost error", b.Y.Pos(), b.Y.End(), "nil && false")
			}
		case *ast.ReturnStmt:
			if len(n.Results) > 0 {
				if last, ok := n.Results[len(n.Results)-1].(*ast.Ident); ok && last.Name == "err" {
					add("lost error", last.Pos(), last.End(), "nil")
				}
			}
		case *ast.ExprStmt:
			if call, ok := n.X.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.Ident); !ok || f.Name != "panic" {
					add("removed call", n.Pos(), n.End(), "")
				}
			}
		}
		return true
	})
	return found, nil
}

// ofError tells whether a comparison is err == nil or err != nil.
func ofError(b *ast.BinaryExpr) bool {
	x, ok := b.X.(*ast.Ident)
	y, isNil := b.Y.(*ast.Ident)
	return ok && isNil && y.Name == "nil" && strings.HasSuffix(strings.ToLower(x.Name), "err")
}

// try runs the tests with a fault, those of its package first.
func try(ctx context.Context, m mutant, packages []goPackage) (result, error) {
	begin := time.Now()
	tried := result{mutant: m}
	text, err := os.ReadFile(m.File)
	if err != nil {
		return tried, err
	}
	scratch, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return tried, err
	}
	defer os.RemoveAll(scratch)
	changed, overlay := filepath.Join(scratch, "changed.go"), filepath.Join(scratch, "overlay.json")
	faulty := string(text[:m.Start]) + m.Text + string(text[m.End:])
	absolute, err := filepath.Abs(m.File)
	if err != nil {
		return tried, err
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{absolute: changed}})
	if err != nil {
		return tried, err
	}
	for name, content := range map[string]string{changed: faulty, overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
			return tried, err
		}
	}
	flags := []string{"-overlay", overlay, "-vet=off"}
	if exec.CommandContext(ctx, "go", append([]string{"build", "-overlay", overlay}, m.Package)...).Run() != nil {
		return tried, ctx.Err()
	}
	tried.Built = true
	for _, p := range above(m.Package, packages) {
		test := exec.CommandContext(ctx, "go",
			append(append([]string{"test", "-failfast", "-timeout", "10m"}, flags...), p)...)
		if test.Run() != nil {
			tried.FoundBy = p
			break
		}
	}
	tried.Seconds = time.Since(begin).Seconds()
	return tried, ctx.Err()
}

// above returns a package and all that depend on it, nearest first.
func above(name string, packages []goPackage) []string {
	order := []string{name}
	for i := 0; i < len(order); i++ {
		for _, p := range packages {
			if slices.Contains(slices.Concat(p.Imports, p.TestImports, p.XTestImports), order[i]) &&
				!slices.Contains(order, p.ImportPath) {
				order = append(order, p.ImportPath)
			}
		}
	}
	return order
}

// table prints how many mutants each room has, and how many of them were found.
func table(results []result) {
	type row struct{ all, own, found int }
	rooms := map[string]*row{}
	total := &row{}
	for _, r := range results {
		room, _, _ := strings.Cut(strings.TrimPrefix(r.Package, module+"/"), "/")
		if rooms[room] == nil {
			rooms[room] = &row{}
		}
		for _, t := range []*row{rooms[room], total} {
			t.all++
			if r.FoundBy != "" {
				t.found++
			}
			if r.FoundBy == r.Package {
				t.own++
			}
		}
	}
	fmt.Println("| room | mutants | found | by its own package | share |\n|---|---|---|---|---|")
	names := make([]string, 0, len(rooms))
	for name := range rooms {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range append(names, "all") {
		t := cmp.Or(rooms[name], total)
		fmt.Printf("| %s | %d | %d | %d | %.0f%% |\n", name, t.all, t.found, t.own,
			100*float64(t.found)/float64(max(t.all, 1)))
	}
}
