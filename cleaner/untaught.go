package cleaner

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
)

// teaches reports whether the base classifier learns the label of a node: one of the training split or of none.
func teaches(labels []kv.Class, splits []Split, v kv.NodeID) bool {
	return labels[v] != kv.NoClass && splits[v].teaches()
}

// teaches reports whether the base classifier that made the predictions has learned the label of a node. Without a
// split in the store, the built-in one learns all labels.
func (p problem) teaches(v kv.NodeID) bool {
	if p.crossFitted && p.drawn && p.storeSplits == nil {
		return p.base().teaches(v)
	}
	return teaches(p.labels, p.splits, v)
}

// countTaught counts the nodes that the base classifier learns from by given label [classes]; nil if there are none,
// because it has learned from others.
func (p problem) countTaught() []int {
	taught, some := make([]int, p.classes), false
	for v := range p.labels {
		if p.teaches(kv.NodeID(v)) {
			taught[p.labels[v]]++
			some = true
		}
	}
	if !some {
		return nil
	}
	return taught
}

// isUntaught reports whether the base classifier has learned from no other node with the label of v. It then predicts
// that label of no node but v: predictions that do not agree with it say nothing against it.
func (p problem) isUntaught(v kv.NodeID) bool {
	if p.kept != nil {
		return p.kept.isUntaught(v, p.labels[v])
	}
	if p.taught == nil || p.labels[v] == kv.NoClass {
		return false
	}
	others := p.taught[p.labels[v]]
	if p.teaches(v) {
		others--
	}
	return others == 0
}

// untaughtClasses are the classes that the base classifier has not learned, ascending.
func (p problem) untaughtClasses() (classes []kv.Class) {
	for k, taught := range p.taught {
		if taught == 0 {
			classes = append(classes, kv.Class(k))
		}
	}
	return classes
}

// tellUntaught says how many nodes are untaught; empty where none is.
func (p problem) tellUntaught() string {
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
