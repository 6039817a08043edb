package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/stream"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// The files of a data set of OGB, in its folder. They have no headers, and nodes are numbered from 0.
const (
	ogbCount    = "raw/num-node-list.csv.gz"
	ogbEdges    = "raw/edge.csv.gz"
	ogbFeatures = "raw/node-feat.csv.gz"
	ogbLabels   = "raw/node-label.csv.gz"
	ogbYears    = "raw/node_year.csv.gz"
)

// ogbSplits are the names of the files of a split.
var ogbSplits = []string{"train", "valid", "test"}

// ogbRefused are files of data sets that are not read, and why.
var ogbRefused = []struct{ name, why string }{
	{"raw/triplet-type-list.csv.gz", "has several kinds of nodes, want a data set of one kind"},
	{"raw/num-node-dict.csv.gz", "has several kinds of nodes, want a data set of one kind"},
	{"raw/data.npz", "keeps its edges in raw/data.npz, want a data set with " + ogbEdges + " (read_ogb of the Python package reads this one)"},
}

// isOGB says whether a folder is that of a data set of OGB.
func isOGB(ctx context.Context, folder string) bool {
	return folder != "" && (hasFile(ctx, folder, ogbCount) || slices.ContainsFunc(ogbRefused,
		func(r struct{ name, why string }) bool { return hasFile(ctx, folder, r.name) }))
}

func hasFile(ctx context.Context, folder, name string) bool {
	_, err := stream.Stat(ctx, filepath.Join(folder, name))
	return err == nil
}

// ogbFolder is the folder of the data set that a path is, or is a part of; empty: of none.
func ogbFolder(ctx context.Context, path string) string {
	path = filepath.Clean(path)
	folder := path
	for _, part := range []string{"raw", ogbEdges, ogbLabels} {
		part = filepath.FromSlash(part)
		if of, ok := strings.CutSuffix(path, string(filepath.Separator)+part); ok {
			folder = of
		} else if path == part {
			folder = "."
		}
	}
	if isOGB(ctx, folder) {
		return folder
	}
	return ""
}

// An ogbSet is a data set of OGB.
type ogbSet struct {
	folder string
	split  string   // its folder; empty: there is none
	taken  []string // what its nodes have
}

// openOGB looks at a data set that a flag names by its folder.
func openOGB(ctx context.Context, folder, path, flag string) (*ogbSet, error) {
	if filepath.Clean(path) != folder {
		return nil, &table.Error{Path: path, Msg: fmt.Sprintf("is a part of a data set of OGB, want its folder: %s %s", flag, wording.ShellWord(folder))}
	}
	for _, refused := range ogbRefused {
		if hasFile(ctx, folder, refused.name) {
			return nil, &table.Error{Path: path, Msg: refused.why}
		}
	}
	set := &ogbSet{folder: folder}
	entries, err := stream.ReadDir(ctx, filepath.Join(folder, "split"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		if !hasFile(ctx, folder, filepath.Join("split", entry.Name(), "train.csv.gz")) {
			continue
		}
		if set.split != "" {
			return nil, &table.Error{Path: filepath.Join(folder, "split"), Msg: fmt.Sprintf("has the splits %s and %s, want the folder of one of them alone", filepath.Base(set.split), entry.Name())}
		}
		set.split = filepath.Join("split", entry.Name())
	}
	set.taken = []string{"ids"}
	if hasFile(ctx, folder, ogbLabels) {
		set.taken = append(set.taken, "labels")
	}
	if hasFile(ctx, folder, ogbYears) {
		set.taken = append(set.taken, "the property year")
	}
	if set.split != "" {
		set.taken = append(set.taken, "the splits of "+filepath.ToSlash(set.split))
	}
	return set, nil
}

// sources are all files that are read.
func (s *ogbSet) sources(ctx context.Context) []string {
	return append(s.files(ctx), s.path(ogbEdges), s.path(ogbFeatures))
}

func (s *ogbSet) path(name string) string { return filepath.Join(s.folder, filepath.FromSlash(name)) }

// ogbTable is the table of nodes, or of edges, of the data set that a path names; false if it names none.
func ogbTable(ctx context.Context, path string, isOfEdges bool) (parts table.Parts, ok bool, err error) {
	folder := ogbFolder(ctx, path)
	if folder == "" {
		return parts, false, nil
	}
	set, err := openOGB(ctx, folder, path, "--"+kindOfTable(isOfEdges))
	if err != nil {
		return parts, true, err
	}
	if isOfEdges {
		parts, err = table.FindParts(ctx, set.path(ogbEdges))
		return parts.WithHeader([]string{"src", "dst"}, true), true, err
	}
	return table.AlignedParts(path, set.files(ctx), set.nodes), true, nil
}

// files are the files of the nodes.
func (s *ogbSet) files(ctx context.Context) (paths []string) {
	names := []string{ogbCount, ogbLabels, ogbYears}
	for _, name := range ogbSplits {
		names = append(names, filepath.Join(s.split, name+".csv.gz"))
	}
	for _, name := range names {
		if hasFile(ctx, s.folder, name) {
			paths = append(paths, s.path(name))
		}
	}
	return paths
}

// nodes describes the table of nodes.
func (s *ogbSet) nodes(ctx context.Context, memory int64) (*table.Aligned, error) {
	of, err := s.ids(ctx, memory)
	if err != nil {
		return nil, err
	}
	if hasFile(ctx, s.folder, ogbLabels) {
		of.Columns = append(of.Columns, table.AlignedColumn{Name: kv.LabelColumn, Path: s.path(ogbLabels), Text: func(dst []byte, _ int64, field []byte) []byte {
			if strings.EqualFold(view(field), "nan") {
				return dst
			}
			return append(dst, field...)
		}})
	}
	if hasFile(ctx, s.folder, ogbYears) {
		of.Columns = append(of.Columns, table.AlignedColumn{Name: "year", Path: s.path(ogbYears)})
	}
	if s.split == "" {
		return of, nil
	}
	splits, err := s.splits(ctx, of.Rows, memory)
	if err != nil {
		return nil, err
	}
	of.Columns = append(of.Columns, table.AlignedColumn{Name: "split", Text: func(dst []byte, row int64, _ []byte) []byte {
		return append(dst, splits[row].String()...)
	}})
	return of, nil
}

// ids describes a table with ids alone.
func (s *ogbSet) ids(ctx context.Context, memory int64) (*table.Aligned, error) {
	of := &table.Aligned{Counted: s.path(ogbCount)}
	graphs := 0
	err := eachNumber(ctx, of.Counted, memory, func(n int64) error {
		graphs++
		of.Rows = n
		return nil
	})
	if err != nil {
		return nil, err
	}
	if graphs != 1 {
		return nil, &table.Error{Path: of.Counted, Msg: fmt.Sprintf("counts the nodes of %s, want one", wording.Count(int64(graphs), "graph", "graphs"))}
	}
	of.Columns = []table.AlignedColumn{{Name: "id", Text: func(dst []byte, row int64, _ []byte) []byte { return strconv.AppendInt(dst, row, 10) }}}
	return of, nil
}

// ogbSplitShare is the part of the memory that the splits of all nodes may take, as a divisor.
const ogbSplitShare = 4

// splits reads which node is in which split.
func (s *ogbSet) splits(ctx context.Context, nodes, memory int64) ([]cleaner.Split, error) {
	if nodes > memory/ogbSplitShare {
		return nil, &table.Error{Path: s.path(s.split), Msg: fmt.Sprintf("has the splits of %d nodes, want more --memory: %d MiB", nodes, nodes*ogbSplitShare>>20+1)}
	}
	splits := make([]cleaner.Split, nodes)
	for _, name := range ogbSplits {
		split, err := cleaner.ParseSplit(name)
		if err != nil {
			return nil, err
		}
		err = eachNumber(ctx, s.path(filepath.Join(s.split, name+".csv.gz")), memory, func(node int64) error {
			switch {
			case node >= nodes:
				return fmt.Errorf("a node, from 0 to %d", nodes-1)
			case splits[node] != 0 && splits[node] != split:
				return fmt.Errorf("a node that is not in %s too", splits[node])
			}
			splits[node] = split
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return splits, nil
}

// eachNumber calls fn for every number of a file, which has one a row. An error of fn says what is wanted in its place.
func eachNumber(ctx context.Context, path string, memory int64, fn func(n int64) error) (err error) {
	in, err := table.OpenHeadless(ctx, path, memory, "number")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return EachRow(ctx, in, nil, func(row table.Row) error {
		n, err := strconv.ParseInt(view(row.Fields[0]), 10, 64)
		if err != nil || n < 0 {
			return in.Want(row, 0, "a whole number from 0")
		}
		if err := fn(n); err != nil {
			return in.Want(row, 0, err.Error())
		}
		return nil
	})
}

// ogbMatrix is the table of the features of the data set that a path names; false if it names none.
func ogbMatrix(ctx context.Context, path string) (parts table.Parts, ok bool, err error) {
	if !isOGB(ctx, path) {
		return parts, false, nil
	}
	set, err := openOGB(ctx, filepath.Clean(path), path, "--features")
	if err != nil {
		return parts, true, err
	}
	return table.AlignedParts(path, []string{set.path(ogbCount), set.path(ogbFeatures)}, set.features), true, nil
}

// features describes the table of features.
func (s *ogbSet) features(ctx context.Context, memory int64) (of *table.Aligned, err error) {
	if of, err = s.ids(ctx, memory); err != nil {
		return nil, err
	}
	in, err := table.OpenHeadless(ctx, s.path(ogbFeatures), memory)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	for row, err := range in.Rows() {
		if err != nil {
			return nil, err
		}
		for i := range row.Fields {
			of.Columns = append(of.Columns, table.AlignedColumn{Name: "f" + strconv.Itoa(i), Path: in.Path()})
		}
		break
	}
	return of, nil
}

// sayOGB says what is taken of a data set of OGB, if that is what the nodes are of, and what is left out.
func (g *Graph) sayOGB(ctx context.Context, r Job) error {
	path := g.Nodes.only()
	if !isOGB(ctx, path) {
		return nil
	}
	set, err := openOGB(ctx, filepath.Clean(path), path, "--nodes")
	if err != nil {
		return err
	}
	var left []string
	for _, folder := range []string{"raw", "mapping"} {
		entries, err := stream.ReadDir(ctx, set.path(folder))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, entry := range entries {
			switch name := folder + "/" + entry.Name(); {
			case slices.Contains([]string{ogbCount, ogbEdges, ogbLabels, ogbYears, "raw/num-edge-list.csv.gz"}, name):
			case name == ogbFeatures && g.Features != "":
			case name == ogbFeatures:
				left = append(left, name+" (--features "+wording.ShellWord(path)+" takes it)")
			default:
				left = append(left, name)
			}
		}
	}
	text := fmt.Sprintf("%s: is a data set of OGB: nodes have %s", path, strings.Join(set.taken, ", "))
	if left != nil {
		text += "; left out: " + strings.Join(left, ", ")
	}
	r.say("%s", text)
	return nil
}
