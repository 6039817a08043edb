package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

var (
	docLink = regexp.MustCompile(`(?:\]\(|src=")([^)"\s#]+)(?:#[^)"]*)?[)"]`)
	docPath = regexp.MustCompile("`((?:kv|index|ops|cleaner|shell|internal|docs|interop|\\.ci)/[\\w./*-]+)`")
	docTest = regexp.MustCompile(`\bTest[A-Z]\w+`)
	docCode = regexp.MustCompile("(?s)```.*?```")
)

// TestDocsNameWhatIsThere holds that every link and every path of the repository in the documentation leads somewhere.
// Names in capitals, as in shell/NAME.go, stand for any.
func TestDocsNameWhatIsThere(t *testing.T) {
	pages := must.Get(filepath.Glob("docs/*.md"))(t)
	examples := must.Get(filepath.Glob("docs/examples/*/README.md"))(t)
	for _, page := range append(append(pages, examples...), "README.md", "CONTRIBUTING.md", "docs/durability/README.md",
		"interop/python/README.md") {
		text := must.Get(os.ReadFile(page))(t)
		prose := docCode.ReplaceAllString(string(text), "")
		var paths []string
		for _, link := range docLink.FindAllStringSubmatch(prose, -1) {
			if !strings.Contains(link[1], "://") {
				paths = append(paths, filepath.Join(filepath.Dir(page), link[1]))
			}
		}
		for _, path := range docPath.FindAllStringSubmatch(prose, -1) {
			if !strings.Contains(path[1], "NAME") {
				paths = append(paths, path[1])
			}
		}
		for _, path := range paths {
			if found, err := filepath.Glob(path); err != nil || len(found) == 0 {
				t.Errorf("%s: there is no %s (%v)", page, path, err)
			}
		}
	}
}

// TestPromisesNameTheirTests holds that every test which a promise names is there.
func TestPromisesNameTheirTests(t *testing.T) {
	there := map[string]bool{}
	must.Do(t, filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, test := range docTest.FindAllString(string(must.Get(os.ReadFile(path))(t)), -1) {
			there[test] = true
		}
		return nil
	}))
	for _, name := range docTest.FindAllString(string(must.Get(os.ReadFile("docs/durability/promises.md"))(t)), -1) {
		if !there[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestChangelogIsKept holds CHANGELOG.md to the form of Keep a Changelog: versions with dates, the newest first, known
// kinds of changes, and a link for each version.
func TestChangelogIsKept(t *testing.T) {
	text := must.Get(os.ReadFile("CHANGELOG.md"))(t)
	version := regexp.MustCompile(`^## \[(Unreleased|\d+\.\d+\.\d+(?:-[\w.]+)?)\](?: - \d{4}-\d{2}-\d{2})?$`)
	kind := regexp.MustCompile(`^### (Added|Changed|Deprecated|Removed|Fixed|Security)$`)
	var versions []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		head := version.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "## ") && (head == nil || (head[1] == "Unreleased") == strings.Contains(line, " - ")):
			t.Errorf("got %q, want [Unreleased], or [VERSION] - DATE", line)
		case strings.HasPrefix(line, "### ") && (len(versions) == 0 || !kind.MatchString(line)):
			t.Errorf("got %q, want Added, Changed, Deprecated, Removed, Fixed or Security below a version", line)
		case head != nil:
			versions = append(versions, head[1])
		}
	}
	if len(versions) == 0 || versions[0] != "Unreleased" {
		t.Fatalf("got the versions %q, want Unreleased first", versions)
	}
	for _, version := range versions {
		if !strings.Contains(string(text), "\n["+version+"]: https://") {
			t.Errorf("there is no link for [%s]", version)
		}
	}
}

// TestEmbeddingCompilesNoCommandLine: a program that asks statements compiles no terminal, flags, parquet or progress
// bar.
func TestEmbeddingCompilesNoCommandLine(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the command go is not installed")
	}
	packages := must.Get(exec.Command("go", "list", "-deps", "./shell/query").Output())(t)
	if !strings.Contains(string(packages), "graphcleaner/kv\n") {
		t.Fatalf("got %s, want it to have kv", packages)
	}
	for _, name := range []string{"/kong", "/parquet-go", "/progressbar", "golang.org/x/term", "graphcleaner/shell\n"} {
		if strings.Contains(string(packages), name) {
			t.Errorf("shell/query compiles %s", strings.TrimSpace(name))
		}
	}
}

// TestAliasesAreDescribed holds that the comment on a public name of a type of an internal package names each exported
// field: go doc shows none of them.
func TestAliasesAreDescribed(t *testing.T) {
	for _, dir := range []string{"kv", "index", "ops", "cleaner", "cleaner/decide", "shell", "shell/query"} {
		public, aliases := goTypes(t, dir)
		for name, comment := range public {
			from, isAlias := aliases[name]
			if !isAlias {
				continue
			}
			module := strings.TrimPrefix(from.path, "github.com/graphcleaner/graphcleaner/")
			if !strings.Contains(module, "internal/") {
				continue
			}
			for _, field := range exportedFields(t, module, from.name) {
				if !regexp.MustCompile(`\b` + field + `\b`).MatchString(comment) {
					t.Errorf("%s.%s: the comment does not name the field %s", dir, name, field)
				}
			}
		}
	}
}

// A typeOf is a type of another package.
type typeOf struct{ path, name string }

// parsed are the files of a package, without its tests.
func parsed(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no Go files (%v)", dir, err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file := must.Get(parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments))(t)
		files = append(files, file)
	}
	return files
}

// goTypes are the comments of the exported types of a package, and those of them that are names of types of others.
func goTypes(t *testing.T, dir string) (comments map[string]string, aliases map[string]typeOf) {
	t.Helper()
	comments, aliases = map[string]string{}, map[string]typeOf{}
	for _, file := range parsed(t, dir) {
		imports := map[string]string{}
		for _, spec := range file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			imports[filepath.Base(path)] = path
		}
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok || general.Tok != token.TYPE {
				continue
			}
			for _, spec := range general.Specs {
				spec := spec.(*ast.TypeSpec)
				if !spec.Name.IsExported() {
					continue
				}
				comments[spec.Name.Name] = general.Doc.Text() + spec.Doc.Text()
				if from, ok := spec.Type.(*ast.SelectorExpr); ok && spec.Assign.IsValid() {
					aliases[spec.Name.Name] = typeOf{imports[from.X.(*ast.Ident).Name], from.Sel.Name}
				}
			}
		}
	}
	return comments, aliases
}

// exportedFields are those of a struct type; none of another type.
func exportedFields(t *testing.T, dir, name string) (fields []string) {
	t.Helper()
	for _, file := range parsed(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != name {
				return true
			}
			if body, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range body.Fields.List {
					for _, id := range field.Names {
						if id.IsExported() {
							fields = append(fields, id.Name)
						}
					}
				}
			}
			return false
		})
	}
	return fields
}
