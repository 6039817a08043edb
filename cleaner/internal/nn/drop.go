package nn

import (
	"encoding/binary"
	"math/bits"
)

// dropRun is how many values draw from a generator of their own, so that workers share them.
const dropRun = 4096

// dropBytes are the random numbers of a run, one a value.
type dropBytes [dropRun]byte

// A generator is the state of a rand.PCG.
type generator struct{ high, low uint64 }

// A leap is what takes a generator some numbers further: its state is multiplied and added to.
type leap struct{ times, plus generator }

var (
	leapOne = leap{generator{2549297995355413924, 4865540595714422341}, generator{6364136223846793005, 1442695040888963407}}
	leapTwo = leapOne.twice()
)

func (l *leap) twice() leap { return leap{l.times.times(l.times), l.of(l.plus)} }

func (l *leap) of(g generator) generator {
	g = g.times(l.times)
	low, carry := bits.Add64(g.low, l.plus.low, 0)
	high, _ := bits.Add64(g.high, l.plus.high, carry)
	return generator{high, low}
}

func (g generator) times(by generator) generator {
	high, low := bits.Mul64(g.low, by.low)
	return generator{high + g.high*by.low + g.low*by.high, low}
}

// number is the random number of a state.
func (g generator) number() uint64 {
	const factor = 0xda942042e4dd58b5
	x := g.high ^ g.high>>32
	x *= factor
	x ^= x >> 48
	return x * (g.low | 1)
}

// fillPlainly draws the numbers of rand.NewPCG(seed, run), little end first. Two states that leap over each other do not wait for one another.
func (b *dropBytes) fillPlainly(seed, run uint64) {
	step := leapTwo
	even := leapOne.of(generator{seed, run})
	odd := leapOne.of(even)
	for i := 0; i < len(b); i += 16 {
		binary.LittleEndian.PutUint64(b[i:], even.number())
		binary.LittleEndian.PutUint64(b[i+8:], odd.number())
		even, odd = step.of(even), step.of(odd)
	}
}
