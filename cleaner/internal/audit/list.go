package audit

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
)

// ListError is the chance with which a list is told whose share of wasted labels is above the promised one, by all
// attempts at it together. See AttemptError.
const ListError = 1 - Level

// AttemptError is the error of an attempt at a list, after so many earlier ones that failed: each spends four fifths of
// what is left of ListError.
func AttemptError(earlier int) float64 { return ListError * 0.8 * elementary.Pow(0.2, earlier) }

const (
	listStream = orderStream + 1 // and those after it: one for each list

	// scoreDraws is how many draws a score is worth where a list is chosen. From 10 to 80 lists find the same within
	// .01.
	scoreDraws = 20

	leastListDraws = 24

	// MostListDraws is how many labels of a list are drawn at most.
	MostListDraws = 1000

	binShift = 14 // of the bits of a float32: bins are .2% wide
	countBin = math.MaxUint16
)

// Forgiven is how many wasted labels may be among the draws from a list of size labels, so that more than share of the
// list is wasted with the chance err at most: the largest c with
//
//	P(X ≤ c) ≤ err        X hypergeometric: wasted ones among draws, where ⌊share·size⌋+1 of size are wasted
//
// It is −1 if no draws suffice. Where all labels are drawn, it is ⌊share·size⌋. The share is at most a half, and the
// draws are at most MostListDraws, or chances are too small for numbers.
func Forgiven(size, draws int64, share, err float64) int64 {
	wasted := int64(math.Floor(float64(share*float64(size))+1e-9)) + 1
	c := max(0, draws-(size-wasted)) // the fewest there can be
	chance := elementary.Exp(choose(wasted, c) + choose(size-wasted, draws-c) - choose(size, draws))
	for sum := chance; sum <= err && c <= draws; sum += chance {
		chance = float64(chance * float64(wasted-c) * float64(draws-c) / (float64(c+1) * float64(size-wasted-draws+c+1)))
		c++
	}
	return c - 1
}

// choose is the logarithm of n over k.
func choose(n, k int64) (sum float64) {
	k = min(k, n-k)
	for i := range k {
		sum += elementary.Log(float64(n-i) / float64(k-i))
	}
	return sum
}

// ListDraws is how many draws a list wants: the least number from 24 on which forgives one more wasted label than one
// draw less does, in a list without an end.
func ListDraws(share, err float64) int64 {
	for n := int64(leastListDraws); n < MostListDraws; n++ {
		if Forgiven(endless, n, share, err) > Forgiven(endless, n-1, share, err) {
			return n
		}
	}
	return MostListDraws
}

const endless = 1 << 40

// A List is labels of which as many as possible are good and at most a share is wasted, as far as scores can tell.
// Draws are those of its labels that chance chose for a look, in the order in which they are looked at.
type List struct {
	Nodes, Draws []uint32 // Nodes ascend
}

// NewList chooses a list and draws from it. It calls each twice, which calls do for every label in the same order, with
// its node and the chance that it would be wasted. The labels with the lowest chances are in the list, as many as give
// the most good labels, by
//
//	P(wasted draws ≤ Forgiven) · Σ (1−chance)
//
// where the share of wasted labels is as uncertain as after 20 draws. Which labels are drawn depends on nothing but
// seed and number: each of the list has the same chance. NewList holds a megabyte and the list.
func NewList(
	seed uint64, number int, draws int64, share, err float64, each func(do func(node uint32, waste float64)) error,
) (*List, error) {
	counts, sums := make([]int64, countBin), make([]float64, countBin)
	if err := each(func(_ uint32, waste float64) {
		counts[binOf(waste)]++
		sums[binOf(waste)] += waste
	}); err != nil {
		return nil, err
	}
	last := lastBin(counts, sums, draws, share, err)
	l := &List{}
	var drawnLabels lowest
	ranks := rand.New(rand.NewPCG(seed, listStream+uint64(number)))
	if err := each(func(node uint32, waste float64) {
		if binOf(waste) <= last {
			l.Nodes = append(l.Nodes, node)
			drawnLabels.add(drawn{ranks.Uint64(), node}, int(draws))
		}
	}); err != nil {
		return nil, err
	}
	for _, d := range drawnLabels.first(int(draws)) {
		l.Draws = append(l.Draws, d.node)
	}
	return l, nil
}

func binOf(waste float64) int { return int(math.Float32bits(float32(max(0, waste))) >> binShift) }

// lastBin is the last bin of the list that gives the most good labels, −1 if draws prove none.
func lastBin(counts []int64, sums []float64, draws int64, share, err float64) (last int) {
	var size, tried int64
	var wasted, most float64
	last = -1
	for bin, count := range counts {
		if count == 0 {
			continue
		}
		size += count
		wasted += sums[bin]
		if most > 0 && size < tried+tried/64 {
			continue // nearly the same list
		}
		tried = size
		rate := (wasted + 0.5) / float64(size+1)
		good := passes(size, min(draws, size), rate, share, err) * (float64(size) - wasted)
		if good > most {
			last, most = bin, good
		}
	}
	return last
}

// passes is the chance that so many draws prove a list whose share of wasted labels is beta distributed about rate.
func passes(size, draws int64, rate, share, err float64) (sum float64) {
	a, b := float64(scoreDraws*rate), float64(scoreDraws*(1-rate))
	n := float64(draws)
	chance := elementary.Exp(mathext.Lbeta(a, b+n) - mathext.Lbeta(a, b))
	for c := range Forgiven(size, draws, share, err) + 1 {
		sum += chance
		at := float64(c)
		chance *= (n - at) * (a + at) / ((at + 1) * (b + n - at - 1))
	}
	return sum
}
