package cleaner

import (
	"cmp"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Rows are compared in blocks. A block is misplaced if the labels of its nodes agree with its predictions as those of
// any nodes would, though nodes of the same classes agree in the best blocks. Chance makes a block of a file so with
// misplacedChance at most.
const (
	misplacedBlocks = 64  // at most
	misplacedRows   = 200 // of a block at least
	misplacedClass  = 10  // nodes of a class in the best blocks that tell how often its labels agree
	misplacedChance = 1e-9
)

// MisplacedRows are rows that may be those of other nodes: their predictions agree with the labels no more than by
// chance, unlike those of the best rows.
type MisplacedRows struct {
	First, Last         int64     // where the rows stand, as At said
	FirstNode, LastNode kv.NodeID // whose rows they are by their place
	Nodes, Matches      int64     // labelled nodes with one largest prediction, and those of them whose label it is
	Expected            float64   // how many would match if they did as often as in the best rows
}

// A rowBlock counts the nodes of a run of rows by class.
type rowBlock struct {
	labels, predictions, matches []float64 // [c]
	nodes, all, chance           float64   // all: matches; chance: of the rows in any order
}

// chanceOf is how many nodes of a class would match if rows were shuffled.
func (b *rowBlock) chanceOf(class int) float64 {
	return float64(b.labels[class] * b.predictions[class] / max(b.nodes, 1))
}

// misplaced finds rows of other nodes by the labels that count has read.
func (o *agreementCounter) misplaced(classes int) (found []MisplacedRows) {
	size := max((len(o.rows)+misplacedBlocks-1)/misplacedBlocks, misplacedRows)
	if classes > math.MaxInt32/misplacedBlocks/4 || len(o.rows) < 2*size {
		return nil
	}
	var blocks []*rowBlock
	for rows := range slices.Chunk(o.rows, size) {
		b := &rowBlock{
			labels: make([]float64, classes), predictions: make([]float64, classes), matches: make([]float64, classes),
		}
		for _, row := range rows {
			y, top := o.given[row.node/o.stride], o.top[row.node/o.stride]
			if y == kv.NoClass || top == kv.NoClass {
				continue
			}
			b.nodes++
			b.labels[y]++
			b.predictions[top]++
			if y == top {
				b.all++
				b.matches[y]++
			}
		}
		for j := range b.labels {
			b.chance += b.chanceOf(j)
		}
		blocks = append(blocks, b)
	}
	best := slices.Clone(blocks)
	gain := func(b *rowBlock) float64 { return (b.all - b.chance) / max(b.nodes, 1) }
	slices.SortStableFunc(best, func(a, b *rowBlock) int { return cmp.Compare(gain(b), gain(a)) })
	best = best[:max(len(best)/8, 1)]
	adjacent := false // to the last block that was found
	for i, b := range blocks {
		expected, isMisplaced := b.isMisplaced(best, float64(len(blocks)))
		if isMisplaced {
			rows := o.rows[i*size : min((i+1)*size, len(o.rows))]
			if !adjacent {
				found = append(found, MisplacedRows{First: rows[0].at, FirstNode: rows[0].node})
			}
			a, last := &found[len(found)-1], rows[len(rows)-1]
			a.Last, a.LastNode = last.at, last.node
			a.Nodes, a.Matches, a.Expected = a.Nodes+int64(b.nodes), a.Matches+int64(b.all), a.Expected+expected
		}
		adjacent = isMisplaced
	}
	return found
}

// isMisplaced says whether a block is misplaced, of so many, and how many of its nodes would match if they did as in
// the best blocks. Of classes that those lack nothing is known. By Chernoff's bound, x nodes or fewer match where e are
// expected with chance exp(x − e − x·ln(x/e)) at most.
func (b *rowBlock) isMisplaced(best []*rowBlock, blocks float64) (expected float64, ok bool) {
	var matches, possible, chance float64
	for j, n := range b.labels {
		possible += min(n, b.predictions[j])
		var known, right float64
		for _, of := range best {
			known += of.labels[j]
			right += of.matches[j]
		}
		if known < misplacedClass {
			continue
		}
		matches += b.matches[j]
		chance += b.chanceOf(j)
		expected += float64(n * right / known)
	}
	// Predictions that are all the same, of nodes that a classifier knows nothing of, match by chance wherever they stand.
	most := chance + 2*math.Sqrt(chance)
	if expected <= chance || matches > most || 2*possible < b.nodes {
		return expected, false
	}
	odds := matches - expected
	if matches > 0 {
		odds -= float64(matches * elementary.Log(matches/expected))
	}
	return expected, odds < elementary.Log(misplacedChance/blocks)
}
