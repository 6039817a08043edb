package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// adviseEnds is explain, which also says what to do about the end of an edge that is no node.
func (g *Graph) adviseEnds(ctx context.Context, err error, r Job) error {
	unknown, ok := errors.AsType[*kv.UnknownNodeError](err)
	if err = g.explain(err); !ok {
		return err
	}
	first := ""
	if g.firstID != "" {
		first = fmt.Sprintf(" (the first is %q)", wording.Short(g.firstID))
	}
	hint, failed := g.endsHint(ctx, unknown.ID, r)
	if failed != nil || hint == "" {
		hint = "--edge-nodes makes such ids nodes without a label"
	}
	return fmt.Errorf("%w%s; %s", err, first, hint)
}

// hintEnds is how many ends at the beginning of the edges are looked at to find out how they differ from ids.
const hintEnds = 4096

// firstEnds takes the first ends of edges.
type firstEnds map[string]bool

var errEnough = errors.New("enough ends")

// Add takes the ends of an edge.
func (f firstEnds) Add(src, dst string, _ int64) error {
	f[strings.Clone(src)], f[strings.Clone(dst)] = true, true
	if len(f) >= hintEnds {
		return errEnough
	}
	return nil
}

// AddWeighted takes the ends of an edge.
func (f firstEnds) AddWeighted(src, dst string, _ float32, source int64) error {
	return f.Add(src, dst, source)
}

// plainID maps the ways to write an id to one: blanks around it, and numbers such as 7.0 and 007.
func plainID(id string) string { return numberKey(strings.TrimSpace(id)) }

// writtenAs says how an id, which is unknown, differs from one that is known and that it may stand for.
func writtenAs(unknown, known string) string {
	what := "numbers have zeros in front, or are written otherwise"
	switch {
	case strings.TrimSpace(unknown) == strings.TrimSpace(known):
		what = "it is written with blanks around it"
	case strings.HasSuffix(unknown, ".0") || strings.HasSuffix(known, ".0"):
		what = "numbers are written with .0 (as integers that pandas made floats)"
	}
	return fmt.Sprintf("has the id %q: in one of the files %s. Write ids in the same way in both",
		wording.Short(known), what)
}

// areFiles says whether all paths are of files, which can be read again.
func areFiles(ctx context.Context, paths []string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool {
		info, err := stream.Stat(ctx, path)
		return path == stream.Input || err != nil || !info.Mode().IsRegular()
	})
}

// quiet is a job that tells nobody anything, for what is read again.
func (r Job) quiet() Job {
	r.Notice, r.OnStage, r.Progress, r.Workers = nil, nil, nil, 1
	return r
}

// endColumns says which two columns of a table of edges have ids of nodes, if no others do and they are not those that
// edges are read from: the second column of triples names what the edge means. It is empty otherwise. It reads the
// beginning of the edges and the nodes file.
func (g *Graph) endColumns(ctx context.Context, r Job) (hint string, err error) {
	r = r.quiet()
	parts, err := r.EdgeTable(ctx, g.Edges)
	if err != nil || IsArray(g.Edges.only()) || !areFiles(ctx, slices.Concat(g.nodeParts.Paths(), parts.Paths())) {
		return "", nil
	}
	in, err := r.open(ctx, parts)
	if err != nil {
		return "", nil
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	unknown := make([]map[string]bool, len(in.Header())) // values that are no ids, as far as is known
	first := make([]map[string]bool, len(in.Header()))   // the same of the header, which may be a row
	for i, name := range in.Header() {
		unknown[i], first[i] = map[string]bool{}, map[string]bool{name: true}
	}
	count := 0
	for row, err := range in.Rows() {
		if count++; err != nil || count > hintEnds {
			break
		}
		for i, field := range row.Fields {
			unknown[i][string(field)] = true
		}
	}
	nodes, ids, err := r.openNodeTable(ctx, g.Nodes)
	if err != nil {
		return "", nil
	}
	defer func() { err = errors.Join(err, nodes.Close()) }()
	for row, err := range nodes.Rows() {
		if err != nil || ctx.Err() != nil {
			return "", nil
		}
		for i := range unknown {
			delete(unknown[i], string(row.Fields[ids[0]]))
			delete(first[i], string(row.Fields[ids[0]]))
		}
	}
	var ends []int
	for i := range unknown {
		if len(unknown[i]) == 0 {
			ends = append(ends, i)
		}
	}
	read := []int{0, 1} // which are advised where the header is missing
	if places, err := r.EdgePlaces(in); err == nil {
		read = places[:2]
		slices.Sort(read)
	}
	if len(ends) != 2 || slices.Equal(ends, read) {
		return "", nil
	}
	flags, src, dst := "", reference(in.Header(), ends[0]), reference(in.Header(), ends[1])
	if !in.Numbered() && len(first[ends[0]]) == 0 && len(first[ends[1]]) == 0 {
		flags, src, dst = "--no-header ", strconv.Itoa(ends[0]+1), strconv.Itoa(ends[1]+1)
	}
	return fmt.Sprintf("the columns %s and %s have ids of nodes, and no other: add %s--edge-columns %s", src, dst, flags,
		wording.ShellWord(r.EdgeColumns.with("src", src).with("dst", dst).String())), nil
}

// endsHint says how the ends of edges, the unknown one among them, differ from the ids of the nodes file. It is empty
// if no difference is known that explains all of them. It reads the beginning of the edges and the nodes file.
func (g *Graph) endsHint(ctx context.Context, unknown string, r Job) (hint string, err error) {
	if !areFiles(ctx, slices.Concat(g.nodeParts.Paths(), g.edgeParts.Paths())) {
		return "", nil
	}
	if hint, err := g.endColumns(ctx, r); hint != "" || err != nil {
		return hint, err
	}
	r = r.quiet()
	edges, err := openEdges(ctx, g.Edges, nil, r)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, edges.close()) }()
	ends := firstEnds{unknown: true}
	if _, err := edges.read(ctx, []edgeTaker{ends}, r); err != nil && !errors.Is(err, errEnough) {
		return "", nil // what is wrong with another edge is no hint
	}
	in, places, err := r.openNodeTable(ctx, g.Nodes)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, in.Close()) }()

	plain, alike := plainID(unknown), ""                // an id that is unknown but for the way it is written
	rows, numbers := 0, 0                               // of the nodes file, and those whose id is an integer
	less, more := map[string]bool{}, map[string]bool{}  // ends that are ids if they are one less or one more
	others := make([]map[string]bool, len(in.Header())) // ends that a column has; nil if it has one twice
	for i := range others {
		others[i] = map[string]bool{}
	}
	for row, err := range in.Rows() {
		if err != nil {
			return "", nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		id := string(row.Fields[places[0]])
		if plainID(id) == plain {
			alike = id
		}
		rows++
		if number, err := strconv.ParseInt(id, 10, 64); err == nil {
			numbers++
			if end := strconv.FormatInt(number+1, 10); ends[end] {
				less[end] = true
			}
			if end := strconv.FormatInt(number-1, 10); ends[end] {
				more[end] = true
			}
		}
		for i, field := range row.Fields {
			if others[i] == nil || !ends[string(field)] {
				continue
			}
			if others[i][string(field)] {
				others[i] = nil
			} else {
				others[i][string(field)] = true
			}
		}
	}
	if alike != "" {
		return g.Nodes.String() + " " + writtenAs(unknown, alike), nil
	}
	for place, column := range others {
		if place != places[0] && len(column) == len(ends) && len(ends) > 1 {
			advised := r.Columns.with("id", reference(in.Header(), place))
			if strings.EqualFold(in.Header()[places[0]], "id") { // which names no property
				advised = advised.with("my_id", in.Header()[places[0]])
			}
			return fmt.Sprintf("the column %s has these ids: add --columns %s",
				reference(in.Header(), place), wording.ShellWord(advised.String())), nil
		}
	}
	for _, by := range []struct {
		ends map[string]bool
		word string
	}{{less, "less"}, {more, "more"}} {
		if len(by.ends) == len(ends) && len(ends) > 2 {
			return fmt.Sprintf("all ends of edges that were looked at are ids if they are 1 %s: "+
				"one of the files counts nodes from 0, the other from 1. Count alike in both", by.word), nil
		}
	}
	if 2*len(others[places[0]]) >= len(ends) || numbers > 0 && !IsArray(g.Edges.only()) {
		return "", nil
	}
	for end := range ends {
		if number, err := strconv.Atoi(end); err != nil || number < 0 || number > rows {
			return "", nil
		}
	}
	return fmt.Sprintf("these numbers seem to be positions of rows of %s, as in edge_index of PyG: %s",
		g.Nodes, saveIDs), nil
}
