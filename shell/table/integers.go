package table

import (
	"encoding/binary"
	"math/bits"
)

// An IntegerPair is a row of two columns that are integers.
type IntegerPair struct {
	Line   int64 // as of Row
	Fields [2]uint64
}

// IntegerPairs reads rows on as long as they are a line of two fields that are integers from 0 up in their shortest
// form, at most as many as pairs has room for. It returns how many. The rows that follow are left to Rows.
func (c *Chunk) IntegerPairs(pairs []IntegerPair) int {
	if r, ok := c.rows.(integerRows); ok {
		return r.integerPairs(pairs)
	}
	return 0
}

// integerRows are rows that can be read as Chunk.IntegerPairs does.
type integerRows interface {
	integerPairs(pairs []IntegerPair) int
}

// integerPairs is Chunk.IntegerPairs of the chunk.
func (c *partChunk) integerPairs(pairs []IntegerPair) int {
	r, ok := c.rows.(integerRows)
	if !ok {
		return 0
	}
	n := r.integerPairs(pairs)
	for i := range pairs[:n] {
		pairs[i].Line |= int64(c.part) << partShift
	}
	return n
}

// integerPairs is Chunk.IntegerPairs of a chunk of text. It leaves the last lines, which have no whole word behind
// them, to next.
func (c *textChunk) integerPairs(pairs []IntegerPair) int {
	if len(c.file.header) != 2 || c.quotes {
		return 0
	}
	data, separator := c.data, c.file.separator
	for i := range pairs {
		first, at := integer(data, c.at)
		if at < 0 || data[at] != separator {
			return i
		}
		second, at := integer(data, at+1)
		if at < 0 {
			return i
		}
		if data[at] == '\r' {
			at++
		}
		if at == len(data) || data[at] != '\n' {
			return i
		}
		c.at = at + 1
		c.line++
		pairs[i] = IntegerPair{c.line, [2]uint64{first, second}}
	}
	return len(pairs)
}

// integer parses the digits at a place of data, eight at a time. It returns where they end, which is a place of data
// too; -1 if there are none, or more than 15, if they begin with a zero that is not alone, or if the last of them are
// too near to the end of data.
func integer(data []byte, at int) (value uint64, end int) {
	const word, zeros = 8, 0x3030303030303030
	begin := at
	for len(data)-at >= word && at-begin <= word {
		digits := binary.LittleEndian.Uint64(data[at:]) ^ zeros
		others := (digits + 0x7676767676767676 | digits) & 0x8080808080808080 // a byte above 9; behind the first also others
		n := bits.TrailingZeros64(others) / word
		if n < word {
			if at += n; at == begin || data[begin] == '0' && at-begin > 1 {
				return 0, -1
			}
			if n == 0 {
				return value, at
			}
			return value*powersOfTen[n] + eightDigits(digits<<(64-word*n)), at
		}
		value = value*powersOfTen[word] + eightDigits(digits)
		at += word
	}
	return 0, -1
}

var powersOfTen = [...]uint64{1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000}

// eightDigits is the number whose decimal digits are the bytes of a word, the first in the lowest byte.
func eightDigits(digits uint64) uint64 {
	digits = digits*10 + digits>>8 // every second byte has two digits
	const two = 0x000000ff000000ff
	return (digits&two*(100+1_000_000<<32) + digits>>16&two*(1+10_000<<32)) >> 32
}
