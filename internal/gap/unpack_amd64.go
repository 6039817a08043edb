//go:build !purego

package gap

import "golang.org/x/sys/cpu"

// hasWords reports whether the processor has the instructions of unpackWords.
var hasWords = cpu.X86.HasSSSE3

// shuffles and steps are by the high bits of eight bytes, bit i that of byte i. A number ends with a byte whose high
// bit is clear. shuffles moves the bytes of up to four numbers that end within the eight, of at most four bytes each,
// to a lane of 32 bits each, and clears the others; steps has how many bytes and how many numbers that are. They are
// made once, from what a varint is.
var shuffles, steps = shuffleTables()

func shuffleTables() (shuffles [256][16]byte, steps [256][2]uint8) {
	const clear = 0x80
	for high := range 256 {
		for i := range shuffles[high] {
			shuffles[high][i] = clear
		}
		begin, numbers := 0, 0
		for i := 0; i < 8 && numbers < 4 && i-begin < 4; i++ {
			if high&(1<<i) != 0 {
				continue
			}
			for k := begin; k <= i; k++ {
				shuffles[high][4*numbers+k-begin] = byte(k)
			}
			begin = i + 1
			numbers++
		}
		steps[high] = [2]uint8{uint8(begin), uint8(numbers)}
	}
	return shuffles, steps
}

// unpackWords decodes numbers of at most four bytes, plus one each, from size bytes at src to n numbers at dst, while
// there are bytes and room enough to take eight bytes at a time. It returns how many numbers and bytes it took; what is
// after these numbers in dst is overwritten.
//
//go:noescape
func unpackWords(
	dst *uint32, n int, src *byte, size int, shuffles *[256][16]byte, steps *[256][2]uint8,
) (numbers, bytes int)

// unpack decodes len(dst) numbers from data into dst, plus one each, and returns how many there were before the data
// ended or were damaged, and how many bytes these take.
func unpack(dst []uint32, data []byte) (numbers, bytes int) {
	if !hasWords {
		return unpackPlain(dst, data)
	}
	for numbers+wordsLeast <= len(dst) && bytes+wordsLeast <= len(data) {
		j, at := unpackWords(&dst[numbers], len(dst)-numbers, &data[bytes], len(data)-bytes, &shuffles, &steps)
		numbers, bytes = numbers+j, bytes+at
		if numbers == len(dst) {
			return numbers, bytes
		}
		// The next number may be the long one that ended it.
		j, at = unpackPlain(dst[numbers:numbers+1], data[bytes:])
		numbers, bytes = numbers+j, bytes+at
		if j == 0 {
			return numbers, bytes
		}
	}
	j, at := unpackPlain(dst[numbers:], data[bytes:])
	return numbers + j, bytes + at
}

// wordsLeast is how many bytes and numbers make calling unpackWords worth it.
const wordsLeast = 16
