package cleaner

import (
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// CountRivals is how many other classes a label of so many classes is tested against.
func CountRivals(classes int) int { return labelmodel.CountRivals(classes) }

// A Piece is some nodes of a graph whose cleaning is done in pieces, as Clean with PresetDefault and AsGiven does
// it. Fill it, and call Prepare before anything else. It borrows its slices. One goroutine.
type Piece struct {
	Census      *Census
	Labels      []kv.Class // [rows]
	Splits      []Split    // [rows], those that TakeCensus returned
	Predictions []float32  // [rows×c]; a row of NaN is that of a node without predictions
	Votes       []float64  // [rows×c]: the weights of the neighbours with each given label; Tested and Suggest make use of them

	of    problem // its nodes are the rows
	ranks []int32
}

// Prepare makes the piece ready. Its parts must fit together, and its labels be classes of the census.
func (p *Piece) Prepare() {
	tested := p.of.tested[:0]
	for i, y := range p.Labels {
		if hasNaN(p.row(i)) {
			y = kv.NoClass
		}
		tested = append(tested, y)
	}
	p.of = problem{labels: p.Labels, tested: tested, splits: p.Splits, classes: len(p.Census.Names), taught: p.Census.Taught}
	p.ranks = p.Census.ranks()
}

// ranks are those of the classes.
func (c *Census) ranks() []int32 { return labelmodel.RankClasses(c.Counts, c.Names) }

// row are the predictions of a row.
func (p *Piece) row(i int) []float32 {
	c := len(p.Census.Names)
	return p.Predictions[i*c:][:c]
}

// Tested writes the labels under test [rows×(1+rivals)]: the given label of each row, and its rivals; kv.NoClass
// throughout for a node without a label or predictions. It wants votes.
func (p *Piece) Tested(tested []kv.Class) {
	width := 1 + CountRivals(len(p.Census.Names))
	for i, label := range p.of.tested {
		own := tested[i*width:][:width]
		for j := range own {
			own[j] = kv.NoClass
		}
		if own[0] = label; label != kv.NoClass {
			p.evidence(i).ChooseRivals(label, own[1:])
		}
	}
}

// Suggest writes the suggested label of each row and its prediction [rows]: kv.NoClass and NaN for a node without
// predictions. It wants votes.
func (p *Piece) Suggest(suggested []kv.Class, confidence []float32) {
	for i, label := range p.Labels {
		class, most, tied := likeliest(p.row(i))
		if tied {
			class = p.evidence(i).Suggest(label)
		}
		suggested[i], confidence[i] = class, most
	}
}

func (p *Piece) evidence(i int) labelmodel.Evidence {
	c := len(p.Census.Names)
	return labelmodel.Evidence{Predictions: p.row(i), Votes: p.Votes[i*c:][:c], Ranks: p.ranks}
}

// PickFeatures takes a feature of the labels under test [rows×w] from rows [rows×c] of the predictions, or of S_k P or
// S_k Y: into [rows×w] is NaN where no label is under test.
func PickFeatures(rows []float32, classes int, tested []kv.Class, into []float32) {
	if len(rows) == 0 {
		return
	}
	width := len(tested) / (len(rows) / classes)
	for i, k := range tested {
		if into[i] = float32(math.NaN()); k != kv.NoClass {
			into[i] = rows[i/width*classes+int(k)]
		}
	}
}
