package cleaner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A labelNoise is a way to corrupt labels on purpose.
type labelNoise struct {
	asymmetric bool
	rate       float64 // share of the labelled nodes

	// flip, where not nil, is used instead [c×c]: row j is the distribution of the label given to a node of class j. A
	// row of NaN leaves the class as it is.
	flip [][]float64
}

// parseLabelNoise reads sym:RATE or asym:RATE.
func parseLabelNoise(text string) (labelNoise, error) {
	kind, number, _ := strings.Cut(text, ":")
	rate, err := strconv.ParseFloat(number, 64)
	if kind != "sym" && kind != "asym" || err != nil || !(rate > 0 && rate < 1) {
		return labelNoise{}, fmt.Errorf("noise %q: want sym:RATE or asym:RATE with a rate between 0 and 1: %w", text, ErrOptions)
	}
	return labelNoise{asymmetric: kind == "asym", rate: rate}, nil
}

// noiseSumTolerance is how far from 1 a column of a transition matrix may add up: what it lost where it was printed.
const noiseSumTolerance = 1e-3

// matrixNoise is the noise of a transition matrix Q[i][j] = P(ỹ = i | y* = j) [c×c], such as TransitionMatrix. A column
// of NaN or zeros, a class without mass, leaves its class as it is.
func matrixNoise(transition [][]float64, classes []string) (labelNoise, error) {
	c := len(classes)
	if len(transition) != c {
		return labelNoise{}, fmt.Errorf("transition matrix: got %d rows, want %d, one a class: %w",
			len(transition), c, ErrShape)
	}
	for i, row := range transition {
		if len(row) != c {
			return labelNoise{}, fmt.Errorf("transition matrix: row %d has %d numbers, want %d, one a class: %w",
				i+1, len(row), c, ErrShape)
		}
	}
	flip := newMatrix(c)
	for j, row := range flip {
		var mass float64
		empty := true
		for i := range c {
			q := transition[i][j]
			row[i] = q
			if q != 0 && !math.IsNaN(q) {
				empty = false
			}
			mass += q
		}
		if empty {
			for i := range row {
				row[i] = math.NaN()
			}
			continue
		}
		for i, q := range row {
			if !(q >= 0 && q <= 1+noiseSumTolerance) {
				return labelNoise{}, fmt.Errorf(
					"transition matrix: the chance that class %s is given label %s is %v, want 0 to 1: %w",
					classes[j], classes[i], q, ErrOptions)
			}
			row[i] /= mass
		}
		if math.Abs(mass-1) > noiseSumTolerance {
			return labelNoise{}, fmt.Errorf("transition matrix: the column of class %s adds up to %.6g, want 1: %w",
				classes[j], mass, ErrOptions)
		}
	}
	return labelNoise{flip: flip}, nil
}

// inject returns labels [n] that are wrong in part, drawn in file order over all splits; labels is left as it is.
//
// Of a rate, that share of them, rounded to whole nodes, is wrong: symmetric noise gives a node any other class with
// equal chance, asymmetric noise gives class i always class i+1, the last the first. Of a matrix, every node is given a
// label drawn from the distribution of its class, which may be its own.
func (n labelNoise) inject(labels []kv.Class, order nodeOrder, classes int, seed uint64) ([]kv.Class, error) {
	noisy := append([]kv.Class(nil), labels...)
	random := rand.New(rand.NewPCG(seed, streamLabelNoise))
	if n.flip != nil {
		for v, err := range order {
			if err != nil {
				return nil, err
			}
			if y := labels[v]; y != kv.NoClass {
				u := random.Float64() // also where nothing is drawn, so that classes do not depend on each other
				if !math.IsNaN(n.flip[y][y]) {
					noisy[v] = draw(n.flip[y], u)
				}
			}
		}
		return noisy, nil
	}
	var labelled []kv.NodeID
	for v, err := range order {
		if err != nil {
			return nil, err
		}
		if labels[v] != kv.NoClass {
			labelled = append(labelled, v)
		}
	}
	random.Shuffle(len(labelled), func(a, b int) { labelled[a], labelled[b] = labelled[b], labelled[a] })
	for _, v := range labelled[:int(n.rate*float64(len(labelled))+0.5)] {
		step := 1
		if !n.asymmetric {
			step += random.IntN(classes - 1)
		}
		noisy[v] = kv.Class((int(labels[v]) + step) % classes)
	}
	return noisy, nil
}
