package gap

import (
	"slices"
	"unsafe"
)

// grow lengthens s by n elements, whose values are whatever the memory held.
func grow[N ~uint32](s []N, n int) []N {
	return slices.Grow(s, n)[:len(s)+n]
}

// asUint32 views s as plain numbers, so that the decoding loop is compiled once and for a known type: a type parameter
// would keep it from being optimised.
func asUint32[N ~uint32](s []N) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}
