package cleaner

import "github.com/graphcleaner/graphcleaner/kv"

// An Agreement says how far predictions agree with the labels. On large graphs only a part of the nodes is counted.
type Agreement struct {
	Nodes   int64   // labelled ones with one largest prediction
	Matches int64   // of them it is the label
	Chance  float64 // how many would match if rows were shuffled
	OneOnly bool    // all labels, or all largest predictions, are of one class: every order of the rows agrees alike

	// Misplaced are the classes that the labels contradict: as many nodes are predicted so as have the label, or half
	// as many, but they are hardly those. Of columns in another order there are two or more.
	Misplaced []kv.Class
}

// littleAgreement is the part of what chance leaves up to which agreement is little; fewNodes are too few to tell.
const (
	littleAgreement = 0.1
	fewNodes        = 20
)

// IsLittle reports whether predictions agree with the labels hardly more than shuffled ones would.
func (a Agreement) IsLittle() bool { return isLittle(a.Nodes, a.Matches, a.Chance) }

func isLittle(nodes, matches int64, chance float64) bool {
	return nodes >= fewNodes && float64(matches)-chance <= littleAgreement*(float64(nodes)-chance)
}

// An agreementSum counts the labels and the largest predictions of nodes by class, and where both are the same.
type agreementSum struct{ labels, predictions, matches []int64 }

func newAgreementSum(classes int) *agreementSum {
	return &agreementSum{make([]int64, classes), make([]int64, classes), make([]int64, classes)}
}

func (s *agreementSum) add(label, top kv.Class) {
	s.labels[label]++
	s.predictions[top]++
	if label == top {
		s.matches[label]++
	}
}

func (s *agreementSum) agreement() (a Agreement) {
	for k, count := range s.labels {
		a.Nodes += count
		a.Matches += s.matches[k]
	}
	for k, count := range s.labels {
		a.OneOnly = a.OneOnly || a.Nodes > 0 && (count == a.Nodes || s.predictions[k] == a.Nodes)
		chance := float64(float64(count)*float64(s.predictions[k])) / float64(max(a.Nodes, 1))
		a.Chance += chance
		if 2*s.predictions[k] >= count && isLittle(count, s.matches[k], chance) {
			a.Misplaced = append(a.Misplaced, kv.Class(k))
		}
	}
	return a
}

// comparedNodes are compared with their labels at most.
const comparedNodes = 1 << 20

// largestPredictions are the classes with the largest prediction of every node, or of every stride-th of a large graph.
type largestPredictions struct {
	stride kv.NodeID
	top    []kv.Class // by NodeID/stride; NoClass without a row, or where several are largest
}

func newLargestPredictions(nodes int) *largestPredictions {
	stride := max((nodes+comparedNodes-1)/comparedNodes, 1)
	p := &largestPredictions{stride: kv.NodeID(stride), top: make([]kv.Class, (nodes+stride-1)/stride)}
	for i := range p.top {
		p.top[i] = kv.NoClass
	}
	return p
}

// see takes the probabilities of a node; of[j] is the class of column j.
func (p *largestPredictions) see(v kv.NodeID, row []float64, of []kv.Class) {
	if v%p.stride != 0 {
		return
	}
	if best, _, tied := largest(row); !tied {
		p.top[v/p.stride] = of[best]
	}
}

// compare compares them with the labels, of so many classes, that labels reads.
func (p *largestPredictions) compare(
	nodes, classes int, labels func(kv.Range, []kv.Class) error,
) (Agreement, error) {
	const step = 1 << 16
	sum, block := newAgreementSum(classes), make([]kv.Class, min(step, nodes))
	for first := 0; first < nodes; first += step {
		rows := kv.Range{First: kv.NodeID(first), End: kv.NodeID(min(first+step, nodes))}
		if err := labels(rows, block[:rows.Len()]); err != nil {
			return Agreement{}, err
		}
		for i, label := range block[:rows.Len()] {
			v := rows.First + kv.NodeID(i)
			if label == kv.NoClass || v%p.stride != 0 {
				continue
			}
			if top := p.top[v/p.stride]; top != kv.NoClass {
				sum.add(label, top)
			}
		}
	}
	return sum.agreement(), nil
}
