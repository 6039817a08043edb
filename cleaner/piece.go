package cleaner

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// CountRivals is how many other classes a label of so many classes is tested against.
func CountRivals(classes int) int { return labelmodel.CountRivals(classes) }

// A Piece is some nodes of a graph that may lie on many machines. TakeCensus, Piece, FitModel and PieceScorer do what
// Clean with PresetDefault and AsGiven does, each with a part of the data that the caller has brought together. They
// know no graph: S_k Y is the caller's. Nodes are numbered by their position in the node file. The scores are those of
// Clean up to the rounding of sums.
//
//	census, splits, members, err := TakeCensus(labels and splits of all nodes)
//	Piece.Tested     the labels under test, whose features PickFeatures takes from rows of P and of S_k Y
//	FitModel         the model, from features and votes of the members
//	PieceScorer      the scores of a piece
//
// The parts of a piece must fit together, and its labels be classes of the census.
type Piece struct {
	Census      *Census
	Labels      []kv.Class // [rows]
	Splits      []Split    // [rows], those that TakeCensus returned
	Predictions []float32  // [rows×c]; a row of NaN is that of a node without predictions
	// [rows×c]: the weights of the neighbours with each given label; Tested and Suggest make use of them
	Votes []float64
}

// row are the predictions of a row.
func (p *Piece) row(i int) []float32 {
	c := len(p.Census.Names)
	return p.Predictions[i*c:][:c]
}

// Tested writes the labels under test [rows×(1+rivals)]: the given label of each row, and its rivals; kv.NoClass
// throughout for a node without a label or predictions. It wants votes.
func (p *Piece) Tested(tested []kv.Class) {
	width, ranks := 1+CountRivals(len(p.Census.Names)), p.Census.ranks()
	for i, label := range p.Labels {
		own := tested[i*width:][:width]
		if label == kv.NoClass || hasNaN(p.row(i)) {
			for j := range own {
				own[j] = kv.NoClass
			}
			continue
		}
		own[0] = label
		p.evidence(i, ranks).ChooseRivals(label, own[1:])
	}
}

// Suggest writes the suggested label of each row and its prediction [rows]: kv.NoClass and NaN for a node without
// predictions. It wants votes.
func (p *Piece) Suggest(suggested []kv.Class, confidence []float32) {
	ranks := p.Census.ranks()
	for i, label := range p.Labels {
		class, most, tied := largest(p.row(i))
		if tied {
			class = p.evidence(i, ranks).Suggest(label)
		}
		suggested[i], confidence[i] = class, most
	}
}

func (p *Piece) evidence(i int, ranks []int32) labelmodel.Evidence {
	c := len(p.Census.Names)
	return labelmodel.Evidence{Predictions: p.row(i), Votes: p.Votes[i*c:][:c], Ranks: ranks}
}

// ranks are those of the classes.
func (c *Census) ranks() []int32 { return labelmodel.RankClasses(c.Counts, c.Names) }

// isUntaught is problem.isUntaught of a row.
func (p *Piece) isUntaught(i int) bool {
	if p.Census.Taught == nil || p.Labels[i] == kv.NoClass {
		return false
	}
	others := p.Census.Taught[p.Labels[i]]
	if teaches(p.Labels, p.Splits, kv.NodeID(i)) {
		others--
	}
	return others == 0
}

// PickFeatures takes a feature of the labels under test [rows×w] from rows [rows×c] of the predictions, or of S_k P or
// S_k Y: into [rows×w] is NaN where no label is under test.
func PickFeatures(rows []float32, classes int, tested []kv.Class, into []float32) {
	if len(rows) == 0 {
		return
	}
	width := len(tested) / (len(rows) / classes)
	for i, k := range tested {
		if into[i] = float32(math.NaN()); k != kv.NoClass {
			into[i] = rows[i/width*classes+int(k)]
		}
	}
}

// A PieceModel is a label model, with its findings on all labels, and the data for scoring a piece. It can be
// kept as JSON without a loss.
type PieceModel struct {
	Census *Census
	Hops   int               // K
	Model  *labelmodel.Model // as Run.Model

	Warnings []string // as Run.Warnings
}

// Reach is the most hops over which a label has a part in a score, from 1 to K: the features L of more hops have no
// weight.
func (m *PieceModel) Reach() int { return m.Model.Reach() }

// A PieceScorer scores pieces by a model. One goroutine.
type PieceScorer struct {
	model *PieceModel
	node  *nodeScorer
}

// Scorer makes the model ready to score; one serves for any number of pieces. It returns ErrShape if the parts of the
// model do not fit together.
func (m *PieceModel) Scorer() (*PieceScorer, error) {
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return &PieceScorer{m, newNodeScorer(m.Model.Scorer(), len(m.Census.Names), width(nil, m.Hops))}, nil
}

// Score writes the scores of a piece [rows], NaN where no label is under test. tested [rows×(1+rivals)] is what
// Piece.Tested wrote, and features[f] [rows×(1+rivals)] is feature f of these labels: 0 is P0, k is Lk. Those of k >
// Reach may be nil. Of rows with a score it also writes the suggested label and its confidence, over those of
// Piece.Suggest. It returns ErrShape if a label under test is no class.
func (s *PieceScorer) Score(
	p *Piece, tested []kv.Class, features [][]float32, scores []float32, suggested []kv.Class, confidence []float32,
) error {
	stride, labels := width(nil, s.model.Hops), len(s.node.classes)
	classes := len(s.model.Census.Names)
	for i := range scores {
		own := tested[i*labels:][:labels]
		if own[0] == kv.NoClass {
			scores[i] = float32(math.NaN())
			continue
		}
		for j, k := range own {
			if !isClass(k, classes) {
				return fmt.Errorf("score: row %d: class %d of %d is under test: %w", i, k, classes, ErrShape)
			}
			s.node.classes[j] = k
			for f, values := range features {
				if s.node.z[j*stride+f] = 0; values != nil {
					s.node.z[j*stride+f] = values[i*labels+j]
				}
			}
		}
		score, class, chance := s.node.score(p.isUntaught(i))
		if scores[i] = score; score == score {
			suggested[i], confidence[i] = class, chance
		}
	}
	return nil
}

// check returns ErrShape if a part of the model is missing, or of another number of classes or hops.
func (m *PieceModel) check() error {
	if m.Model == nil || m.Census == nil {
		return fmt.Errorf("no census or no weights: %w", ErrShape)
	}
	c := len(m.Census.Names)
	if err := m.Census.check(); err != nil {
		return err
	}
	if m.Model.Classes != c || m.Hops < 1 || len(m.Model.Weights) != width(nil, m.Hops) ||
		len(m.Model.Intercepts) != c || len(m.Model.Right) != c {
		return fmt.Errorf("of %d classes and %d weights, want %d classes and %d hops: %w",
			m.Model.Classes, len(m.Model.Weights), c, m.Hops, ErrShape)
	}
	for _, cell := range m.Model.Flips {
		if !isClass(kv.Class(cell.Row), c) || !isClass(kv.Class(cell.Column), c) {
			return fmt.Errorf("cell %d, %d of %d classes: %w", cell.Row, cell.Column, c, ErrShape)
		}
	}
	for _, k := range m.Model.Untaught {
		if !isClass(k, c) {
			return fmt.Errorf("class %d of %d: %w", k, c, ErrShape)
		}
	}
	return nil
}

// A Verdict is people's judgement of a label.
type Verdict = decide.Verdict

// A CensusInput is the input of TakeCensus. Nodes are numbered by their position in the node file; n < 2^32.
type CensusInput struct {
	Names       []string   // of the classes [c]
	Labels      []kv.Class // [n], kv.NoClass if there is none
	Splits      []Split    // [n]; nil: they are drawn
	Unpredicted kv.NodeSet // nodes without predictions; nil: none
	Verdicts    []Verdict  // ascending by node
	Seed        uint64     // as Options.Seed
}

// A Census holds the facts about all nodes that the pieces of a cleaning need. It can be kept as JSON.
type Census struct {
	Names  []string  // of the classes [c]
	Counts []float64 // nodes by given label [c], which rank the classes

	// Taught are the nodes that a base classifier learned by label [c], 2 for more; nil if it has learned from others.
	Taught []int

	Fitting int64    // nodes of the fitting set
	Share   float64  // drawn nodes of the sample, of all that could be
	Notices []string // what Clean would tell the user so far
}

// A Member is a node of the sample that the label model is fitted to.
type Member struct {
	Node  kv.NodeID `json:"node"`
	Label kv.Class  `json:"label"` // that it is given; of a node that people have decided on, the one before

	// Truth is the true class that a person has named: kv.NoClass if nobody has, and the class before kv.NoClass if
	// no more is known than that Label is wrong.
	Truth kv.Class `json:"truth"`
	Added bool     `json:"added"` // it was not drawn, and is there for its truth
}

// TakeCensus counts the labels of a graph whose cleaning is done in pieces, with imported predictions as they are, and
// draws what is drawn. The parts of the input must fit together. It returns the splits [n] to use, which are those of
// the input unless they are drawn, and the sample of the label model, ascending by node. It holds about ten bytes a
// node beside its input. Errors are those of Clean (ErrNoLabels, ErrOneClass, ErrFewLabels, ErrFewFittingNodes).
func TakeCensus(in CensusInput) (census *Census, splits []Split, members []Member, err error) {
	if err := checkTwoClasses(in.Labels, in.Names); err != nil {
		return nil, nil, nil, err
	}
	census = &Census{Names: slices.Clone(in.Names)}
	opt := Options{Seed: in.Seed, Imported: AsGiven,
		Notice: func(text string) { census.Notices = append(census.Notices, text) }}
	p := problem{
		order: func(yield func(kv.NodeID, error) bool) {
			for v := range in.Labels {
				if !yield(kv.NodeID(v), nil) {
					return
				}
			}
		},
		labels: in.Labels, classes: len(in.Names), names: in.Names, source: SourceImported,
		splits: slices.Clone(in.Splits), storeSplits: in.Splits,
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
	if p.countFitting(); p.few != nil {
		return nil, nil, nil, p.few
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
	census.Counts, census.Taught = p.kept.Counts, p.kept.Taught
	census.Fitting, census.Share = int64(p.fitting), sample.share
	return census, p.splits, members, nil
}

// check returns ErrShape if the parts of a census that was read do not fit together.
func (c *Census) check() error {
	classes := len(c.Names)
	if len(c.Counts) != classes || c.Taught != nil && len(c.Taught) != classes {
		return fmt.Errorf("census of %d classes: counts of %d, taught nodes of %d: %w", classes, len(c.Counts),
			len(c.Taught), ErrShape)
	}
	return nil
}

// isClass says whether a number is one of so many classes.
func isClass(k kv.Class, classes int) bool { return k >= 0 && int(k) < classes }

// A FitInput is the input of FitModel.
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
	p := problem{classes: c, kept: &keptFit{Taught: in.Census.Taught}}
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
	return &PieceModel{
		Census: in.Census, Hops: in.Hops, Model: model, Warnings: warningsOf(in.Neighbors.homophily(), "", model),
	}, nil
}

// check returns ErrShape if the reports of workers do not fit together.
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
		if known := m.Truth == kv.NoClass || m.Truth == labelmodel.AnotherClass || isClass(m.Truth, c); !known ||
			!isClass(m.Label, c) {
			return fmt.Errorf("node %d has label %d and truth %d of %d classes: %w", m.Node, m.Label, m.Truth, c, ErrShape)
		}
	}
	return nil
}
