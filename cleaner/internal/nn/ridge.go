package nn

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	lapack "gonum.org/v1/gonum/lapack/gonum"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
)

// A Ridge is a linear classifier by least squares. With Z the rows [n×d], Y their classes [n×c], one 1 in a row, m
// the mean of Y, g_j = Σ_i Z_ij² and ḡ the mean of the g_j,
//
//	W minimizes |Y − m − Z W|² + Σ_j (1 + 2 g_j/ḡ) |W_j|²     logits(z)_k = b_k + a_k (m + z W)_k
//
// A column that many rows have is shrunk more than a rare one, as if a share of the inputs were dropped at random
// (Wager, Wang and Liang, arXiv:1307.1493). What the fit without row i says of row i follows from the whole fit: with
// f_i = m + z_i W and h_i = z_iᵀ (ZᵀZ + diag(1 + 2 g/ḡ))⁻¹ z_i, it is Y_i − (Y_i − f_i)/(1 − h_i), where m is that of
// all rows. a and b have the least cross-entropy of these, which is convex, and are shrunk towards one a for all
// classes and no b: least squares gives rare classes small numbers. So nothing is drawn, and no row has seen its
// class.
type Ridge struct {
	Net      *Network  // without a hidden layer
	Leverage []float32 // h, of every row
	Loss     float64   // mean cross-entropy of the rows, each without itself

	scale, shift []float64 // a, b [classes]
}

const (
	ridgePenalty  = 1
	ridgeCommon   = 2       // of columns of mean g, beside that
	ridgePasses   = 2       // over the rows: ridgeFit.each
	ridgeRows     = 512     // at once: float32 sums of as many products are exact enough
	ridgeStrip    = 256     // columns of the sums that are computed at once
	ridgeApart    = 8       // numbers between rows of sums: rows of 2,048 would share few lines of a cache
	scaledNumbers = 1 << 20 // that a and b are fitted to, at most: rows × classes
	firstScale    = 4
	scaleSteps    = 40
	scaleDone     = 1e-5 // of the loss in a step
	leastScale    = 1    // where rows say nothing, classes are not told apart by rounding
	mostScale     = 1e3
	leastLeft     = 1e-3 // of 1 − h
)

// RidgeColumns is how many columns are told apart.
const RidgeColumns = 2048

// RidgeBytes is the memory of FitRidge for so many columns and classes: a square matrix, sums, rows, and twice the
// weights that it returns.
func RidgeBytes(columns, classes int64) int64 {
	told := min(columns, RidgeColumns)
	return told*(8*(told+ridgeApart)+8*classes+4*ridgeRows+2*4*ridgeStrip) + 4*columns*(2*classes+1)
}

// Examples are rows of numbers that have a class.
type Examples struct {
	Count, Width, Classes int

	Read  func(first, end int, x []float32) error // sets x [(end−first)×Width] to rows first ≤ r < end
	Class func(row int) int
}

// FitRidge fits a Ridge to rows. Of more columns than 2,048, sums of columns with signs stand for them (feature
// hashing, arXiv:0902.2206), in the fit alone. progress, if not nil, is told how many rows are done, of how many.
func FitRidge(ctx context.Context, rows Examples, workers int, progress func(done, total int64)) (*Ridge, error) {
	width, classes := min(rows.Width, RidgeColumns), rows.Classes
	f := &ridgeFit{
		Examples: rows, progress: progress, width: width, product: multiplier{workers: workers},
		memory: make([]float32, max(ridgeRows*width, rows.Width)), strip: make([]float32, ridgeStrip*width),
	}
	gram, w, err := f.sums(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.solve(gram, w); err != nil {
		return nil, err
	}
	r := &Ridge{
		Leverage: make([]float32, rows.Count),
		scale:    slices.Repeat([]float64{1}, classes), shift: make([]float64, classes),
	}
	if err := f.leverages(ctx, gram, r.Leverage); err != nil {
		return nil, err
	}
	bias := make([]float32, classes)
	for k, share := range f.shares {
		bias[k] = float32(share)
	}
	weights := make([]float32, rows.Width*classes)
	for j := range rows.Width {
		at, sign := f.place(j)
		for k := range classes {
			weights[j*classes+k] = float32(sign * w[at*classes+k])
		}
	}
	r.Net = &Network{Widths: []int{rows.Width, classes}, Weights: [][]float32{weights}, Biases: [][]float32{bias}}
	if err := r.fitScale(ctx, f); err != nil {
		return nil, err
	}
	for i := range weights {
		weights[i] = float32(r.scale[i%classes] * float64(weights[i]))
	}
	for k := range bias {
		bias[k] = float32(r.shift[k] + float64(r.scale[k]*float64(bias[k])))
	}
	return r, nil
}

// LeaveOut turns the logits of a row into those of the fit without it.
func (r *Ridge) LeaveOut(row, class int, logits []float32) {
	left := max(1-float64(r.Leverage[row]), leastLeft)
	for k, logit := range logits {
		y := r.shift[k]
		if k == class {
			y += r.scale[k]
		}
		logits[k] = float32(y - float64((y-float64(logit))/left))
	}
}

// A ridgeFit has the rows of a Ridge, and memory.
type ridgeFit struct {
	Examples
	width  int       // columns that are told apart, at most RidgeColumns
	shares []float64 // of the classes: m

	progress func(done, total int64)
	done     int

	product multiplier
	memory  []float32 // [ridgeRows×width], or at least a row
	strip   []float32 // [ridgeStrip×width]
}

// place is the column that stands for one of the rows, and its sign.
func (f *ridgeFit) place(column int) (at int, sign float64) {
	if f.width == f.Width {
		return column, 1
	}
	h := uint64(column+1) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
	h ^= h >> 32
	return int(h % uint64(f.width)), 1 - 2*float64(h>>40&1)
}

// block reads rows first ≤ r < end with the columns that stand for theirs.
func (f *ridgeFit) block(first, end int) ([]float32, error) {
	x := f.memory[:(end-first)*f.width]
	if f.width == f.Width {
		return x, f.Read(first, end, x)
	}
	clear(x)
	row := make([]float32, f.Width)
	for to := range slices.Chunk(x, f.width) {
		if err := f.Read(first, first+1, row); err != nil {
			return nil, err
		}
		for j, value := range row {
			if value != 0 {
				at, sign := f.place(j)
				to[at] += float32(float32(sign) * value)
			}
		}
		first++
	}
	return x, nil
}

// each calls visit for block after block.
func (f *ridgeFit) each(ctx context.Context, visit func(first, end int, x []float32)) error {
	for first := 0; first < f.Count; first += ridgeRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(first+ridgeRows, f.Count)
		x, err := f.block(first, end)
		if err != nil {
			return err
		}
		visit(first, end, x)
		if f.done += end - first; f.progress != nil {
			f.progress(int64(f.done), ridgePasses*int64(f.Count))
		}
	}
	return nil
}

// stride is how far the rows of square sums are apart.
func (f *ridgeFit) stride() int { return f.width + ridgeApart }

// sums are the lower triangle of ZᵀZ with the penalty on its diagonal [width×stride], and Zᵀ(Y − m) [width×classes]. It
// sets the shares.
func (f *ridgeFit) sums(ctx context.Context) (gram, sums []float64, err error) {
	d, stride, c := f.width, f.stride(), f.Classes
	gram, sums = make([]float64, d*stride), make([]float64, d*c)
	all := make([]float64, d)
	f.shares = make([]float64, c)
	err = f.each(ctx, func(first, end int, x []float32) {
		for left := 0; left < d; left += ridgeStrip {
			high, wide := d-left, min(ridgeStrip, d-left)
			columns := matrixView{x[left:], d, 1}
			f.product.multiply(high, end-first, wide, columns.transpose(), columns, nil, f.strip)
			share(f.product.workers, high*wide, high, func(_, from, to int) {
				for i := from; i < to; i++ {
					for j, sum := range f.strip[i*wide:][:wide] {
						gram[(left+i)*stride+left+j] += float64(sum)
					}
				}
			})
		}
		for r := first; r < end; r++ {
			y := f.Class(r)
			f.shares[y]++
			for j, value := range x[(r-first)*d:][:d] {
				sums[j*c+y] += float64(value)
				all[j] += float64(value)
			}
		}
	})
	for k := range f.shares {
		f.shares[k] /= float64(f.Count)
		for j, sum := range all {
			sums[j*c+k] -= float64(f.shares[k] * sum)
		}
	}
	var mean float64
	for j := range d {
		mean += gram[j*stride+j] / float64(d)
	}
	for j := range d {
		own := &gram[j*stride+j]
		*own += ridgePenalty
		if mean > 0 {
			*own += ridgeCommon * (*own - ridgePenalty) / mean
		}
	}
	return gram, sums, err
}

// solve turns sums [width×classes] into W, and the lower triangle of gram into the inverse of its Cholesky factor.
func (f *ridgeFit) solve(gram, sums []float64) error {
	var algebra lapack.Implementation
	if !algebra.Dpotrf(blas.Lower, f.width, gram, f.stride()) {
		return fmt.Errorf("base classifier: the square sums of %d columns have no Cholesky factor", f.width)
	}
	algebra.Dpotrs(blas.Lower, f.width, f.Classes, gram, f.stride(), sums, f.Classes)
	algebra.Dtrtri(blas.Lower, blas.NonUnit, f.width, gram, f.stride())
	return nil
}

// leverages are the squares of the rows times the inverse of the Cholesky factor [width×stride], lower.
func (f *ridgeFit) leverages(ctx context.Context, inverse []float64, h []float32) error {
	d := f.width
	sums, y := make([]float64, ridgeRows), make([]float32, ridgeRows*ridgeStrip)
	return f.each(ctx, func(first, end int, x []float32) {
		count := end - first
		clear(sums)
		for left := 0; left < d; left += ridgeStrip {
			wide := min(ridgeStrip, d-left)
			deep := left + wide // the columns of these rows that are not zero
			part := f.strip[:wide*deep]
			clear(part)
			for i := range wide {
				for j, x := range inverse[(left+i)*f.stride():][:left+i+1] {
					part[i*deep+j] = float32(x)
				}
			}
			f.product.multiply(count, deep, wide, rowsOf(x, d), rowsOf(part, deep).transpose(), nil, y)
			for r := range count {
				for _, value := range y[r*wide:][:wide] {
					sums[r] += float64(float64(value) * float64(value))
				}
			}
		}
		for r := range count {
			h[first+r] = float32(sums[r])
		}
	})
}

// fitScale finds a, b and the loss, on rows evenly apart.
func (r *Ridge) fitScale(ctx context.Context, f *ridgeFit) error {
	c := f.Classes
	apart := 1 + f.Count*c/scaledNumbers
	scores, right := make([]float32, 0, f.Count/apart*c+c), make([]int, 0, f.Count/apart+1)
	layers := Activations{Workers: f.product.workers}
	atOnce := max(len(f.memory)/f.Width, 1)
	for first := 0; first < f.Count; first += atOnce {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(first+atOnce, f.Count)
		x := f.memory[:(end-first)*f.Width]
		if err := f.Read(first, end, x); err != nil {
			return err
		}
		logits := layers.Outputs(r.Net, x, end-first)
		for row := first; row < end; row++ {
			if row%apart != 0 {
				continue
			}
			own := logits[(row-first)*c:][:c]
			y := f.Class(row)
			r.LeaveOut(row, y, own)
			right, scores = append(right, y), append(scores, own...)
		}
	}
	for k := range r.scale {
		r.scale[k] = firstScale
	}
	for range scaleSteps {
		if err := ctx.Err(); err != nil {
			return err
		}
		before := r.Loss
		steps := make([]scaleStep, c)
		r.Loss = r.slopes(scores, right, steps)
		mean := 0.0
		for _, a := range r.scale {
			mean += a / float64(c)
		}
		for k := range steps {
			s := &steps[k]
			s.slope[0] += r.scale[k] - mean
			s.slope[1] += r.shift[k]
			// Twice the diagonal of a softmax is above its second derivative: no step goes too far.
			aa, ab, bb := 1+2*s.bend[0], 2*s.bend[1], 1+2*s.bend[2]
			det := float64(aa*bb) - float64(ab*ab)
			a := r.scale[k] - (float64(bb*s.slope[0])-float64(ab*s.slope[1]))/det
			r.scale[k] = min(max(a, leastScale), mostScale)
			r.shift[k] -= (float64(aa*s.slope[1]) - float64(ab*s.slope[0])) / det
		}
		if math.Abs(r.Loss-before) < scaleDone {
			break
		}
	}
	return nil
}

// A scaleStep has sums over rows of derivatives of the cross-entropy, by a and by b of a class.
type scaleStep struct {
	slope [2]float64
	bend  [3]float64 // by a twice, by both, by b twice; of the class alone
}

// slopes is the mean cross-entropy of scores [rows×classes], and adds up its derivatives.
func (r *Ridge) slopes(scores []float32, right []int, steps []scaleStep) (loss float64) {
	c := len(steps)
	exps := make([]float64, c)
	for i, y := range right {
		row := scores[i*c:][:c]
		most := math.Inf(-1)
		for k, s := range row {
			exps[k] = r.shift[k] + float64(r.scale[k]*float64(s))
			most = max(most, exps[k])
		}
		own := exps[y] - most
		for k := range exps {
			exps[k] -= most
		}
		elementary.Exps(exps)
		var sum float64
		for _, e := range exps {
			sum += e
		}
		loss += elementary.Log(sum) - own
		for k, e := range exps {
			p, s, step := e/sum, float64(row[k]), &steps[k]
			slope, bend := p, float64(p*(1-p))
			if k == y {
				slope--
			}
			step.slope[0] += float64(slope * s)
			step.slope[1] += slope
			step.bend[0] += float64(float64(bend*s) * s)
			step.bend[1] += float64(bend * s)
			step.bend[2] += bend
		}
	}
	return loss / float64(max(len(right), 1))
}
