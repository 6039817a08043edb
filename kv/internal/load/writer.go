package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// An EdgeWriter adds edges to a load. Any number may be used at once, each by one goroutine. Close it before Commit,
// which fails otherwise. An error of it ends the load: Commit fails with it.
type EdgeWriter struct {
	l         *Load
	rows      edgeRows    // nil if ids are joined by sorting
	batch     *edgeBatch  // nil if ids are joined by sorting
	join      *dealer     // to the idJoin, if ids are joined by sorting
	value     []byte      // scratch of it
	digits    [2][20]byte // of ids that are integers
	selfLoops int64
	err       error // why it could not begin
	closed    bool
}

// EdgeWriter begins another writer of edges. All nodes must have been added.
func (l *Load) EdgeWriter() *EdgeWriter {
	w := &EdgeWriter{l: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended:
		w.err = fmt.Errorf("loader: %w", record.ErrClosed)
	case l.ids.off:
		w.join = l.join.edges.dealer()
	default:
		w.rows = l.edges.writer()
	}
	if w.err == nil {
		l.writers++
		if !l.ids.off {
			w.batch = &edgeBatch{}
		}
	}
	l.edgesBegun = true
	return w
}

// Add adds an edge between two external ids, of weight 1; unless the load is Directed, its direction does not matter.
// Self loops, and but for weighted loads edges that are there already, are dropped and counted; an id that no node has
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
	return w.l.fail(w.add(src, dst, weight, source))
}

// AddIntegers is Add for ids that are integers from 0 up, in their shortest form.
func (w *EdgeWriter) AddIntegers(src, dst uint64, source int64) error {
	if w.err != nil || w.closed || w.batch == nil || w.l.ids.byText || src >= noInteger || dst >= noInteger {
		first, second := strconv.AppendUint(w.digits[0][:0], src, 10), strconv.AppendUint(w.digits[1][:0], dst, 10)
		return w.Add(viewText(first), viewText(second), source)
	}
	w.batch.add(src, dst, 1, source)
	if w.batch.edges < batchEdges {
		return nil
	}
	return w.l.fail(w.flushBatch())
}

func (w *EdgeWriter) add(src, dst string, weight float32, source int64) error {
	if w.closed {
		return fmt.Errorf("edge writer: %w", record.ErrClosed)
	}
	if weight != 1 && (!w.l.opt.Weighted || !codec.ValidWeight(weight)) {
		return fmt.Errorf("edge at %d: %w: got weight %v", source, graph.ErrInvalidEdge, weight)
	}
	if w.batch == nil {
		return w.addToJoin(src, dst, weight, source)
	}
	if w.l.ids.byText {
		w.batch.addTexts(src, dst, weight, source)
	} else {
		p, q := integerKey(src), integerKey(dst)
		switch {
		case p == noInteger || q == noInteger && !w.l.ids.integers.has(p):
			w.l.unknownEnd(src, source)
			return nil
		case q == noInteger:
			w.l.unknownEnd(dst, source)
			return nil
		}
		w.batch.add(p, q, weight, source)
	}
	if w.batch.edges < batchEdges {
		return nil
	}
	return w.flushBatch()
}

// flushBatch looks the ends of the edges collected up.
func (w *EdgeWriter) flushBatch() error {
	b := w.batch
	defer b.clear()
	b.find(&w.l.ids)
	n := 0 // edges that are kept, at the beginning of the batch
	for i := range b.edges {
		p, q := b.positions[2*i], b.positions[2*i+1]
		switch {
		case p == notFound:
			w.l.unknownEnd(b.id(&w.l.ids, 2*i), b.sources[i])
		case q == notFound:
			w.l.unknownEnd(b.id(&w.l.ids, 2*i+1), b.sources[i])
		case p == q:
			w.selfLoops++
		default:
			b.positions[2*n], b.positions[2*n+1], b.weights[n] = p, q, b.weights[i]
			n++
		}
	}
	return w.rows.add(b.positions[:2*n], b.weights[:n])
}

// Close hands over the edges that are left. Closing twice is harmless.
func (w *EdgeWriter) Close() error {
	if w.err != nil || w.closed {
		return w.err
	}
	w.closed = true
	err := w.l.fail(w.handOver())
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	w.l.writers--
	return err
}

// handOver gives all that the writer has collected to the load.
func (w *EdgeWriter) handOver() error {
	var err error
	if w.batch != nil {
		err = w.flushBatch()
	}
	w.l.mu.Lock()
	w.l.selfLoops += w.selfLoops
	w.l.mu.Unlock()
	if w.join != nil {
		err = errors.Join(err, w.join.flush())
	}
	if w.rows != nil {
		err = errors.Join(err, w.rows.Close())
	}
	return err
}

// ErrWriterOpen is returned by Resolve, which does not have the last edges then.
var ErrWriterOpen = errors.New("kv: an EdgeWriter of the load is not closed")

// AddEdge is EdgeWriter.Add for a caller with one goroutine, the Loader's.
func (l *Load) AddEdge(src, dst string, source int64) error {
	if l.ended {
		return fmt.Errorf("loader: %w", record.ErrClosed)
	}
	if l.single == nil {
		l.single = l.EdgeWriter()
	}
	return l.single.Add(src, dst, source)
}

// closeWriters closes the writer of AddEdge, and makes sure that nobody has another open.
func (l *Load) closeWriters() error {
	if l.single != nil {
		if err := l.single.Close(); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writers > 0 {
		return ErrWriterOpen
	}
	return nil
}

// unknownEnd notes an edge that ends at an id that no node has.
func (l *Load) unknownEnd(id string, source int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unknown.note(id, source, 0)
}

// addToJoin keeps an edge until the ids have been sorted.
func (w *EdgeWriter) addToJoin(src, dst string, weight float32, source int64) error {
	w.value = w.l.join.appendWeight(binary.AppendVarint(w.value[:0], source), weight)
	w.value = append(w.value, dst...)
	return w.join.add(src, w.value)
}
