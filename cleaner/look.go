package cleaner

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A look is what the scores of PresetDefault follow: the newest look of the audit, with the labels as they came, before
// decisions.
type look struct {
	name  string // changes with the answers
	draws int
	rate  float64   // share of wrong labels among those of the first nodes
	nodes kv.NodeID // how many
	drawn map[kv.NodeID]drawnLabel
	given map[kv.NodeID]kv.Class // labels that decisions have changed
}

// lastLook is the newest look of the audit of a store, for a run with these classes; nil if it tells no rate, or
// before the first.
func lastLook(ctx context.Context, tx *kv.Tx, classes []string) (*look, error) {
	a, err := ReadAudit(ctx, tx)
	if errors.Is(err, kv.ErrNotFound) || err == nil && a.look == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := &look{
		name: a.look, draws: a.Look, rate: a.Rate, nodes: a.nodes,
		drawn: make(map[kv.NodeID]drawnLabel, a.Look), given: make(map[kv.NodeID]kv.Class),
	}
	for _, d := range a.Draws[:a.Look] {
		label := kv.Class(slices.Index(classes, d.Label))
		switch {
		case label == kv.NoClass: // first used after the run
		case d.Judgement == decide.Right:
			l.drawn[d.Node] = drawnLabel{label, label}
		case d.Judgement == decide.Wrong:
			l.drawn[d.Node] = drawnLabel{label, labelmodel.AnotherClass}
		}
	}
	return l, nil
}

// nameOf is the name of a look, "" of none.
func (l *look) nameOf() string {
	if l == nil {
		return ""
	}
	return l.name
}

// takeLook notes which look the scores follow; nil: none.
func (r *Run) takeLook(l *look) {
	if r.Look, r.LookAt = 0, l.nameOf(); l != nil {
		r.Look = l.draws
	}
}

// labelAsCame is the label of a node as it came, NoClass if the rate is not of it.
func (p *problem) labelAsCame(v kv.NodeID) kv.Class {
	if v >= p.look.nodes {
		return kv.NoClass
	}
	if label, ok := p.look.given[v]; ok {
		return label
	}
	return p.underTest()[v]
}

// drawLook takes all labels that the rate of the look is of, or as many of them, uniformly, as a label model is fitted
// on; and those that people have looked at.
func (p *problem) drawLook(seed uint64) (*sample, error) {
	for _, verdict := range p.verdicts {
		p.look.given[verdict.Node] = kv.NoClass
		if isClass(verdict.Before, p.classes) { // else it was first used after the run
			p.look.given[verdict.Node] = verdict.Before
		}
	}
	n, count := len(p.labels), 0
	isOfRate := func(v kv.NodeID) bool { return p.labelAsCame(v) != kv.NoClass }
	for v := range kv.NodeID(n) {
		if isOfRate(v) {
			count++
		}
	}
	random, _, err := drawNodes(p.order, n, count, mostModelNodes(p.classes), seed, isOfRate)
	if err != nil {
		return nil, err
	}
	return sampleOf(random, maps.Keys(p.look.drawn), n, func(v kv.NodeID) drawnLabel {
		if drawn, looked := p.look.drawn[v]; looked {
			return drawn
		}
		return drawnLabel{p.labelAsCame(v), kv.NoClass}
	}), nil
}
