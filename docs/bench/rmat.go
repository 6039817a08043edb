package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// rmatCommand generates a graph. Its files depend on its flags alone, not on the number of processors.
type rmatCommand struct {
	Scale       int     `default:"20" help:"log2 of the number of nodes."`
	Factor      int     `default:"16" help:"Edges a node."`
	Nodes       int     `placeholder:"N" help:"Number of nodes, in place of --scale; need not be a power of two."`
	Edges       int64   `placeholder:"M" help:"Number of edges drawn, in place of --factor."`
	Classes     int     `default:"8" help:"Number of classes, named 0, 1, …"`
	Seed        uint64  `default:"1" help:"The same seed gives the same files."`
	Homophily   float64 `default:"0.1" placeholder:"H" help:"0: plain R-MAT, whose labels say nothing about neighbours; up to 0.19."`
	Wrong       float64 `default:"0.05" help:"Share of nodes given a wrong label."`
	Accuracy    float64 `default:"0.9" help:"Share of nodes whose most probable class is the true one."`
	Format      string  `default:"csv" enum:"csv,npy" help:"Format of the edges: csv or npy (uint32 [m×2])."`
	Predictions string  `default:"predictions.npy" placeholder:"NAME" help:"File of the predictions; empty: none."`
	Splits      string  `placeholder:"A/B/C" help:"Write splits.csv with these shares of train, val and test, such as 0.6/0.2/0.2."`
	Out         string  `required:"" placeholder:"DIR" help:"Directory of the files."`
}

func (*rmatCommand) Help() string {
	return `Writes nodes.csv (id,label), edges.csv (src,dst) and predictions.npy (float32 [nodes×classes], rows sum to ` +
		`1). Edges are drawn one by one from R-MAT with a = 0.57, b = c = 0.19, so their order is random, and loops and ` +
		`parallel edges are among them, as in Graph500. Ids are 0 to nodes-1, permuted; so is the order of the nodes ` +
		`file. Where the number of nodes is no power of two, R-MAT of the next one is drawn, and an edge with an end ` +
		`outside is drawn again.

The true class of a vertex is its lowest bits before the permutation. R-MAT's own quadrants make neighbours agree ` +
		`in a bit no more often than chance has it (a·d ≈ b·c); --homophily H takes a+H, b-H, c-H, d+H for these bits, ` +
		`which leaves the degrees as they are.`
}

// A graphShape has the parameters that a graph's files are generated from.
type graphShape struct {
	rmatCommand
	scale     int
	labelBits int
	split     []float64 // cumulated
	sampler   *edgeSampler
	ids, rows *bijection
}

// rmatReport says what was generated.
type rmatReport struct {
	Nodes          int     `json:"nodes"`
	Edges          int64   `json:"edges"`
	Classes        int     `json:"classes"`
	Seconds        float64 `json:"seconds"`
	EdgesPerSecond float64 `json:"edges_per_second"` // of the edges file alone
	Bytes          int64   `json:"bytes"`
}

func (c *rmatCommand) Run(ctx context.Context, out io.Writer) error {
	report, err := c.generate(ctx)
	if err != nil {
		return err
	}
	return printJSON(out, report)
}

// generate writes the files. On failure it removes the one it was at.
func (c *rmatCommand) generate(ctx context.Context) (*rmatReport, error) {
	shape, err := c.shape()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Out, 0o777); err != nil {
		return nil, err
	}
	report := &rmatReport{Nodes: shape.Nodes, Edges: shape.Edges, Classes: shape.Classes}
	began := time.Now()
	for _, file := range shape.files() {
		start := time.Now()
		size, err := writeFile(ctx, filepath.Join(c.Out, file.name), file)
		if err != nil {
			return nil, err
		}
		report.Bytes += size
		if strings.HasPrefix(file.name, "edges.") {
			report.EdgesPerSecond = float64(shape.Edges) / time.Since(start).Seconds()
		}
	}
	report.Seconds = time.Since(began).Seconds()
	return report, nil
}

// shape checks the flags.
func (c *rmatCommand) shape() (*graphShape, error) {
	s := &graphShape{rmatCommand: *c}
	if s.Nodes == 0 {
		if s.Scale < 0 || s.Scale > 31 {
			return nil, fmt.Errorf("--scale %d: want 0 to 31", s.Scale)
		}
		s.Nodes = 1 << s.Scale
	}
	if s.Nodes < 1 || s.Nodes > 1<<31 {
		return nil, fmt.Errorf("--nodes %d: want 1 to 2^31", s.Nodes)
	}
	if s.Edges == 0 {
		s.Edges = int64(s.Nodes) * int64(s.Factor)
	}
	if s.Edges < 0 {
		return nil, fmt.Errorf("%d edges: want 0 or more", s.Edges)
	}
	s.scale = bits.Len(uint(s.Nodes - 1))
	s.labelBits = bits.Len(uint(max(s.Classes, 1) - 1))
	if s.Classes < 1 || s.labelBits > s.scale {
		return nil, fmt.Errorf("--classes %d: want 1 to the number of nodes, %d", s.Classes, s.Nodes)
	}
	if !(s.Homophily >= 0 && s.Homophily <= quadrantB) {
		return nil, fmt.Errorf("--homophily %v: want 0 to %v", s.Homophily, quadrantB)
	}
	for _, share := range []struct {
		flag  string
		value float64
	}{{"wrong", s.Wrong}, {"accuracy", s.Accuracy}} {
		if !(share.value >= 0 && share.value <= 1) {
			return nil, fmt.Errorf("--%s %v: want 0 to 1", share.flag, share.value)
		}
	}
	if s.Splits != "" {
		total := 0.0
		for field := range strings.SplitSeq(s.Splits, "/") {
			share, err := strconv.ParseFloat(field, 64)
			if err != nil || !(share >= 0) {
				return nil, fmt.Errorf("--splits %s: want three shares, such as 0.6/0.2/0.2", s.Splits)
			}
			total += share
			s.split = append(s.split, total)
		}
		if len(s.split) != len(splitNames) || total > 1+1e-9 {
			return nil, fmt.Errorf("--splits %s: want three shares that sum to at most 1", s.Splits)
		}
	}
	s.sampler = newEdgeSampler(s.Nodes, s.scale, s.labelBits, s.Homophily)
	s.ids = newBijection(s.Nodes, s.Seed, streamIDs)
	s.rows = newBijection(s.Nodes, s.Seed, streamRows)
	return s, nil
}

var splitNames = [...]string{"train", "val", "test"}

// A chunkedFile is a file that is generated in chunks, in parallel.
type chunkedFile struct {
	name   string
	header []byte
	chunks int
	fill   func(dst []byte, chunk int) []byte // appends the chunk
}

const (
	edgesAChunk = 1 << 16
	rowsAChunk  = 1 << 13
)

func (s *graphShape) files() []chunkedFile {
	edgeChunks := int((s.Edges + edgesAChunk - 1) / edgesAChunk)
	rowChunks := (s.Nodes + rowsAChunk - 1) / rowsAChunk
	files := []chunkedFile{
		{"nodes.csv", []byte("id,label\n"), rowChunks, s.nodeRows},
		{"edges.csv", []byte("src,dst\n"), edgeChunks, s.edgeRows},
	}
	if s.Format == "npy" {
		files[1] = chunkedFile{"edges.npy", npyHeader("<u4", s.Edges, 2), edgeChunks, s.edgePairs}
	}
	if s.Predictions != "" {
		header := npyHeader("<f4", int64(s.Nodes), s.Classes)
		files = append(files, chunkedFile{s.Predictions, header, rowChunks, s.predictionRows})
	}
	if s.split != nil {
		files = append(files, chunkedFile{"splits.csv", []byte("id,split\n"), rowChunks, s.splitRows})
	}
	return files
}

// trueClass is the class of a vertex of the unpermuted graph.
func (s *graphShape) trueClass(vertex uint64) int {
	return int(vertex & (1<<s.labelBits - 1) * uint64(s.Classes) >> s.labelBits)
}

// givenLabel is the class that the nodes file names, wrong for a share of the vertices.
func (s *graphShape) givenLabel(vertex uint64) int {
	class := s.trueClass(vertex)
	if s.Classes > 1 && unit(mix(s.Seed, streamWrong, vertex)) < s.Wrong {
		class = s.otherClass(class, mix(s.Seed, streamWrong, ^vertex))
	}
	return class
}

// otherClass is one of the classes but one, uniformly.
func (s *graphShape) otherClass(class int, random uint64) int {
	other, _ := bits.Mul64(random, uint64(s.Classes-1))
	return (class + 1 + int(other)) % s.Classes
}

// chunkRows bounds the rows of a chunk.
func (s *graphShape) chunkRows(chunk int) (first, end uint64) {
	return uint64(chunk) * rowsAChunk, uint64(min((chunk+1)*rowsAChunk, s.Nodes))
}

func (s *graphShape) nodeRows(dst []byte, chunk int) []byte {
	first, end := s.chunkRows(chunk)
	for row := first; row < end; row++ {
		vertex := s.rows.of(row)
		dst = append(strconv.AppendUint(dst, s.ids.of(vertex), 10), ',')
		dst = append(strconv.AppendInt(dst, int64(s.givenLabel(vertex)), 10), '\n')
	}
	return dst
}

func (s *graphShape) splitRows(dst []byte, chunk int) []byte {
	first, end := s.chunkRows(chunk)
	for row := first; row < end; row++ {
		vertex := s.rows.of(row)
		dst = append(strconv.AppendUint(dst, s.ids.of(vertex), 10), ',')
		dst = append(append(dst, s.splitOf(vertex)...), '\n')
	}
	return dst
}

func (s *graphShape) splitOf(vertex uint64) string {
	at := unit(mix(s.Seed, streamSplit, vertex))
	for i, end := range s.split {
		if at < end {
			return splitNames[i]
		}
	}
	return "none"
}

// eachEdge draws the edges of a chunk.
func (s *graphShape) eachEdge(chunk int, visit func(src, dst uint64)) {
	r := rand.NewPCG(mix(s.Seed, streamEdges, uint64(2*chunk)), mix(s.Seed, streamEdges, uint64(2*chunk+1)))
	first := int64(chunk) * edgesAChunk
	for range min(edgesAChunk, s.Edges-first) {
		src, dst := s.sampler.draw(r)
		visit(s.ids.of(uint64(src)), s.ids.of(uint64(dst)))
	}
}

func (s *graphShape) edgeRows(dst []byte, chunk int) []byte {
	s.eachEdge(chunk, func(u, v uint64) {
		dst = append(strconv.AppendUint(dst, u, 10), ',')
		dst = append(strconv.AppendUint(dst, v, 10), '\n')
	})
	return dst
}

func (s *graphShape) edgePairs(dst []byte, chunk int) []byte {
	s.eachEdge(chunk, func(u, v uint64) {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(u))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
	})
	return dst
}

// predictionRows gives the predicted class of each node between a half and all of the probability, and divides the rest
// at random.
func (s *graphShape) predictionRows(dst []byte, chunk int) []byte {
	r := rand.NewPCG(mix(s.Seed, streamPredictions, uint64(2*chunk)), mix(s.Seed, streamPredictions, uint64(2*chunk+1)))
	first, end := s.chunkRows(chunk)
	row := make([]float32, s.Classes)
	for i := first; i < end; i++ {
		peak := s.trueClass(s.rows.of(i))
		if s.Classes > 1 && unit(r.Uint64()) >= s.Accuracy {
			peak = s.otherClass(peak, r.Uint64())
		}
		rest, random := float32(0), uint64(0)
		for j := range row {
			if j&3 == 0 {
				random = r.Uint64()
			}
			row[j] = float32(random&0xffff+1) * 0x1p-16
			random >>= 16
			if j != peak {
				rest += row[j]
			}
		}
		row[peak] = 1
		if s.Classes > 1 {
			row[peak] = (1 + row[peak]*float32(unit(r.Uint64()))) / 2
			scale := (1 - row[peak]) / rest
			for j := range row {
				if j != peak {
					row[j] *= scale
				}
			}
		}
		for _, p := range row {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(p))
		}
	}
	return dst
}

// npyHeader is the head of a .npy file of format 1.0, [rows×columns] in C order.
func npyHeader(kind string, rows int64, columns int) []byte {
	const preamble = 10 // magic, version, length
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", kind, rows, columns)
	padding := 64 - (preamble+len(text)+1)%64
	text += strings.Repeat(" ", padding) + "\n"
	header := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), byte(len(text)>>8))
	return append(header, text...)
}
