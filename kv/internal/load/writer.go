package load

import (
	"errors"
	"fmt"
	"strconv"
	"unsafe"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
)

// batchEdges is how many edges an EdgeWriter collects before it looks their ends up.
const batchEdges = 256

// An EdgeWriter is described in kv.
type EdgeWriter struct {
	l         *Load
	rows      edgeRows // nil if ids are joined
	record    []byte   // scratch, if ids are joined
	selfLoops int64
	err       error // why it cannot go on

	// The edges whose ends are looked up next.
	edges     int
	sources   [batchEdges]int64
	weights   [batchEdges]float32
	keys      [2 * batchEdges]uint64 // integers, or hashes of texts; of either end
	positions [2 * batchEdges]uint32
	texts     []byte              // the ids, if they are looked up by text
	ends      [2 * batchEdges]int // of each end's text in texts

	digits [2][20]byte // of ids that are integers
}

// EdgeWriter begins another writer of edges. All nodes must have been added.
func (l *Load) EdgeWriter() *EdgeWriter {
	if l.ended {
		return &EdgeWriter{l: l, err: errEnded}
	}
	w := &EdgeWriter{l: l, err: l.Fail(l.makeIndex(l.ctx))}
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.err == nil && l.ids.join == nil {
		w.rows = l.edges.writer()
	}
	l.writers = append(l.writers, w)
	return w
}

// Add adds an edge between two external ids, of weight 1; unless the load is Directed, its direction does not matter.
// Self loops, and edges that are there already unless weighted, are dropped and counted; an id that no node has
// shows in Commit. Source is the caller's mark for errors. Add keeps neither string.
func (w *EdgeWriter) Add(src, dst string, source int64) error {
	return w.AddWeighted(src, dst, 1, source)
}

// AddWeighted is Add with a weight, which must be finite and greater than 0 and, unless the load is Weighted, 1: an
// ErrInvalidEdge otherwise. That weights add up to more than a float32 holds shows in Commit.
func (w *EdgeWriter) AddWeighted(src, dst string, weight float32, source int64) error {
	if w.err != nil {
		return w.err
	}
	return w.l.Fail(w.add(src, dst, weight, source))
}

// AddIntegers is Add for ids that are integers from 0 up, in their shortest form.
func (w *EdgeWriter) AddIntegers(src, dst uint64, source int64) error {
	if w.err != nil || w.rows == nil || w.l.ids.texts != nil || src >= noInteger || dst >= noInteger {
		first, second := strconv.AppendUint(w.digits[0][:0], src, 10), strconv.AppendUint(w.digits[1][:0], dst, 10)
		return w.Add(viewText(first), viewText(second), source)
	}
	return w.collect(src, dst, 1, source)
}

func (w *EdgeWriter) add(src, dst string, weight float32, source int64) (err error) {
	ids := &w.l.ids
	switch {
	case weight != 1 && (!w.l.opt.Weighted || !codec.ValidWeight(weight)):
		return fmt.Errorf("edge at %d: %w: got weight %v", source, graph.ErrInvalidEdge, weight)
	case ids.join != nil:
		e := joinEdge{source: source, weight: weight, second: dst, end: src}
		w.record, err = ids.join.addTo(ids.join.first, w.record, e)
		return err
	case ids.texts != nil:
		w.texts = append(w.texts, src...)
		w.ends[2*w.edges] = len(w.texts)
		w.texts = append(w.texts, dst...)
		w.ends[2*w.edges+1] = len(w.texts)
		return w.collect(dict.Hash(src), dict.Hash(dst), weight, source)
	}
	p, q := integerKey(src), integerKey(dst)
	switch {
	case p == noInteger:
		w.l.unknownEnd(src, source)
	case q == noInteger:
		w.l.unknownEnd(dst, source)
	default:
		return w.collect(p, q, weight, source)
	}
	return nil
}

// collect takes an edge by the keys of its ends.
func (w *EdgeWriter) collect(src, dst uint64, weight float32, source int64) error {
	i := w.edges
	w.edges++
	w.sources[i], w.weights[i] = source, weight
	w.keys[2*i], w.keys[2*i+1] = src, dst
	if w.edges < batchEdges {
		return nil
	}
	return w.l.Fail(w.flush())
}

// flush looks the ends of the edges collected up.
func (w *EdgeWriter) flush() error {
	n, ids := 2*w.edges, &w.l.ids
	if ids.texts != nil {
		ids.texts.findAll(w.keys[:n], w.id, w.positions[:n])
	} else {
		ids.findIntegers(w.keys[:n], w.positions[:n])
	}
	kept := 0 // edges, at the beginning
	for i := range w.edges {
		p, q := w.positions[2*i], w.positions[2*i+1]
		switch {
		case p == notFound:
			w.l.unknownEnd(w.id(2*i), w.sources[i])
		case q == notFound:
			w.l.unknownEnd(w.id(2*i+1), w.sources[i])
		case p == q:
			w.selfLoops++
		default:
			w.positions[2*kept], w.positions[2*kept+1], w.weights[kept] = p, q, w.weights[i]
			kept++
		}
	}
	w.edges, w.texts = 0, w.texts[:0]
	return w.rows.add(w.positions[:2*kept], w.weights[:kept])
}

// id is the id of an end; an edge has two. It is borrowed.
func (w *EdgeWriter) id(end int) string {
	if w.l.ids.texts == nil {
		return strconv.FormatUint(w.keys[end], 10)
	}
	begin := 0
	if end > 0 {
		begin = w.ends[end-1]
	}
	return viewText(w.texts[begin:w.ends[end]])
}

// viewText is a text without a copy of it.
func viewText(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

// end gives all that the writer has collected to the load.
func (w *EdgeWriter) end() error {
	if w.err != nil {
		return w.err
	}
	w.err = errEnded
	if w.rows == nil {
		return nil
	}
	err := errors.Join(w.flush(), w.rows.Close())
	w.l.stats.SelfLoops += w.selfLoops
	return err
}
