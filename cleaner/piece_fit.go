package cleaner

import (
	"context"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A FitInput is what FitModel fits a model to.
type FitInput struct {
	Census    *Census
	Hops      int       // K
	Members   []Member  // the sample, in any order
	Z         []float32 // agreement features of the members under every class [members×c×(K+1)]: P0, L1 … LK
	Neighbors *NeighborCounts
	Expect    float64 // as Options.Expect
}

// FitModel fits the label model to the sample of a census. The order of members changes no more than the rounding of
// sums. It returns ErrShape if the input does not fit together, and ErrOptions for bad options.
func FitModel(ctx context.Context, in FitInput) (_ *PieceModel, err error) {
	opt, err := Options{Hops: in.Hops, Expect: in.Expect}.withDefaults()
	if err != nil {
		return nil, err
	}
	in.Hops = opt.Hops
	if err := in.check(); err != nil {
		return nil, fmt.Errorf("fit: %w", err)
	}
	c := len(in.Census.Names)
	p := problem{classes: c, taught: in.Census.Taught}
	s := &sample{share: in.Census.Share}
	for _, m := range in.Members {
		s.labels, s.truth = append(s.labels, m.Label), append(s.truth, m.Truth)
		s.added = append(s.added, m.Added)
	}
	rows := labelmodel.Rows{Labels: s.labels, Truth: s.truth, Z: in.Z, Classes: c, Width: width(nil, in.Hops)}
	model, err := p.fitLabelModel(ctx, s, rows, opt)
	if err != nil {
		return nil, err
	}
	m := &PieceModel{
		Census: in.Census, Hops: in.Hops, Model: model, Rate: model.Told, Threshold: model.Threshold,
		Warnings: warningsOf(in.Neighbors.homophily(), model, in.Census.Names),
	}
	if unsettled := tellUnsettled(model); unsettled != "" {
		m.Notices = append(m.Notices, unsettled)
	}
	return m, nil
}

// check returns ErrShape if what workers have reported does not fit together.
func (in *FitInput) check() error {
	c := len(in.Census.Names)
	if err := in.Census.check(); err != nil {
		return err
	}
	if len(in.Neighbors.Agreeing) != c || len(in.Neighbors.All) != c {
		return fmt.Errorf("neighbours are not of %d classes: %w", c, ErrShape)
	}
	if len(in.Members) == 0 {
		return fmt.Errorf("the sample has no members: %w", ErrShape)
	}
	for _, m := range in.Members {
		if known := m.Truth == kv.NoClass || m.Truth == labelmodel.AnotherClass || isClass(m.Truth, c); !known || !isClass(m.Label, c) {
			return fmt.Errorf("node %d has label %d and truth %d of %d classes: %w", m.Node, m.Label, m.Truth, c, ErrShape)
		}
	}
	return nil
}
