package cleaner

import "math"

// mostAssigned is the number of classes up to which the best order of columns is found, which takes c³ steps.
const mostAssigned = 256

// assign gives every column a class, each once [c], so that the nodes that agree above chance are as many as can be:
// the Hungarian method. Columns that no cell speaks for keep their class where they can.
func (t *contingency) assign() (of []int) {
	c := len(t.labels)
	costs := make([]float64, c*c) // of column and label
	for j := range c {
		costs[j*c+j] = -1e-6
	}
	for _, cell := range t.cells {
		costs[cell.column*c+cell.label] -= max(cell.count-t.chance(cell.label, cell.column), 0)
	}
	// All below count columns and labels from 1; 0 is none.
	columnCost, labelCost := make([]float64, c+1), make([]float64, c+1)
	columnOf, before := make([]int, c+1), make([]int, c+1) // by label; before: the label on the shortest path to it
	for first := 1; first <= c; first++ {
		least, isDone := make([]float64, c+1), make([]bool, c+1)
		for y := range least {
			least[y] = math.Inf(1)
		}
		columnOf[0] = first
		label := 0
		for columnOf[label] != 0 {
			isDone[label] = true
			column, next := columnOf[label], 0
			for y := 1; y <= c; y++ {
				if isDone[y] {
					continue
				}
				if cost := costs[(column-1)*c+y-1] - columnCost[column] - labelCost[y]; cost < least[y] {
					least[y], before[y] = cost, label
				}
				if next == 0 || least[y] < least[next] {
					next = y
				}
			}
			step := least[next]
			for y := range least {
				if isDone[y] {
					columnCost[columnOf[y]] += step
					labelCost[y] -= step
				} else {
					least[y] -= step
				}
			}
			label = next
		}
		for label != 0 {
			columnOf[label] = columnOf[before[label]]
			label = before[label]
		}
	}
	of = make([]int, c)
	for y := 1; y <= c; y++ {
		of[columnOf[y]-1] = y - 1
	}
	return of
}
