package cleaner

import (
	"context"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A Verdict is what people have said of a label.
type Verdict = decide.Verdict

// A CensusInput is what TakeCensus looks at. Nodes are numbered by their position in the node file; n < 2^32.
type CensusInput struct {
	Names       []string   // of the classes [c]
	Labels      []kv.Class // [n], kv.NoClass if there is none
	Splits      []Split    // [n]; nil: they are drawn
	Unpredicted kv.NodeSet // nodes without predictions; nil: none
	Verdicts    []Verdict  // ascending by node; of a score that is no chance, NaN
	Seed        uint64     // as Options.Seed
}

// A Census is what the pieces of a cleaning must know of all nodes. It can be kept as JSON.
type Census struct {
	Names  []string  // of the classes [c]
	Counts []float64 // nodes by given label [c], which rank the classes

	// Taught are the nodes that a base classifier learned by label [c], 2 for more; nil if it has learned from others.
	// Lone is, of a class of which it learned one node, that node, else kv.NoNode [c].
	Taught []int
	Lone   []uint32

	Nodes, Labelled int64
	Tested          int64    // labelled nodes with predictions
	Fitting         int64    // of the fitting set
	Share           float64  // drawn nodes of the sample, of all that could be
	Drawn           bool     // splits were drawn
	Notices         []string // what Clean would tell the user so far
}

// A Member is a node of the sample that the label model is fitted to.
type Member struct {
	Node  kv.NodeID
	Label kv.Class // that it is given; of a node that people have decided on, the one before

	// Truth is what a person has said of the true class: kv.NoClass if nobody has, and the class before kv.NoClass if
	// no more is known than that Label is wrong.
	Truth kv.Class
	Added bool // it was not drawn, and is there for its truth
}

// TakeCensus counts the labels of a graph whose cleaning is done in pieces, with imported predictions as they are, and
// draws what is drawn. The parts of the input must fit together. It returns the splits [n] to use, which are those of
// the input unless they are drawn, and the sample of the label model, ascending by node. It holds about ten bytes a
// node beside its input. Errors are those of Clean (ErrNoLabels, ErrOneClass, ErrFewLabels, ErrFewFittingNodes).
func TakeCensus(in CensusInput) (census *Census, splits []Split, members []Member, err error) {
	if err := checkTwoClasses(in.Labels, in.Names); err != nil {
		return nil, nil, nil, err
	}
	census = &Census{Names: slices.Clone(in.Names), Nodes: int64(len(in.Labels))}
	opt := Options{Seed: in.Seed, Notice: func(text string) { census.Notices = append(census.Notices, text) }}
	p := problem{
		order: func(yield func(kv.NodeID, error) bool) {
			for v := range in.Labels {
				if !yield(kv.NodeID(v), nil) {
					return
				}
			}
		},
		labels: in.Labels, classes: len(in.Names), names: in.Names, splits: slices.Clone(in.Splits), storeSplits: in.Splits,
		verdicts: slices.Clone(in.Verdicts),
	}
	if p.drawn = in.Splits == nil; p.drawn {
		if p.splits, err = drawSplits(p.order, p.labels, defaultShares, in.Seed); err != nil {
			return nil, nil, nil, err
		}
	}
	if err := p.settleSplits(opt); err != nil {
		return nil, nil, nil, err
	}
	p.tellDrawn(opt)
	if in.Unpredicted.Len() > 0 {
		p.leaveOut(in.Unpredicted)
		opt.notice("%s", tellUnpredicted(int64(in.Unpredicted.Len())))
	}
	opt.warn(p.tellUntaught())
	fitting, err := p.checkFitting()
	if err != nil {
		return nil, nil, nil, err
	}
	sample, err := p.drawUnseen(in.Seed)
	if err != nil {
		return nil, nil, nil, err
	}
	sample.nodes.each(kv.Range{End: kv.NodeID(len(p.labels))}, func(rank int, v kv.NodeID) {
		members = append(members, Member{
			Node: v, Label: sample.labels[rank], Truth: sample.truth[rank], Added: sample.added[rank],
		})
	})
	kept := p.keep()
	census.Counts, census.Taught, census.Lone = kept.Counts, kept.Taught, kept.Lone
	census.Labelled, census.Tested = int64(countLabelled(p.labels)), int64(countLabelled(p.underTest()))
	census.Fitting, census.Share, census.Drawn = int64(fitting), sample.share, p.drawn
	return census, p.splits, members, nil
}

// check returns ErrShape if the parts of a census that was read do not fit together.
func (c *Census) check() error {
	classes := len(c.Names)
	if len(c.Counts) != classes || c.Taught != nil && len(c.Taught) != classes || len(c.Lone) != len(c.Taught) {
		return fmt.Errorf("census of %d classes: counts of %d, taught nodes of %d: %w", classes, len(c.Counts), len(c.Taught), ErrShape)
	}
	return nil
}

// isClass says whether a number is one of so many classes.
func isClass(k kv.Class, classes int) bool { return k >= 0 && int(k) < classes }

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
