package cleaner

import (
	"cmp"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A nodeSet is some of n nodes, found by NodeID; the rank of a member is its place among them by ascending NodeID.
type nodeSet struct {
	bits    kv.NodeSet
	members []kv.NodeID // ascending; see count
}

func newNodeSet(n int) *nodeSet { return &nodeSet{bits: bitset.New[kv.NodeID](n)} }

// add takes a node in. Once all are, count must follow.
func (s *nodeSet) add(v kv.NodeID) { s.bits.Add(v) }

func (s *nodeSet) count() { s.members = slices.AppendSeq(s.members[:0], s.bits.All()) }

// has says whether a node is a member, and where.
func (s *nodeSet) has(v kv.NodeID) (rank int, ok bool) {
	if !s.bits.Has(v) {
		return 0, false
	}
	return slices.BinarySearch(s.members, v)
}

// pick is the values of the members among those of all nodes, by rank.
func (s *nodeSet) pick(labels []kv.Class) []kv.Class {
	picked := make([]kv.Class, len(s.members))
	for rank, v := range s.members {
		picked[rank] = labels[v]
	}
	return picked
}

// each calls visit for the members of a range, ascending.
func (s *nodeSet) each(r kv.Range, visit func(rank int, v kv.NodeID)) {
	rank, _ := slices.BinarySearch(s.members, r.First)
	for ; rank < len(s.members) && s.members[rank] < r.End; rank++ {
		visit(rank, s.members[rank])
	}
}

// isFitting says whether a node is of the fitting set: the nodes whose label is under test, except untaught ones. If
// not fitsAll, it is those of the validation split.
func (p *problem) isFitting(v kv.NodeID) bool {
	return p.underTest()[v] != kv.NoClass && (p.fitsAll() || p.splits[v] == SplitValidation) && !p.isUntaught(v)
}

// fitsAll says that the split has no part in the fitting set, because each node is predicted without its own label.
// A method other than the label model takes the validation split if one is given.
func (p *problem) fitsAll() bool { return p.crossFitted && (p.drawn || p.method == nil) }

// isUnseen says whether the label of a node is under test, its prediction comes from a classifier that was not
// trained on its label, and it is not untaught.
func (p *problem) isUnseen(v kv.NodeID) bool {
	return p.underTest()[v] != kv.NoClass && p.isHeldOut(v) && !p.isUntaught(v)
}

// isHeldOut says whether the prediction of a node comes from a classifier that was not trained on its label.
func (p *problem) isHeldOut(v kv.NodeID) bool {
	return p.crossFitted || p.splits[v] == SplitValidation || p.splits[v] == SplitTest
}

// leastFitting is the fewest nodes that a model is fitted on. It is far below the number for a good one.
const leastFitting = 8

// countFitting counts the fitting set, and says what it lacks, by what the base classifier has learned.
func (p *problem) countFitting() {
	p.kept, p.few = p.keep(), nil
	labelled, count, untaught, first, classes := 0, 0, 0, kv.NoClass, 0
	for v, y := range p.underTest() {
		if y == kv.NoClass {
			continue
		}
		if labelled++; !p.fitsAll() && p.splits[v] != SplitValidation {
			continue
		}
		if p.isUntaught(kv.NodeID(v)) {
			untaught++
			continue
		}
		if count++; classes == 0 {
			first, classes = y, 1
		} else if y != first {
			classes = 2
		}
	}
	have, few := plural(count, "labelled node"), ErrFewLabels
	if !p.fitsAll() {
		have, few = have+" in the validation split", ErrFewFittingNodes
	}
	if untaught > 0 {
		have += fmt.Sprintf(", and %d more whose class no other training node has", untaught)
	}
	p.fitting = count
	switch {
	case labelled == 0:
		p.few = fmt.Errorf("nothing to clean: %w", ErrNoLabels)
	case labelled < leastFitting:
		p.few = fmt.Errorf("%s, want at least %d: %w", plural(labelled, "labelled node"), leastFitting, ErrFewLabels)
	case count < leastFitting:
		p.few = fmt.Errorf("%s, want at least %d: %w", have, leastFitting, few)
	case classes < 2:
		p.few = fmt.Errorf("one class of %s, want at least two: %w", have, ErrOneClass)
	}
}

// A sample is the nodes that a label model is fitted on.
type sample struct {
	nodes  *nodeSet
	labels []kv.Class // by rank

	// What people have said of the true class, by rank, NoClass if nobody has, labelmodel.AnotherClass where they know
	// no more than that the label is wrong; labels has then the label that they looked at. added are nodes that were
	// not drawn, and are there for what was said of them.
	truth []kv.Class
	added []bool
	share float64 // drawn nodes of all that can be
}

// drawUnseen takes all of the nodes whose label was not seen, or as many of them, uniformly, as a label model is
// fitted on.
func (p *problem) drawUnseen(seed uint64) (*sample, error) {
	count := 0
	for v := range p.labels {
		if p.isUnseen(kv.NodeID(v)) {
			count++
		}
	}
	most := mostModelNodes(p.classes)
	verdicts := slices.DeleteFunc(slices.Clone(p.verdicts),
		func(verdict decide.Verdict) bool { return !p.isUnseenVerdict(verdict) })
	if count > most { // not all are drawn
		var err error
		if verdicts, err = firstVerdicts(p.order, verdicts, most/verdictShare); err != nil {
			return nil, err
		}
		most -= len(verdicts)
	}
	nodes, _, err := drawNodes(p.order, len(p.labels), count, most, seed, p.isUnseen)
	if err != nil {
		return nil, err
	}
	spoken := make([]kv.NodeID, len(verdicts))
	for i, verdict := range verdicts {
		spoken[i] = verdict.Node
	}
	s := sampleOf(nodes, slices.Values(spoken), len(p.labels),
		func(v kv.NodeID) drawnLabel { return drawnLabel{p.labels[v], kv.NoClass} })
	s.share = share(float64(min(count, most)), float64(count))
	if count <= most { // those whose label was removed would have been drawn too
		clear(s.added)
	}
	for _, verdict := range verdicts {
		rank, _ := s.nodes.has(verdict.Node)
		s.labels[rank], s.truth[rank] = verdict.Before, verdict.Now
		if verdict.Now == kv.NoClass {
			s.truth[rank] = labelmodel.AnotherClass
		}
	}
	return s, nil
}

// A drawnLabel is the label of a node of a sample; truth is as in sample.
type drawnLabel struct{ label, truth kv.Class }

// sampleOf is a sample of n nodes: those that were drawn, and others, which are added.
func sampleOf(drawn *nodeSet, others iter.Seq[kv.NodeID], n int, of func(v kv.NodeID) drawnLabel) *sample {
	s, whole := &sample{nodes: newNodeSet(n)}, kv.Range{End: kv.NodeID(n)}
	drawn.each(whole, func(_ int, v kv.NodeID) { s.nodes.add(v) })
	for v := range others {
		s.nodes.add(v)
	}
	s.nodes.count()
	s.nodes.each(whole, func(_ int, v kv.NodeID) {
		_, ok := drawn.has(v)
		one := of(v)
		s.labels, s.truth, s.added = append(s.labels, one.label), append(s.truth, one.truth), append(s.added, !ok)
	})
	return s
}

// firstVerdicts takes the first verdicts in the order of the node file, no more than most. verdicts ascend by node.
func firstVerdicts(order nodeOrder, verdicts []decide.Verdict, most int) (first []decide.Verdict, err error) {
	if len(verdicts) <= most {
		return verdicts, nil
	}
	for v, err := range order {
		if err != nil {
			return nil, err
		}
		if len(first) == most {
			break
		}
		at, ok := slices.BinarySearchFunc(verdicts, v,
			func(verdict decide.Verdict, v kv.NodeID) int { return cmp.Compare(verdict.Node, v) })
		if ok {
			first = append(first, verdicts[at])
		}
	}
	return first, nil
}

// isUnseenVerdict is isUnseen of the label that a verdict is about.
func (p *problem) isUnseenVerdict(verdict decide.Verdict) bool {
	if verdict.Now != kv.NoClass {
		return p.isUnseen(verdict.Node)
	}
	return p.isHeldOut(verdict.Node)
}

// verdictShare bounds the nodes that are added for what people said of them: one in so many.
const verdictShare = 4

// mostModelNodes is the most nodes that a label model of so many classes is fitted on.
func mostModelNodes(classes int) int {
	return max(labelmodel.MostRows(classes), leastFitting)
}

// drawNodes draws from the eligible nodes uniformly with seed, no more than most. count of the n nodes are eligible.
// Their ranks are in the order of the node file.
func drawNodes(
	order nodeOrder, n, count, most int, seed uint64, eligible func(kv.NodeID) bool,
) (nodes *nodeSet, ranks []uint32, err error) {
	size := min(count, most)
	nodes, ranks = newNodeSet(n), make([]uint32, 0, size)
	random := rand.New(rand.NewPCG(seed, streamSample))
	rest := uint64(count)
	for v, err := range order {
		if err != nil {
			return nil, nil, err
		}
		if !eligible(v) {
			continue
		}
		// Each is taken with the chance that fills the sample from those that are left.
		places := uint64(size - len(ranks))
		if places == rest || random.Uint64N(rest) < places {
			nodes.add(v)
			ranks = append(ranks, uint32(v))
		}
		rest--
	}
	nodes.count()
	for i, v := range ranks {
		rank, _ := nodes.has(kv.NodeID(v))
		ranks[i] = uint32(rank)
	}
	return nodes, ranks, nil
}

// rows are the rows that a label model is fitted to, of features z [rows×classes×(K+1)].
func (s *sample) rows(z *rowstore.Store, classes int) labelmodel.Rows {
	values, width := z.Column(0)
	return labelmodel.Rows{
		Labels: s.labels, Truth: s.truth, Z: values, Classes: classes, Width: width,
	}
}

// teaches reports whether the base classifier learns the label of a node: one of the training split or of none.
func teaches(labels []kv.Class, splits []Split, v kv.NodeID) bool {
	return labels[v] != kv.NoClass && splits[v].Teaches()
}

// teaches reports whether the base classifier that made the predictions has learned the label of a node. Without a
// split in the store, the built-in one learns all labels.
func (p *problem) teaches(v kv.NodeID) bool {
	if p.crossFitted && p.drawn && p.storeSplits == nil {
		return p.teachesBase(v)
	}
	return teaches(p.labels, p.splits, v)
}

// teachesBase reports whether the built-in classifier learns the label of a node.
func (p *problem) teachesBase(v kv.NodeID) bool {
	if p.drawn { // no node's label is seen where it is predicted
		return p.labels[v] != kv.NoClass && p.splits[v] != SplitUnused
	}
	return teaches(p.labels, p.splits, v)
}

// isUntaught reports whether the base classifier has learned from no other node with the label of v. It then predicts
// that label of no node but v: predictions that do not agree with it say nothing against it.
func (p *problem) isUntaught(v kv.NodeID) bool { return p.kept.isUntaught(v, p.labels[v]) }

// untaughtClasses are the classes that the base classifier has not learned, ascending.
func (p *problem) untaughtClasses() (classes []kv.Class) {
	for k, taught := range p.kept.Taught {
		if taught == 0 {
			classes = append(classes, kv.Class(k))
		}
	}
	return classes
}

// tellUntaught says how many nodes are untaught; empty where none is.
func (p *problem) tellUntaught() string {
	count := 0
	for v, label := range p.underTest() {
		if label != kv.NoClass && p.isUntaught(kv.NodeID(v)) {
			count++
		}
	}
	if count == 0 {
		return ""
	}
	return plural(count, "node") + " whose class no other training node has: the labels around them alone judge them"
}

// plural is a count with a noun.
func plural(count int, noun string) string {
	if count != 1 {
		noun += "s"
	}
	return fmt.Sprint(count, " ", noun)
}

// share is part/whole, 0 of nothing.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

// streamSample is the second word of the PCG seed, so that the parts of a run that share a seed draw independent
// numbers.
const streamSample uint64 = 0x73616d70 // "samp"
