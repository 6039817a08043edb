package cleaner

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/namelist"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A ColumnOrderError says that predictions agree with the labels far better if their columns have another order of
// classes.
type ColumnOrderError struct {
	Classes []string // column j is of Classes[j], as the labels have it
	Guesses []string // those of them whose column no label speaks for, in the order of the columns

	// Nodes is the number of labelled nodes with one largest prediction. In the given order of columns, GivenMatches of them
	// agree with their label; in the order of Classes, PermutedMatches. On large graphs only a part of the nodes is counted.
	GivenMatches, PermutedMatches, Nodes int64
}

// Error reads "predictions agree with 2301 of 2708 labels where the order of their columns is ["B" "A"], and with 312 as
// it is".
func (e *ColumnOrderError) Error() string {
	return fmt.Sprintf("predictions agree with %d of %d labels where the order of their columns is %s, and with %d as it is",
		e.PermutedMatches, e.Nodes, namelist.Of(e.Classes), e.GivenMatches)
}

// When columns are in another order than given. Chance alone permutes some classes that well with orderChance at most,
// and of the nodes of these classes a share of leastOrderGain more is predicted as labelled. If the order given explains
// half as much as the other one, labels may be wrong in a pattern: it stays.
const (
	orderChance    = 1e-4
	leastOrderGain = 0.1
	voteErrors     = 2       // standard errors that a class is better off by which speaks for the other order
	orderNodes     = 1 << 20 // compared at most
)

// An agreementCounter gathers the class with the largest prediction of every node, or of every stride-th of a large
// graph.
type agreementCounter struct {
	stride kv.NodeID
	top    []kv.Class // by NodeID/stride; NoClass without a row, severalTop if several are largest
	tied   int64      // labelled nodes whose row has several largest predictions, as count has found them
}

const severalTop = kv.NoClass - 1

func newAgreementCounter(nodes int) *agreementCounter {
	o := &agreementCounter{stride: kv.NodeID(max((nodes+orderNodes-1)/orderNodes, 1))}
	o.top = make([]kv.Class, (nodes+int(o.stride)-1)/int(o.stride))
	for i := range o.top {
		o.top[i] = kv.NoClass
	}
	return o
}

// see takes the probabilities of a node, of column j the class j.
func (o *agreementCounter) see(v kv.NodeID, row []float64) {
	if v%o.stride != 0 {
		return
	}
	best, _, tied := largest(row)
	if tied {
		best = severalTop
	}
	o.top[v/o.stride] = best
}

// count compares the largest predictions, of so many classes, with the labels. labels reads the
// labels of some nodes, and columns [classes of the store] has the column of each, or kv.NoClass.
func (o *agreementCounter) count(
	nodes, classes int, columns []kv.Class, labels func(kv.Range, []kv.Class) error,
) (*contingency, error) {
	const step = 1 << 16
	pairs := make([]uint64, 0, len(o.top)) // given·c + column
	block := make([]kv.Class, min(step, nodes))
	for first := 0; first < nodes; first += step {
		rows := kv.Range{First: kv.NodeID(first), End: kv.NodeID(min(first+step, nodes))}
		if err := labels(rows, block[:rows.Len()]); err != nil {
			return nil, err
		}
		for i, y := range block[:rows.Len()] {
			v := rows.First + kv.NodeID(i)
			if y == kv.NoClass || columns[y] == kv.NoClass || v%o.stride != 0 {
				continue
			}
			switch top := o.top[v/o.stride]; top {
			case kv.NoClass:
			case severalTop:
				o.tied++
			default:
				pairs = append(pairs, uint64(columns[y])*uint64(classes)+uint64(top))
			}
		}
	}
	return newContingency(pairs, classes), nil
}

// An Agreement says how far predictions agree with the labels. On large graphs only a part of the nodes is counted.
type Agreement struct {
	Nodes   int64   // labelled ones with one largest prediction
	Matches int64   // of them it is the label
	Chance  float64 // how many would match if rows were shuffled
	Tied    int64   // labelled nodes whose row has several largest predictions
	OneOnly bool    // all labels, or all largest predictions, are of one class: every order of the rows agrees alike

	// Order is another order of the columns that the labels speak for, nil if there is none. Where they do so beyond
	// doubt, and the order is an assumption, Finish returns it instead.
	Order *ColumnOrderError
}

// littleAgreement is the part of what chance leaves up to which agreement is little; fewNodes are too few to tell.
const (
	littleAgreement = 0.1
	fewNodes        = 20
)

// AreTied reports whether the rows have no largest prediction, so that nothing agrees with the labels.
func (a Agreement) AreTied() bool { return a.Nodes == 0 && a.Tied >= fewNodes }

// IsLittle reports whether predictions agree with the labels hardly more than shuffled ones would.
func (a Agreement) IsLittle() bool {
	return a.Nodes >= fewNodes && float64(a.Matches)-a.Chance <= littleAgreement*(float64(a.Nodes)-a.Chance)
}

// Agreement says how far the predictions agree with the labels. Call it after Finish.
func (w *PredictionWriter) Agreement() Agreement { return w.agreement }

// agreement is how many of the nodes match.
func (t *contingency) agreement() Agreement {
	a := Agreement{Nodes: int64(t.nodes)}
	for j := range t.labels {
		a.OneOnly = a.OneOnly || t.nodes > 0 && (t.labels[j] == t.nodes || t.predictions[j] == t.nodes)
		a.Matches += int64(t.count(j, j))
		a.Chance += t.chance(j, j)
	}
	return a
}

// A contingency counts nodes by given label, as the column named by it, and the column of the largest prediction. It holds the cells that are not
// zero: no more than there are nodes, however many classes.
type contingency struct {
	cells       []contingencyCell // by given and column
	labels      []float64         // nodes by given label [c]
	predictions []float64         // and by column [c]
	nodes       float64
}

type contingencyCell struct {
	label, column int
	count         float64
}

// newContingency counts pairs, each given·c + column; it sorts them.
func newContingency(pairs []uint64, classes int) *contingency {
	t := &contingency{labels: make([]float64, classes), predictions: make([]float64, classes), nodes: float64(len(pairs))}
	slices.Sort(pairs)
	for i, pair := range pairs {
		if i == 0 || pair != pairs[i-1] {
			t.cells = append(t.cells, contingencyCell{label: int(pair / uint64(classes)), column: int(pair % uint64(classes))})
		}
		last := &t.cells[len(t.cells)-1]
		last.count++
		t.labels[last.label]++
		t.predictions[last.column]++
	}
	return t
}

// chance is how many nodes a cell would have were predictions and labels independent.
func (t *contingency) chance(label, column int) float64 {
	return t.labels[label] * t.predictions[column] / max(t.nodes, 1)
}

func (t *contingency) count(label, column int) float64 {
	at, found := slices.BinarySearchFunc(t.cells, contingencyCell{label: label, column: column}, func(a, b contingencyCell) int {
		return cmp.Or(cmp.Compare(a.label, b.label), cmp.Compare(a.column, b.column))
	})
	if !found {
		return 0
	}
	return t.cells[at].count
}

// match gives every column a class of its own [c]. Up to mostAssigned classes that is the best of all orders. Of more
// it takes cell after cell, the one that is most above chance first. That finds the order if the nodes of each class
// are predicted as their class more often above chance than as any other. Columns that no cell speaks for keep their
// class, or get what is left.
func (t *contingency) match() (of []int) {
	if len(t.labels) <= mostAssigned {
		return t.assign()
	}
	of = make([]int, len(t.labels))
	taken := make([]bool, len(of))
	for j := range of {
		of[j] = -1
	}
	above := make([]contingencyCell, 0, len(t.cells)) // count: above chance
	for _, cell := range t.cells {
		if cell.count -= t.chance(cell.label, cell.column); cell.count > 0 {
			above = append(above, cell)
		}
	}
	slices.SortStableFunc(above, func(a, b contingencyCell) int { return cmp.Compare(b.count, a.count) })
	for _, cell := range above {
		if of[cell.column] < 0 && !taken[cell.label] {
			of[cell.column], taken[cell.label] = cell.label, true
		}
	}
	for j := range of {
		if of[j] < 0 && !taken[j] {
			of[j], taken[j] = j, true
		}
	}
	free := 0
	for j := range of {
		if of[j] < 0 {
			for taken[free] {
				free++
			}
			of[j], taken[free] = free, true
		}
	}
	return of
}

// check returns another order if some columns are permuted, or nil: beyond doubt, or as far as classes vote for it.
// Each cycle of the matching is looked at for itself, so that two columns that were swapped are found among many that
// are right.
func (t *contingency) check(classes []string, beyondDoubt bool) *ColumnOrderError {
	of, seen := t.match(), make([]bool, len(classes))
	problem := &ColumnOrderError{Classes: slices.Clone(classes), Nodes: int64(t.nodes)}
	for j := range of {
		var cycle []int // of columns
		for k := j; !seen[k]; k = of[k] {
			seen[k] = true
			cycle = append(cycle, k)
		}
		if len(cycle) < 2 || !t.isPermuted(cycle, of, beyondDoubt) {
			continue
		}
		for _, k := range cycle {
			problem.Classes[k] = classes[of[k]]
		}
	}
	if slices.Equal(problem.Classes, classes) {
		return nil
	}
	for j, name := range problem.Classes {
		problem.GivenMatches += int64(t.count(j, j))
		if name == classes[j] {
			problem.PermutedMatches += int64(t.count(j, j))
			continue
		}
		problem.PermutedMatches += int64(t.count(of[j], j))
		if t.count(of[j], j) <= t.chance(of[j], j) {
			problem.Guesses = append(problem.Guesses, name)
		}
	}
	return problem
}

// isPermuted reports whether the columns of a cycle are of the classes that of says. What is beyond doubt: by Bennett's
// inequality, independent labels would agree with one given order by g more than with another with chance
// exp(g − (V+g)·ln(1 + g/V)) at most, V the number expected to agree in either; there are c^m such cycles of m classes
// at most.
//
// Classes vote beside, two or more of them: a large class whose nodes are all taken for a small one would outweigh the
// nodes of that one, which are right in the order given.
func (t *contingency) isPermuted(cycle, of []int, beyondDoubt bool) bool {
	var matches, permutedMatches, givenChance, permutedChance, nodes float64
	ownColumn := make(map[int]float64, len(cycle)) // nodes predicted as labelled by class, as given
	for _, j := range cycle {
		ownColumn[j] = t.count(j, j)
		matches += ownColumn[j]
		givenChance += t.chance(j, j)
		nodes += t.labels[j]
	}
	votes, against := 0, 0
	for _, j := range cycle {
		count := t.count(of[j], j)
		permutedMatches += count
		permutedChance += t.chance(of[j], j)
		switch own := ownColumn[of[j]]; {
		case count-own > voteErrors*math.Sqrt(count+own):
			votes++
		case count < own:
			against++
		}
	}
	if votes < 2 || votes <= 2*against || permutedMatches <= matches {
		return false
	}
	if !beyondDoubt {
		return true
	}
	gain := min(permutedMatches-matches, permutedMatches-permutedChance-(matches-givenChance))
	odds := float64(float64(len(cycle))*elementary.Log(float64(len(of)))) - elementary.Log(orderChance)
	chance := givenChance + permutedChance // above 0 where there is a gain
	return matches-givenChance < (permutedMatches-permutedChance)/2 &&
		gain >= leastOrderGain*nodes && float64((chance+gain)*elementary.Log(1+gain/chance))-gain > odds
}
