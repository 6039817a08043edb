package cleaner

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A labelNoise is a way to corrupt labels on purpose.
type labelNoise struct {
	asymmetric bool
	rate       float64 // share of the labelled nodes
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

// inject returns labels [n] of which a share rate, rounded to whole nodes and drawn in file order over all splits, is
// wrong: symmetric noise gives a node any other class with equal chance, asymmetric noise gives class i always class
// i+1, the last the first. labels is left as it is.
func (n labelNoise) inject(labels []kv.Class, order nodeOrder, classes int, seed uint64) ([]kv.Class, error) {
	noisy := append([]kv.Class(nil), labels...)
	var labelled []kv.NodeID
	for v, err := range order {
		if err != nil {
			return nil, err
		}
		if labels[v] != kv.NoClass {
			labelled = append(labelled, v)
		}
	}
	random := rand.New(rand.NewPCG(seed, streamLabelNoise))
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
