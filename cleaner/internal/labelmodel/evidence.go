package labelmodel

import (
	"cmp"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// An Evidence says which class a node is likely to be of. Classes with the same prediction are told apart by the votes,
// and where these are the same by ranks, that is by how many nodes are given the class, and at last by its name. No
// choice depends on the number of a class.
type Evidence struct {
	Predictions []float32 // [c]
	Votes       []float64 // [c]: the weights of the neighbours with each given label
	Ranks       []int32   // [c], see RankClasses
}

// byPrediction orders classes, the likeliest first, by prediction, votes and rank.
func (e Evidence) byPrediction(a, b kv.Class) int {
	return cmp.Or(
		cmp.Compare(e.Predictions[b], e.Predictions[a]), cmp.Compare(e.Votes[b], e.Votes[a]),
		cmp.Compare(e.Ranks[a], e.Ranks[b]))
}

// byVotes orders classes, the likeliest first, by votes, prediction and rank.
func (e Evidence) byVotes(a, b kv.Class) int {
	return cmp.Or(cmp.Compare(e.Votes[b], e.Votes[a]), e.byPrediction(a, b))
}

// ChooseRivals writes the classes that a label is tested against, as many as rivals has: those with the largest
// predictions except for the label, and last, of all others, the one with the most votes.
func (e Evidence) ChooseRivals(label kv.Class, rivals []kv.Class) {
	last := len(rivals) - 1
	count := 0
	for i := range e.Predictions {
		k := kv.Class(i)
		if k == label {
			continue
		}
		at := count
		for at > 0 && e.byPrediction(k, rivals[at-1]) < 0 {
			at--
		}
		if at >= last {
			continue
		}
		count = min(count+1, last)
		copy(rivals[at+1:count], rivals[at:count-1])
		rivals[at] = k
	}
	for i := range e.Predictions {
		k := kv.Class(i)
		if k == label || slices.Contains(rivals[:count], k) {
			continue
		}
		if count <= last {
			count, rivals[last] = last+1, k
		} else if e.byVotes(k, rivals[last]) < 0 {
			rivals[last] = k
		}
	}
}

// CountRivals is how many a label of so many classes has.
func CountRivals(classes int) int { return max(min(modelClasses, classes-1), 0) }

// Suggest is the class with the largest prediction. Where several have it, it is the one with the most votes, or of
// those the label, or the first by rank.
func (e Evidence) Suggest(label kv.Class) kv.Class {
	best := kv.Class(0)
	for i := range e.Predictions[1:] {
		if k := kv.Class(i + 1); e.byPrediction(k, best) < 0 {
			best = k
		}
	}
	if label != kv.NoClass && e.Predictions[label] == e.Predictions[best] && e.Votes[label] == e.Votes[best] {
		return label
	}
	return best
}

// RankClasses ranks classes by how many nodes are given them, most first, then by name: the rank of every class.
func RankClasses(counts []float64, names []string) []int32 {
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(names[a], names[b]))
	})
	ranks := make([]int32, len(order))
	for rank, k := range order {
		ranks[k] = int32(rank)
	}
	return ranks
}
