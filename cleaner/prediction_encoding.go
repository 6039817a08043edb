package cleaner

import (
	"slices"
	"sort"

	"github.com/graphcleaner/graphcleaner/internal/float16"
	"github.com/graphcleaner/graphcleaner/kv"
)

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
