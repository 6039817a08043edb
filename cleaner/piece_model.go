package cleaner

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/calibration"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A PieceModel is a label model, with what it says of all labels, and what it must know to score a piece. It can be kept as
// JSON without a loss.
type PieceModel struct {
	Census *Census
	Hops   int               // K
	Model  *labelmodel.Model // as Run.Model

	// Rate, Low, High, Threshold and GreyFrom are MislabelRate, RateLow, RateHigh, Threshold and GreyFrom of a Run.
	Rate, Low, High, Threshold, GreyFrom float64

	Warnings []string // as Run.Warnings
	Notices  []string // what Clean would tell the user of the fit
}

// Reach is the most hops over which a label has a part in a score, from 1 to K: the features L of more hops have no weight.
func (m *PieceModel) Reach() int { return m.Model.Reach() }

// Weighs says whether a feature of the 2K+1, as PieceScorer.Score has them, has a part in scores.
func (m *PieceModel) Weighs(feature int) bool {
	return feature == 0 || feature > m.Hops && feature <= m.Hops+m.Reach()
}

// estimate fills what the calibration comes to.
func (m *PieceModel) estimate() {
	e := m.Model.Calibration.Estimate()
	m.Rate, m.Low, m.High, m.Threshold, m.GreyFrom = e.Rate, e.Low, e.High, e.Threshold, e.GreyFrom
}

// ScoreBins is how many bins the scores are counted in.
const ScoreBins = calibration.CountBins

// WantsBins says whether so few labels are wrong that the threshold is to be chosen on all scores, by AddBins and Rebin.
func (m *PieceModel) WantsBins() bool { return isForAll(m.Model.Calibration) }

// AddBins counts scores in bins [ScoreBins]; NaN scores are left out. Bins of several pieces are added up one by one.
func (m *PieceModel) AddBins(scores []float32, bins []uint64) {
	counts := make([]uint32, ScoreBins)
	e := calibration.Estimate{Shift: m.Model.Shift, Lapse: m.Model.Lapse}
	e.CountScores(scores, counts)
	for b, count := range counts {
		bins[b] += uint64(count)
	}
}

// Rebin chooses the threshold on all scores, whose bins [ScoreBins] are given, and estimates the rate by them. The scores
// stay as they are.
func (m *PieceModel) Rebin(bins []uint64) {
	counts := make([]uint32, ScoreBins)
	for b := range counts {
		counts[b] = uint32(min(bins[b], math.MaxUint32))
	}
	m.Model.Calibration.Rebin(counts)
	m.estimate()
}

// IsSuspect says whether a node on which nobody has decided is a suspect. See Suspects.
func (m *PieceModel) IsSuspect(score float32, label, suggested kv.Class) bool {
	return float64(score) > m.Threshold && label != kv.NoClass && suggested != kv.NoClass && label != suggested
}

// A PieceScorer scores pieces by a model. One goroutine.
type PieceScorer struct {
	model *PieceModel
	node  *nodeScorer
}

// Scorer makes the model ready to score; one serves for any number of pieces.
func (m *PieceModel) Scorer() *PieceScorer {
	return &PieceScorer{m, newNodeScorer(m.Model.Scorer(), 1+CountRivals(len(m.Census.Names)), featureWidth(m.Hops))}
}

// Score writes the scores of a piece [rows], NaN where no label is under test. tested [rows×(1+rivals)] is what
// Piece.Tested wrote, and features[f] [rows×(1+rivals)] is feature f of the 2K+1 of these labels: 0 is P0, K+k is Lk. P1 … PK
// may be nil, and so may Lk of k > Reach. It returns ErrShape if the parts do not fit together.
func (s *PieceScorer) Score(p *Piece, tested []kv.Class, features [][]float32, scores []float32) error {
	width, labels := featureWidth(s.model.Hops), len(s.node.classes)
	if len(features) != width || len(tested) != len(p.Labels)*labels || len(scores) != len(p.Labels) {
		return fmt.Errorf("score: %d rows, %d labels under test, %d features, %d scores: %w", len(p.Labels), len(tested), len(features), len(scores), ErrShape)
	}
	for f, values := range features {
		if len(values) != len(tested) && (s.model.Weighs(f) || values != nil) {
			return fmt.Errorf("score: feature %d has %d values, want %d: %w", f, len(values), len(tested), ErrShape)
		}
	}
	if s.node.model.CountsVotes() && p.Ballots == nil {
		return fmt.Errorf("score: no ballots, and the model counts votes: %w", ErrShape)
	}
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
				if s.node.z[j*width+f] = 0; values != nil {
					s.node.z[j*width+f] = values[i*labels+j]
				}
			}
		}
		var around Ballot
		if p.Ballots != nil {
			around = p.Ballots[i]
		}
		scores[i] = s.node.score(around, p.of.isUntaught(kv.NodeID(i)))
	}
	return nil
}

// A number is a float64 that JSON keeps even if it is not finite: it is a text then.
type number float64

// MarshalJSON writes a number, or "NaN", "+Inf" or "-Inf".
func (x number) MarshalJSON() ([]byte, error) {
	if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.AppendQuote(nil, strconv.FormatFloat(f, 'g', -1, 64)), nil
	}
	return json.Marshal(float64(x))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (x *number) UnmarshalJSON(text []byte) error {
	var f float64
	err := json.Unmarshal(text, &f)
	if len(text) > 0 && text[0] == '"' {
		var name string
		if err = json.Unmarshal(text, &name); err == nil {
			f, err = strconv.ParseFloat(name, 64)
		}
	}
	*x = number(f)
	return err
}

func numbersOf(values []float64) []number {
	if values == nil {
		return nil
	}
	numbers := make([]number, len(values))
	for i, x := range values {
		numbers[i] = number(x)
	}
	return numbers
}

func floatsOf(numbers []number) []float64 {
	if numbers == nil {
		return nil
	}
	values := make([]float64, len(numbers))
	for i, x := range numbers {
		values[i] = float64(x)
	}
	return values
}

// modelFields and calibrationFields are what encoding/json sees without the methods of the types.
type (
	modelFields       PieceModel
	calibrationFields calibration.Calibration
)

// A calibrationRecord is a Calibration whose weights may be infinite.
type calibrationRecord struct {
	calibrationFields
	Shifts, Flips, Doubt, Hidden []number
}

// A modelRecord is a PieceModel as JSON has it, whose Model has its calibration apart.
type modelRecord struct {
	modelFields
	Calibration calibrationRecord
}

// MarshalJSON writes every bit of the model, infinite numbers as texts.
func (m *PieceModel) MarshalJSON() ([]byte, error) {
	record, model, known := modelRecord{modelFields: modelFields(*m)}, *m.Model, *m.Model.Calibration
	model.Calibration, record.Model = nil, &model
	record.Calibration = calibrationRecord{
		calibrationFields(known), numbersOf(known.Shifts), numbersOf(known.Flips), numbersOf(known.Doubt), numbersOf(known.Hidden),
	}
	return json.Marshal(record)
}

// UnmarshalJSON reads what MarshalJSON writes, and returns ErrShape if its parts do not fit together.
func (m *PieceModel) UnmarshalJSON(text []byte) error {
	var record modelRecord
	if err := json.Unmarshal(text, &record); err != nil {
		return err
	}
	read := PieceModel(record.modelFields)
	if read.Model == nil || read.Census == nil {
		return fmt.Errorf("model: no census or no weights: %w", ErrShape)
	}
	known := calibration.Calibration(record.Calibration.calibrationFields)
	known.Shifts, known.Flips = floatsOf(record.Calibration.Shifts), floatsOf(record.Calibration.Flips)
	known.Doubt, known.Hidden = floatsOf(record.Calibration.Doubt), floatsOf(record.Calibration.Hidden)
	read.Model.Calibration = &known
	if err := read.check(); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	*m = read
	return nil
}

// check returns ErrShape if a part of the model is missing, or of another number of classes or hops.
func (m *PieceModel) check() error {
	c := len(m.Census.Names)
	if err := m.Census.check(); err != nil {
		return err
	}
	if m.Model.Classes != c || m.Hops < 1 || len(m.Model.Weights) != featureWidth(m.Hops) || !m.Model.Calibration.IsWhole() {
		return fmt.Errorf("of %d classes and %d weights, want %d classes and %d hops, and a calibration: %w",
			m.Model.Classes, len(m.Model.Weights), c, m.Hops, ErrShape)
	}
	if votes := len(m.Model.Compatibility); votes != 0 && votes != c*c {
		return fmt.Errorf("compatibility of %d numbers, want %d: %w", votes, c*c, ErrShape)
	}
	for _, cells := range [][]classmatrix.Cell{m.Model.Background, m.Model.Flips} {
		for _, cell := range cells {
			if !isClass(kv.Class(cell.Row), c) || !isClass(kv.Class(cell.Column), c) {
				return fmt.Errorf("cell %d, %d of %d classes: %w", cell.Row, cell.Column, c, ErrShape)
			}
		}
	}
	for _, k := range m.Model.Untaught {
		if !isClass(k, c) {
			return fmt.Errorf("class %d of %d: %w", k, c, ErrShape)
		}
	}
	return nil
}
