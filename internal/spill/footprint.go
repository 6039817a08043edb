package spill

import "math/bits"

// A Footprint is the most bytes that a Numbers takes while numbers are added and Sort runs, while they are read, and in
// its file.
type Footprint struct{ Sorting, Reading, File int64 }

// Footprint estimates memory and disk of so many numbers less than 2^width, spread evenly.
func (s *Numbers[T]) Footprint(count int64, width int) Footprint {
	key := sizeOf[T]()
	readers := int64(2 * s.workers)
	if count < int64(s.most-s.most/8) {
		return Footprint{Sorting: 2 * key * count, Reading: key*count + readers*key*leafKeys}
	}
	// Of a number the gap to the one before in its run is written.
	gap := max(bits.Len64(1<<width/uint64(min(count, int64(s.run)))), 1)
	return Footprint{
		Sorting: key * int64(s.most+s.run),
		Reading: readers * 2 * key * int64(s.reading),
		File:    count * (int64((gap+6)/7) + (key-8)/2),
	}
}
