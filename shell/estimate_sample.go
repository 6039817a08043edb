package shell

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"sort"
	"strconv"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/npy"
	"github.com/graphcleaner/graphcleaner/shell/stream"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// How much of a file is looked at, in stretches spread over it: a file of at most sampledBytes is read as a whole.
const (
	sampledBytes = 32 << 20
	sampledPart  = 256 << 10
	sampledRows  = 1 << 21 // of a file in which no place can be gone to
)

// A fileSample is some rows of a file, and how many there are.
type fileSample struct {
	rows  [][]string // the columns asked for
	total int64      // rows of the file, about
	whole bool       // rows are all of it
}

// share is the part of the rows that is in the sample: 1 of a file without rows.
func (s *fileSample) share() float64 {
	if s.total == 0 {
		return 1
	}
	return min(1, float64(len(s.rows))/float64(s.total))
}

// sampleTable looks at the columns of a table that find finds; one at place -1 is empty.
func sampleTable(ctx context.Context, of table.Parts, memory int64, find func(*table.Reader) ([]int, error)) (*fileSample, error) {
	in, err := table.Open(ctx, of, memory)
	if err != nil {
		return nil, err
	}
	columns, err := find(in)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	if separator, ok := in.Plain(); ok && in.Size() > sampledBytes {
		s, err := sampleText(ctx, of, separator, columns)
		if err != nil || len(s.rows) > 0 {
			return s, errors.Join(err, in.Close())
		}
	}
	s := &fileSample{whole: true}
	for row, err := range in.Rows() {
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		if len(s.rows) == sampledRows {
			s.whole = false
			break
		}
		if len(s.rows)%checkEvery == 0 && ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), in.Close())
		}
		values := make([]string, len(columns))
		for i, column := range columns {
			if column >= 0 {
				values[i] = string(row.Fields[column])
			}
		}
		s.rows = append(s.rows, values)
	}
	if s.total = int64(len(s.rows)); !s.whole {
		s.total = int64(float64(s.total) * float64(in.Size()) / float64(max(in.Offset(), 1)))
	}
	return s, in.Close()
}

// sampleText reads stretches of large text files. Lines with a quote are left out.
func sampleText(ctx context.Context, parts table.Parts, separator byte, columns []int) (s *fileSample, err error) {
	paths := parts.Paths()
	ends, size := make([]int64, len(paths)), int64(0) // of the files, one behind the other
	for i, path := range paths {
		info, err := stream.Stat(ctx, path)
		if err != nil {
			return nil, err
		}
		size += info.Size()
		ends[i] = size
	}
	s = &fileSample{}
	stretches := sampledBytes / sampledPart
	step := size / int64(stretches)
	buf, seen := make([]byte, sampledPart), int64(0)
	for i := range stretches {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at := int64(i) * step
		part := sort.Search(len(ends), func(part int) bool { return ends[part] > at })
		if part > 0 {
			at -= ends[part-1]
		}
		n, err := readStretch(ctx, paths[part], buf, at)
		if err != nil {
			return nil, err
		}
		text := buf[:n]
		text = text[bytes.IndexByte(text, '\n')+1 : bytes.LastIndexByte(text, '\n')+1] // whole lines, no header
		seen += int64(len(text))
		for len(text) > 0 {
			end := bytes.IndexByte(text, '\n')
			line := bytes.TrimSuffix(text[:end], []byte{'\r'})
			text = text[end+1:]
			if bytes.IndexByte(line, '"') >= 0 {
				continue
			}
			fields := bytes.Split(line, []byte{separator})
			values := make([]string, len(columns))
			for j, column := range columns {
				if column >= 0 && column < len(fields) {
					values[j] = string(fields[column])
				}
			}
			s.rows = append(s.rows, values)
		}
	}
	s.total = int64(float64(len(s.rows)) * float64(size) / float64(max(seen, 1)))
	return s, nil
}

// readStretch reads from a place of a file on, and returns how much there was.
func readStretch(ctx context.Context, path string, buf []byte, at int64) (n int, err error) {
	f, err := stream.Open(ctx, path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if n, err = f.ReadAt(buf, at); errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// arrayRows is how many edges of an array are read at once.
const arrayRows = 16 << 10

// checkEvery is how many rows are gone over between two looks at the context.
const checkEvery = 4096

// sampleArray looks at edges in an array of integers.
func sampleArray(ctx context.Context, path string) (s *fileSample, err error) {
	in, err := npy.OpenIntegers(ctx, path, 2)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	s = &fileSample{total: in.NumRows(), whole: in.NumRows() <= sampledRows}
	parts := int64(1)
	if !s.whole {
		parts = sampledRows / arrayRows
	}
	var raw []byte
	for i := range parts {
		first, end := in.NumRows()*i/parts, in.NumRows()
		if !s.whole {
			end = min(end, first+arrayRows)
		}
		for ; first < end; first += arrayRows {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			ids := make([]int64, 2*min(arrayRows, end-first))
			if raw, err = in.Read(first, ids, raw); err != nil {
				return nil, err
			}
			for j := 0; j < len(ids); j += 2 {
				s.rows = append(s.rows, []string{strconv.FormatInt(ids[j], 10), strconv.FormatInt(ids[j+1], 10)})
			}
		}
	}
	return s, nil
}

// An edgeCount is what is known of the edges of a graph.
type edgeCount struct {
	rows, edges int64 // of the file, and what is left without loops and parallel ones, in either direction
	weights     int   // that differ, at most manyWeights; 0: there are none
	sample      *ops.EdgeSample
	shape       ops.Shape // its form
	share       float64
	text        bool // some id is no integer
}

// manyWeights is more weights than are kept in a table.
const manyWeights = 1 << 10

// countEdges looks at a file of edges. Of the shape it takes Directed.
func countEdges(ctx context.Context, names files.Names, r files.Job, shape ops.Shape) (c edgeCount, err error) {
	var s *fileSample
	if len(names) == 1 && files.IsArray(names[0]) {
		s, err = sampleArray(ctx, names[0])
	} else if parts, find := r.EdgeTable(ctx, names); find != nil {
		err = find
	} else {
		s, err = sampleTable(ctx, parts, r.Memory, r.EdgePlaces)
	}
	if err != nil {
		return c, err
	}
	number, weights := make(map[string]uint32), make(map[string]bool)
	find := func(id string) uint32 {
		v, ok := number[id]
		if !ok {
			v = uint32(len(number))
			number[id] = v
			if _, err := strconv.ParseInt(id, 10, 64); err != nil {
				c.text = true
			}
		}
		return v
	}
	edges := make([][2]uint32, len(s.rows))
	for i, row := range s.rows {
		edges[i] = [2]uint32{find(row[0]), find(row[1])}
		if len(row) > 2 && row[2] != "" && len(weights) < manyWeights {
			weights[row[2]] = true
		}
	}
	shape.Weighted = len(weights) > 0
	c.rows, c.share, c.weights, c.shape = s.total, s.share(), len(weights), shape
	c.sample = ops.NewEdgeSample(len(number), edges, c.share, shape)
	c.edges = edgesLeft(edges, len(number), c.sample.Edges(), c.share)
	return c, nil
}

// edgesLeft is how many edges there are in all of a file without loops and parallel ones. How fast the latter grow with the
// size of a sample is seen in half of it.
func edgesLeft(edges [][2]uint32, nodes int, rows int64, share float64) int64 {
	loops := 0
	var half [][2]uint32
	for i, e := range edges {
		if e[0] == e[1] {
			loops++
		}
		if i%2 == 0 {
			half = append(half, e)
		}
	}
	parallel := float64(len(edges)) - float64(loops) - float64(rows)
	all := float64(len(edges)-loops) / share
	if parallel == 0 || share == 1 {
		return int64(all - parallel/share)
	}
	halfLoops := 0
	for _, e := range half {
		if e[0] == e[1] {
			halfLoops++
		}
	}
	ofHalf := float64(len(half)-halfLoops) - float64(ops.NewEdgeSample(nodes, half, share/2, ops.Shape{}).Edges())
	power := min(max(math.Log2(parallel/max(ofHalf, 1)), 1), 2)
	return int64(max(all-parallel*math.Pow(1/share, power), all/2))
}

// powerLaw is the edges of a graph of which nothing is known but its size: the degree of the r-th node falls with
// r^(-2/3), so that there are d^(-2.5) times as many nodes of degree d.
func powerLaw(nodes, edges int64, shape ops.Shape) edgeCount {
	random := rand.New(rand.NewPCG(1, 1))
	number := make(map[int64]uint32)
	find := func() uint32 {
		x := random.Float64()
		id := int64(x * x * x * float64(nodes))
		v, ok := number[id]
		if !ok {
			v = uint32(len(number))
			number[id] = v
		}
		return v
	}
	pairs := make([][2]uint32, min(edges, sampledRows/2))
	for i := range pairs {
		pairs[i] = [2]uint32{find(), find()}
	}
	c := edgeCount{rows: edges, edges: edges, shape: shape, share: float64(len(pairs)) / float64(max(edges, 1))}
	c.sample = ops.NewEdgeSample(len(number), pairs, c.share, shape)
	return c
}

// A nodeCount is what is known of the nodes of a graph.
type nodeCount struct {
	nodes, labelled, idBytes int64
	classes                  int
	splits                   []int64 // of labelled nodes, by cleaner.Split; nil: the file has no such column
	share                    float64 // of the rows that was looked at; 0: there is no file
	text                     bool    // some id is no integer
}

// countNodes looks at a file of nodes, with labels in a form.
func countNodes(ctx context.Context, names files.Names, form files.Form, r files.Job) (c nodeCount, err error) {
	parts, err := r.NodeTable(ctx, names)
	if err != nil {
		return c, err
	}
	s, err := sampleTable(ctx, parts, r.Memory, r.NodePlaces)
	if err != nil {
		return c, err
	}
	c.nodes, c.share = s.total, s.share()
	classes, labelOf := map[string]bool{}, form.Labels()
	splits := make([]int64, cleaner.SplitTest+1)
	for _, row := range s.rows {
		if _, err := strconv.ParseInt(row[0], 10, 64); err != nil {
			c.text = true
		}
		c.idBytes += int64(len(row[0]))
		label := labelOf(row[1])
		if label == "" {
			continue
		}
		c.labelled++
		classes[label] = true
		if split, err := cleaner.ParseSplit(row[2]); err == nil && row[2] != "" { // import says what is none
			splits[split]++
			c.splits = splits
		}
	}
	c.classes = len(classes)
	c.idBytes, c.labelled = int64(float64(c.idBytes)/c.share), min(c.nodes, int64(float64(c.labelled)/c.share+0.5))
	for split := range splits {
		splits[split] = int64(float64(splits[split])/c.share + 0.5)
	}
	return c, nil
}

// countSplits looks at a file of splits, whose nodes are all taken to be labelled: how many are in each, by cleaner.Split.
func countSplits(ctx context.Context, path string, r files.Job) (splits []int64, share float64, err error) {
	parts, err := table.FindParts(ctx, path)
	if err != nil {
		return nil, 0, err
	}
	s, err := sampleTable(ctx, parts.WithForm(r.Text, nil), r.Memory, r.SplitPlaces)
	if err != nil {
		return nil, 0, err
	}
	splits, share = make([]int64, cleaner.SplitTest+1), s.share()
	for _, row := range s.rows {
		if split, err := cleaner.ParseSplit(row[1]); err == nil { // import says what is none
			splits[split]++
		}
	}
	for split := range splits {
		splits[split] = int64(float64(splits[split])/share + 0.5)
	}
	return splits, share, nil
}

// A fileShape is what is known of a matrix in a file.
type fileShape struct {
	columns int
	filled  float64 // share of the values that are not zero
	equal   bool    // those values are all equal
}

// shapedRows is how many rows of a matrix are looked at.
const shapedRows = 256

// countColumns looks at a file with a matrix of a name, or takes the number of its columns; no text is no matrix.
func countColumns(ctx context.Context, text, flag, name string, r files.Job) (shape fileShape, err error) {
	if text == "" {
		return shape, nil
	}
	if columns, err := strconv.Atoi(text); err == nil {
		if columns < 1 {
			return shape, usagef("%s %s: want a file, or a number of columns", flag, text)
		}
		return fileShape{columns: columns, filled: 1}, nil
	}
	rows, filled, first := 0, 0, 0.0
	shape.equal = true
	shape.columns, err = r.SampleMatrix(ctx, text, name, shapedRows, func(row []float64) {
		rows++
		for _, x := range row {
			if x == 0 {
				continue
			}
			if filled++; filled == 1 {
				first = x
			}
			shape.equal = shape.equal && x == first
		}
	})
	shape.filled = float64(filled) / float64(max(rows*shape.columns, 1))
	return shape, err
}
