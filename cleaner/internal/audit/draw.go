package audit

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// mostCuts bounds the labels that tell the scores between strata: of so many and fewer, strata have the same size.
const mostCuts = 1 << 16

// The streams of random numbers of a seed.
const (
	cutStream = iota + 1
	tieStream
	drawStream
	orderStream
)

// New draws labels. It calls each twice, which calls do for every label in the same order, with its node and its score.
//
// Strata are five parts of about the same size by score, where chance breaks ties. Draws of a stratum are drawn without
// replacement. The next draw in the order is of the stratum that lacks most for its share, and chance mixes the draws
// up to a look with each other. The same labels, scores and seed give the same sample. New holds a megabyte.
func New(seed uint64, each func(do func(node uint32, score float64)) error) (*Sample, error) {
	cuts, err := findCuts(seed, each)
	if err != nil {
		return nil, err
	}
	s := &Sample{Sizes: make([]int64, countStrata)}
	var strata [countStrata]lowest
	ties, draws := rand.New(rand.NewPCG(seed, tieStream)), rand.New(rand.NewPCG(seed, drawStream))
	err = each(func(node uint32, score float64) {
		h, _ := slices.BinarySearchFunc(cuts, place{score, ties.Uint64()}, comparePlaces)
		s.Sizes[h]++
		strata[h].add(drawn{draws.Uint64(), node}, MostDraws)
	})
	if err != nil {
		return nil, err
	}
	s.order(strata[:])
	s.mix(seed)
	return s, nil
}

// A place is where a label stands among the others: by score, then by chance.
type place struct {
	score float64
	tie   uint64
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.tie, b.tie))
}

// findCuts finds the last places of all strata but the last, in ascending order.
func findCuts(seed uint64, each func(do func(node uint32, score float64)) error) ([]place, error) {
	var sample []place
	seen := 0
	ties, chosen := rand.New(rand.NewPCG(seed, tieStream)), rand.New(rand.NewPCG(seed, cutStream))
	err := each(func(_ uint32, score float64) {
		at := place{score, ties.Uint64()}
		if seen++; len(sample) < mostCuts {
			sample = append(sample, at)
		} else if i := chosen.IntN(seen); i < mostCuts {
			sample[i] = at
		}
	})
	if err != nil || len(sample) < countStrata {
		return nil, err // of fewer labels, one stratum
	}
	slices.SortFunc(sample, comparePlaces)
	var cuts []place
	for h := 1; h < countStrata; h++ {
		cuts = append(cuts, sample[h*len(sample)/countStrata-1])
	}
	return cuts, nil
}

// A drawn label has the number by which chance ranks it.
type drawn struct {
	rank uint64
	node uint32
}

// lowest holds the labels of the lowest ranks, and some others.
type lowest []drawn

func (l *lowest) add(d drawn, most int) {
	if *l = append(*l, d); len(*l) == 2*most {
		*l = l.first(most)
	}
}

// first are the labels of the lowest ranks, at most so many, the lowest first.
func (l lowest) first(most int) lowest {
	slices.SortFunc(l, func(a, b drawn) int { return cmp.Compare(a.rank, b.rank) })
	return l[:min(len(l), most)]
}

// order puts the draws of the strata into one order.
func (s *Sample) order(strata []lowest) {
	for h, of := range strata {
		strata[h] = of.first(MostDraws)
	}
	labels := s.Labels()
	taken := make([]int64, len(strata))
	for n := range min(labels, MostDraws) {
		next := -1
		var most int64
		for h, size := range s.Sizes {
			if lacks := (n+1)*size - taken[h]*labels; taken[h] < size && (next < 0 || lacks > most) {
				next, most = h, lacks
			}
		}
		s.Draws = append(s.Draws, Draw{strata[next][taken[next]].node, uint8(next)})
		taken[next]++
	}
}

// mix mixes the draws up to each look with each other, except for those of the look before.
func (s *Sample) mix(seed uint64) {
	chance := rand.New(rand.NewPCG(seed, orderStream))
	for first := 0; first < len(s.Draws); {
		batch := s.Draws[first:s.NextLook(first)]
		chance.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
		first += len(batch)
	}
}
