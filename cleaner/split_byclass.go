package cleaner

import (
	"fmt"
	"math/rand/v2"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A SplitCounts is a split in numbers of nodes, as citation benchmarks have it (Yang, Cohen, Salakhutdinov,
// arXiv:1603.08861): so many training nodes of every class, and so many validation and test nodes of all that are left.
// The zero value is none.
type SplitCounts struct {
	Training   int // of each class; a class with fewer than twice this number gives half of its nodes, rounded up
	Validation int
	Test       int // AllTheRest: every node that is left
}

// AllTheRest as SplitCounts.Test takes all remaining labelled nodes.
const AllTheRest = -1

// check says what is wrong with counts that are asked for.
func (s SplitCounts) check() error {
	if s.Training < 1 || s.Validation < 1 || s.Test < 1 && s.Test != AllTheRest {
		return fmt.Errorf("split by class %d/%d/%d: want at least one node in each: %w",
			s.Training, s.Validation, s.Test, ErrOptions)
	}
	return nil
}

// drawSplitsByClass draws a split of labelled nodes uniformly, by their places in order; nodes that are left are
// unused. ErrNoLabels where there are too few nodes.
func drawSplitsByClass(
	order nodeOrder, labels []kv.Class, classes int, counts SplitCounts, seed uint64,
) ([]Split, error) {
	sizes := make([]int, classes)
	nodes := make([]kv.NodeID, 0, countLabelled(labels))
	for v, err := range order {
		if err != nil {
			return nil, err
		}
		if y := labels[v]; y != kv.NoClass {
			nodes = append(nodes, v)
			sizes[y]++
		}
	}
	for y, size := range sizes {
		sizes[y] = min(counts.Training, (size+1)/2)
	}
	random := rand.New(rand.NewPCG(seed, streamSplit))
	random.Shuffle(len(nodes), func(a, b int) { nodes[a], nodes[b] = nodes[b], nodes[a] })

	splits := make([]Split, len(labels))
	validation, test := counts.Validation, counts.Test
	if test == AllTheRest {
		test = len(nodes)
	}
	testNodes := 0
	for _, v := range nodes {
		switch y := labels[v]; {
		case sizes[y] > 0:
			splits[v] = SplitTrain
			sizes[y]--
		case validation > 0:
			splits[v] = SplitValidation
			validation--
		case testNodes < test:
			splits[v] = SplitTest
			testNodes++
		default:
			splits[v] = SplitUnused
		}
	}
	if validation > 0 || testNodes == 0 || counts.Test != AllTheRest && testNodes < counts.Test {
		want := fmt.Sprint(counts.Test)
		if counts.Test == AllTheRest {
			want = "some"
		}
		return nil, fmt.Errorf("%d labelled nodes, with %d for training of a class they leave %d for validation "+
			"and %d for test, want %d and %s: %w", len(nodes), counts.Training, counts.Validation-validation, testNodes,
			counts.Validation, want, ErrNoLabels)
	}
	return splits, nil
}
