package cleaner

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A PieceModel is a label model, with what it says of all labels, and what it must know to score a piece. It can be
// kept as JSON without a loss.
type PieceModel struct {
	Census *Census
	Hops   int               // K
	Model  *labelmodel.Model // as Run.Model

	Rate, Threshold float64 // MislabelRate and Threshold of a Run

	Warnings []string // as Run.Warnings
	Notices  []string // what Clean would tell the user of the fit
}

// Reach is the most hops over which a label has a part in a score, from 1 to K: the features L of more hops have no
// weight.
func (m *PieceModel) Reach() int { return m.Model.Reach() }

// A PieceScorer scores pieces by a model. One goroutine.
type PieceScorer struct {
	model *PieceModel
	node  *nodeScorer
}

// Scorer makes the model ready to score; one serves for any number of pieces.
func (m *PieceModel) Scorer() *PieceScorer {
	return &PieceScorer{m, newNodeScorer(m.Model.Scorer(), 1+CountRivals(len(m.Census.Names)), width(nil, m.Hops))}
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
		score, class, chance := s.node.score(p.of.isUntaught(kv.NodeID(i)))
		if scores[i] = score; score == score {
			suggested[i], confidence[i] = class, chance
		}
	}
	return nil
}

// modelFields are what encoding/gob sees without the methods of the type.
type modelFields PieceModel

// MarshalJSON writes every bit of the model, as a text that UnmarshalJSON reads.
func (m *PieceModel) MarshalJSON() ([]byte, error) {
	var bits bytes.Buffer
	if err := gob.NewEncoder(&bits).Encode((*modelFields)(m)); err != nil {
		return nil, err
	}
	return json.Marshal(bits.Bytes())
}

// UnmarshalJSON reads what MarshalJSON writes, and returns ErrShape if its parts do not fit together.
func (m *PieceModel) UnmarshalJSON(text []byte) error {
	var bits []byte
	if err := json.Unmarshal(text, &bits); err != nil {
		return fmt.Errorf("model: want the text that a run wrote: %w", err)
	}
	var read PieceModel
	if err := gob.NewDecoder(bytes.NewReader(bits)).Decode((*modelFields)(&read)); err != nil {
		return fmt.Errorf("model: %w: %w", ErrShape, err)
	}
	if read.Model == nil || read.Census == nil {
		return fmt.Errorf("model: no census or no weights: %w", ErrShape)
	}
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
