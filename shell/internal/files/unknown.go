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

// plainID is an id without blanks around it and without the .0 of a whole number.
func plainID(id string) string { return strings.TrimSuffix(strings.TrimSpace(id), ".0") }

// endsHint says how the ends of edges, the unknown one among them, differ from the ids of the nodes file. It is empty
// if no difference is known that explains all of them. It reads the beginning of the edges and the nodes file.
func (g *Graph) endsHint(ctx context.Context, unknown string, r Job) (hint string, err error) {
	for _, path := range slices.Concat(g.nodeParts.Paths(), g.edgeParts.Paths()) {
		if info, err := stream.Stat(ctx, path); path == stream.Input || err != nil || !info.Mode().IsRegular() {
			return "", nil // it cannot be read again
		}
	}
	r.Notice, r.OnStage, r.Progress, r.Bad, r.Workers = nil, nil, nil, nil, 1
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
		if number, err := strconv.ParseInt(id, 10, 64); err == nil {
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
		what := "it is written with blanks around it"
		if strings.TrimSpace(alike) != strings.TrimSpace(unknown) {
			what = "numbers are written with .0 (as integers that pandas made floats)"
		}
		return fmt.Sprintf("%s has the id %q: in one of the files %s. Write ids in the same way in both",
			g.Nodes, wording.Short(alike), what), nil
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
	return "", nil
}
