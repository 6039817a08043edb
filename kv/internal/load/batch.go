package load

import (
	"strconv"
	"unsafe"

	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
)

// batchEdges is how many edges an EdgeWriter collects before it looks their ends up.
const batchEdges = 256

// An edgeBatch holds edges whose ends are looked up together.
type edgeBatch struct {
	edges     int
	sources   [batchEdges]int64
	weights   [batchEdges]float32
	keys      [2 * batchEdges]uint64 // integers, or hashes of texts; of either end
	slots     [2 * batchEdges]uint64
	positions [2 * batchEdges]uint32
	texts     []byte              // the ids, if they are looked up by text
	ends      [2 * batchEdges]int // of each end's text in texts
}

// noInteger is the key of an id that is no integer from 0 up.
const noInteger = 1 << 63

// add takes an edge by the keys of its ends.
func (b *edgeBatch) add(src, dst uint64, weight float32, source int64) {
	i := b.edges
	b.edges++
	b.sources[i], b.weights[i] = source, weight
	b.keys[2*i], b.keys[2*i+1] = src, dst
}

// addTexts takes an edge whose ends are looked up by text.
func (b *edgeBatch) addTexts(src, dst string, weight float32, source int64) {
	b.texts = append(b.texts, src...)
	b.ends[2*b.edges] = len(b.texts)
	b.texts = append(b.texts, dst...)
	b.ends[2*b.edges+1] = len(b.texts)
	b.add(dict.Hash(src), dict.Hash(dst), weight, source)
}

// integerKey is the key of an id that is looked up as an integer.
func integerKey(id string) uint64 {
	k, ok := dict.Integer(id)
	if !ok || k < 0 {
		return noInteger
	}
	return uint64(k)
}

// text is the id of an end that is looked up by text; an edge has two. It is borrowed.
func (b *edgeBatch) text(end int) string {
	begin := 0
	if end > 0 {
		begin = b.ends[end-1]
	}
	return viewText(b.texts[begin:b.ends[end]])
}

// id is the id of an end. It is borrowed.
func (b *edgeBatch) id(x *idIndex, end int) string {
	if x.byText {
		return b.text(end)
	}
	return strconv.FormatUint(b.keys[end], 10)
}

// find sets the positions of all ends.
func (b *edgeBatch) find(x *idIndex) {
	n := 2 * b.edges
	if x.byText {
		x.texts.find(b.keys[:n], b.text, b.slots[:n], b.positions[:n])
		return
	}
	x.integers.find(b.keys[:n], b.positions[:n])
}

// clear makes room for other edges.
func (b *edgeBatch) clear() { b.edges, b.texts = 0, b.texts[:0] }

// viewText is a text without a copy of it.
func viewText(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }
