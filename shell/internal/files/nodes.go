package files

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/stream"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// nodesFile is a nodes file whose columns are known.
type nodesFile struct {
	in               *table.Reader
	id, label, split int // columns; label and split are -1 where there are none
	properties       []kv.Column
	columns          []int // of the properties
	labels           Form
	classes          map[string]bool // that labels may have; nil: any
}

// openNodes opens a nodes file and decides, by reading it once, of which kind its properties are, but those of known
// kinds.
func (g *Graph) openNodes(ctx context.Context, known map[string]kv.Kind, r Job) (_ *nodesFile, err error) {
	in, columns, err := r.openTable(ctx, g.Nodes, r.nodeFlag(true), 1, nodeNames...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.Close())
		}
	}()
	n := &nodesFile{in: in, id: columns[0], label: columns[1], split: columns[2], labels: g.Form}
	header, err := headerOf(in)
	if err != nil {
		return nil, err
	}
	names, err := r.propertyNames(in, header, columns)
	if err != nil {
		return nil, err
	}
	unknown := false // there is a column whose kind is to be found
	for i, name := range names {
		switch {
		case i == n.split:
			name = "split"
		case i == n.id || i == n.label || name == "":
			continue
		case slices.ContainsFunc(cleaner.ReservedNames, func(word string) bool { return strings.EqualFold(word, name) }):
			return nil, in.HeaderErrorf(name, "is the name of a built-in property, want another: such as --columns my_%s=%d",
				name, i+1)
		}
		kind, isKnown := known[name]
		if i == n.split {
			kind, isKnown = kv.KindString, true
		}
		unknown = unknown || !isKnown
		n.properties = append(n.properties, kv.Column{Name: name, Kind: kind})
		n.columns = append(n.columns, i)
	}
	if !unknown {
		return n, nil
	}
	for _, path := range in.Paths() {
		if info, err := stream.Stat(ctx, path); path == stream.Input || err == nil && !info.Mode().IsRegular() {
			return nil, in.Errorf(0, "", "got a pipe or a device, of which nothing can be read twice, as the kinds of "+
				"properties take: want a file, or the columns id and label alone")
		}
	}
	err = r.Timed("property kinds", func(stage *ops.Stage) error {
		stage.Columns, stage.BytesRead = len(n.columns), n.in.Size()
		return n.guess(ctx, known, r)
	})
	return n, err
}

// guess finds the kinds of the properties but those of known kinds. It reads the file once, through a reader of its
// own.
func (n *nodesFile) guess(ctx context.Context, known map[string]kv.Kind, r Job) (err error) {
	in, err := n.in.Again(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	guesses := make([][]kindGuess, r.goroutines())
	for worker := range guesses {
		guesses[worker] = make([]kindGuess, len(n.columns))
	}
	err = scanRows(ctx, in, len(guesses), r.Progress, func(worker int, c *table.Chunk) error {
		for row, err := range c.Rows() {
			if err != nil {
				return err
			}
			for k, column := range n.columns {
				guesses[worker][k].see(row.Fields[column])
			}
		}
		return nil
	}, nil)
	for k, column := range n.columns {
		for _, guess := range guesses[1:] {
			guesses[0][k].merge(guess[k])
		}
		if _, isKnown := known[n.properties[k].Name]; column != n.split && !isKnown {
			n.properties[k].Kind = guesses[0][k].kind()
		}
	}
	return err
}

// A nodeChunk is a chunk of the nodes file as one goroutine has read it.
type nodeChunk struct {
	nodes  []kv.Node
	values []kv.Value // of the nodes
	bad    error      // of the first row that is none
}

// read hands the nodes to add, in the order of the file.
func (n *nodesFile) read(ctx context.Context, add func(kv.Node) error, r Job) error {
	chunks := make([]nodeChunk, r.goroutines())
	return scanRows(ctx, n.in, len(chunks), r.Progress, func(worker int, c *table.Chunk) error {
		chunk := &chunks[worker]
		chunk.nodes, chunk.values, chunk.bad = chunk.nodes[:0], chunk.values[:0], nil
		for row, err := range c.Rows() {
			if err == nil {
				err = n.parse(row, chunk)
			}
			if err != nil {
				chunk.bad = err
				break
			}
		}
		return nil
	}, func(worker int, _ *table.Chunk) error {
		chunk := &chunks[worker]
		for _, node := range chunk.nodes {
			if err := add(node); err != nil {
				return err
			}
		}
		return chunk.bad
	})
}

// parse adds a row to a chunk; its texts are views of the row's.
func (n *nodesFile) parse(row table.Row, chunk *nodeChunk) error {
	if len(row.Fields[n.id]) == 0 {
		return n.in.Want(row, n.id, "an id")
	}
	node := kv.Node{ID: view(row.Fields[n.id]), Source: row.Line}
	if n.label >= 0 {
		node.Label = n.labels.label(view(row.Fields[n.label]))
		if n.classes != nil && node.Label != "" && !n.classes[node.Label] {
			return n.in.Want(row, n.label, "a class of the run")
		}
	}
	first := len(chunk.values)
	for k, column := range n.columns {
		text := row.Fields[column]
		kind := n.properties[k].Kind
		value, ok := kv.ValueOf(view(text)), true
		if column == n.split && len(text) > 0 {
			split, err := cleaner.ParseSplit(view(text))
			if err != nil {
				return n.in.Want(row, column, "train, val, test or none")
			}
			value = kv.ValueOf(split.String())
		}
		if kind != kv.KindString || len(text) == 0 {
			value, ok = parseValue(kind, text)
		}
		if !ok {
			return n.in.Want(row, column, valueName(kind))
		}
		chunk.values = append(chunk.values, value)
	}
	node.Values = chunk.values[first:]
	chunk.nodes = append(chunk.nodes, node)
	return nil
}
