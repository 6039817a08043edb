package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A mutant is one fault at a place of the code, which a test process makes if its number is the chosen one.
type mutant struct {
	Package, File string
	Line          int
	Kind          string
	insert        []insertion
}

// An insertion puts text before the byte at an offset of the file. In place of number it gets the number of the mutant.
type insertion struct {
	offset int
	text   string
}

// number stands for that of a mutant. No source has it, so text that is taken from there stays as it is.
const number = "\x00"

// on is the condition in the changed code that holds where a fault is chosen.
const on = "mutant.On(" + number + ")"

// places returns the faults that a file can have, in the order of its text.
func places(importPath, tree, name string) ([]mutant, error) {
	files := token.NewFileSet()
	path := filepath.Join(tree, name)
	parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []mutant
	offset := func(p token.Pos) int { return files.Position(p).Offset }
	add := func(kind string, n ast.Node, before, after string) {
		found = append(found, mutant{importPath, name, files.Position(n.Pos()).Line, kind,
			[]insertion{{offset(n.Pos()), before}, {offset(n.End()), after}}})
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	of := func(n ast.Node) string { return string(text[offset(n.Pos()):offset(n.End())]) }
	statements := func(list []ast.Stmt) {
		for _, s := range list {
			switch s := s.(type) {
			case *ast.ReturnStmt:
				if len(s.Results) == 0 {
					continue
				}
				if last := s.Results[len(s.Results)-1]; isName(last, "err") {
					results := ""
					for _, r := range s.Results[:len(s.Results)-1] {
						results += of(r) + ", "
					}
					add("lost error", s, "if "+on+" { return "+results+"nil }; ", "")
				}
			case *ast.ExprStmt:
				if call, ok := s.X.(*ast.CallExpr); ok && !isName(call.Fun, "panic") {
					add("removed call", s, "if !"+on+" { ", " }")
				}
			}
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.CONST
		case *ast.ArrayType:
			return false // its length is a constant
		case *ast.BlockStmt:
			statements(n.List)
		case *ast.CaseClause:
			statements(n.Body)
		case *ast.CommClause:
			statements(n.Body)
		case *ast.BinaryExpr:
			switch n.Op {
			case token.LSS, token.LEQ, token.GTR, token.GEQ:
				if readsOnly(n.X) && readsOnly(n.Y) {
					add("boundary", n, "((", fmt.Sprintf(") != (%s && (%s) == (%s)))", on, of(n.X), of(n.Y)))
				}
			case token.EQL, token.NEQ:
				if n.Op == token.NEQ && isError(n) {
					add("lost error", n, "(", " && !"+on+")")
				} else {
					add("condition", n, "((", ") != "+on+")")
				}
			case token.LAND, token.LOR:
				add("condition", n.X, "((", ") != "+on+")")
			}
		}
		return true
	})
	return found, nil
}

// readsOnly tells whether an expression can be evaluated a second time: it calls no function but len, cap, min, max.
func readsOnly(e ast.Expr) bool {
	only := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			name, ok := n.Fun.(*ast.Ident)
			only = only && ok && slices.Contains([]string{"len", "cap", "min", "max", "int", "int64", "uint64"}, name.Name)
		case *ast.UnaryExpr:
			only = only && n.Op != token.ARROW
		}
		return only
	})
	return only
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// isError tells whether a comparison is err != nil.
func isError(b *ast.BinaryExpr) bool {
	x, ok := b.X.(*ast.Ident)
	return ok && isName(b.Y, "nil") && strings.HasSuffix(strings.ToLower(x.Name), "err")
}

// faulty returns the text of a file with the faults of mutants in it, by their numbers.
func faulty(text []byte, importPath string, chosen map[int]mutant) []byte {
	type numbered struct {
		insertion
		number, place int
	}
	var all []numbered
	for n, m := range chosen {
		for i, part := range m.insert {
			all = append(all, numbered{part, n, i})
		}
	}
	// Mutants are numbered from the outer one inwards: at one place the inner closes first, and the outer opens first.
	slices.SortFunc(all, func(a, b numbered) int {
		if a.offset != b.offset {
			return a.offset - b.offset
		}
		if a.place != b.place {
			return b.place - a.place
		}
		if a.place == 1 {
			return b.number - a.number
		}
		return a.number - b.number
	})
	var out bytes.Buffer
	done := 0
	for _, part := range all {
		out.Write(text[done:part.offset])
		done = part.offset
		out.WriteString(strings.ReplaceAll(part.text, number, fmt.Sprint(part.number)))
	}
	out.Write(text[done:])
	return withImport(out.Bytes(), importPath)
}

// withImport adds the import of the package that tells which fault is chosen.
func withImport(text []byte, path string) []byte {
	parsed, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	if err != nil {
		return text // the compiler says so again
	}
	end := int(parsed.Name.End()) - 1
	return slices.Concat(text[:end], []byte(fmt.Sprintf("; import mutant %q", path)), text[end:])
}
