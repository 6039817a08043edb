package cleaner

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/float16"
	"github.com/graphcleaner/graphcleaner/kv"
)

// How far from 1 the probabilities of a node may add up: by the precision of numbers, and by that of two decimals, half
// of the last one for each class.
const (
	sumTolerance  = 1e-3
	halfADecimal  = 0.005
	mostTolerance = 0.1
)

// normalize puts the probabilities of row into w.row, or says what is wrong with it.
func (w *PredictionWriter) normalize(row []float64) (problem string) {
	if len(row) != len(w.classes) {
		return fmt.Sprintf("got %d numbers, want %d, one a class", len(row), len(w.classes))
	}
	copy(w.row, row)
	tolerance := max(sumTolerance, min(halfADecimal*float64(len(row)), mostTolerance)) * (1 + 1e-9)
	if w.opt.Logits {
		if addsUpTo(row, 1, tolerance) || addsUpTo(row, 100, tolerance) {
			w.distributions++
		}
		if problem = softmax(w.row, w.classes); problem != "" {
			return problem
		}
	}
	return normalizeRow(w.row, w.classes, tolerance)
}

// addsUpTo reports whether numbers, none of them negative, add up to a whole.
func addsUpTo(row []float64, whole, tolerance float64) bool {
	sum := 0.0
	for _, p := range row {
		if !(p >= 0) {
			return false
		}
		sum += p
	}
	return math.Abs(sum-whole) <= tolerance*whole
}

// normalizeRow scales probabilities to add up to 1, or says what is wrong with them.
func normalizeRow(row []float64, classes []string, tolerance float64) (problem string) {
	sum := 0.0
	for j, p := range row {
		if !(p >= 0 && p <= 1+sumTolerance) { // also if p is NaN
			return fmt.Sprintf("class %s is %v, want a probability from 0 to 1, or a word that these are logits", classes[j], p)
		}
		sum += p
	}
	if math.Abs(sum-1) > tolerance {
		return fmt.Sprintf("they add up to %.6g, want 1", sum)
	}
	for j := range row {
		row[j] /= sum
	}
	return ""
}

// softmax turns logits into probabilities, or says what is wrong with them. Taking the greatest away first keeps
// every exponential from overflowing.
func softmax(row []float64, classes []string) (problem string) {
	greatest := math.Inf(-1)
	for j, x := range row {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Sprintf("class %s is %v, want a finite logit", classes[j], x)
		}
		greatest = max(greatest, x)
	}
	for j := range row {
		row[j] -= greatest
	}
	elementary.Exps(row)
	var sum float64
	for _, e := range row {
		sum += e
	}
	for j := range row {
		row[j] /= sum
	}
	return ""
}

// A PredictionEncoding says how predictions are stored. The zero value keeps every class of a row as a float32.
type PredictionEncoding struct {
	// TopK keeps the k largest classes of a row (ties: the lower class), and gives every other class an equal share of
	// the rest:
	//
	//	q_j = p_j for the k largest, else (1 − Σ q over the k largest) / (c − k)
	//
	// so that rows add up to 1 and the order of the classes stays. Zero keeps all classes. So does a k of at least half
	// of the classes, because it would save nothing.
	TopK int

	// Float16 keeps probabilities as IEEE 754 binary16, rounded to the nearest: the relative error is at most 2^-11
	// (absolute 2^-25 below 2^-14). With TopK, the share of the other classes is adjusted, so that a row still adds up to
	// 1. Without TopK, it adds up to 1 within 2^-11.
	Float16 bool
}

func (e PredictionEncoding) matrix() kv.MatrixEncoding {
	return kv.MatrixEncoding{Half: e.Float16, Kept: e.TopK}
}

// A rowKeeper makes rows of probabilities what an encoding keeps of them.
type rowKeeper struct {
	encoding kv.MatrixEncoding
	top      []int     // the largest classes of a row, descending
	values   []float32 // of these classes, as they are kept
	output   []float32 // of the last row
}

func newRowKeeper(encoding kv.MatrixEncoding, classes int) rowKeeper {
	return rowKeeper{encoding: encoding, output: make([]float32, classes)}
}

// keep returns a row as it is kept, borrowed until the next one.
func (k *rowKeeper) keep(row []float64) (output []float32) {
	for j, p := range row {
		k.output[j] = float32(p)
	}
	if k.encoding.Shares(len(row)) {
		k.share(row)
	} else if k.encoding.Half {
		for j, p := range k.output {
			k.output[j] = float16.Round(p)
		}
	}
	return k.output
}

// share gives all classes but the largest the same share of what these leave.
func (k *rowKeeper) share(row []float64) {
	k.top = k.top[:0]
	for j, p := range row {
		if len(k.top) == k.encoding.Kept && !(p > row[k.top[len(k.top)-1]]) {
			continue
		}
		at := sort.Search(len(k.top), func(i int) bool { return row[k.top[i]] < p })
		if len(k.top) == k.encoding.Kept {
			k.top = k.top[:len(k.top)-1]
		}
		k.top = slices.Insert(k.top, at, j)
	}
	rest := 1.0
	k.values = k.values[:0]
	for _, j := range k.top {
		p := k.output[j]
		if k.encoding.Half {
			p = float16.Round(p)
		}
		k.values = append(k.values, p)
		rest -= float64(p)
	}
	fill := float32(max(rest, 0) / float64(len(row)-len(k.top)))
	for j := range k.output {
		k.output[j] = fill
	}
	for i, j := range k.top {
		k.output[j] = k.values[i]
	}
}

// PredictionsEncoding says how the stored predictions are encoded; kv.ErrNotFound when there are none.
func PredictionsEncoding(tx *kv.Tx) (PredictionEncoding, error) {
	matrix, err := tx.Matrix(PredictionsMatrix)
	if err != nil {
		return PredictionEncoding{}, err
	}
	return predictionEncoding(matrix.Encoding(), matrix.Width()), nil
}

// predictionEncoding is how a matrix of so many classes is encoded.
func predictionEncoding(e kv.MatrixEncoding, classes int) PredictionEncoding {
	encoding := PredictionEncoding{Float16: e.Half}
	if e.Shares(classes) {
		encoding.TopK = e.Kept
	}
	return encoding
}
