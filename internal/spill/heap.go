package spill

// A heapItem is a merge's place in one run. before orders places by their current record, then by run, so that records of
// equal keys leave in the order of the runs.
type heapItem[T any] interface{ before(other T) bool }

// siftDown restores the heap order below i.
func siftDown[T heapItem[T]](h []T, i int) {
	for {
		least := 2*i + 1
		if least >= len(h) {
			return
		}
		if right := least + 1; right < len(h) && h[right].before(h[least]) {
			least = right
		}
		if !h[least].before(h[i]) {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

func heapify[T heapItem[T]](h []T) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		siftDown(h, i)
	}
}
