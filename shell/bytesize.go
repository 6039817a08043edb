package shell

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A byteSize is a number of bytes, read from texts such as 512MiB, 2GiB, 1.5GB, 4G or 1048576.
type byteSize int64

// units are the suffixes by the bytes they stand for. A bare K, M, G or T is a power of two.
var units = []struct {
	suffix string
	bytes  float64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12},
	{"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"t", 1 << 40},
	{"b", 1}, {"", 1},
}

// leastMemory is less than which no command can do with.
const leastMemory byteSize = 64 << 20

// UnmarshalText reads a size for the command line.
func (b *byteSize) UnmarshalText(text []byte) error {
	word := strings.ToLower(strings.TrimSpace(string(text)))
	for _, unit := range units {
		number, ok := strings.CutSuffix(word, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(n > 0) || n*unit.bytes > math.MaxInt64/2 {
			break
		}
		*b = byteSize(n * unit.bytes)
		if *b < leastMemory {
			return fmt.Errorf("got %q, want %s or more", text, leastMemory)
		}
		return nil
	}
	return fmt.Errorf("got %q, want a size such as 512MiB or 2GiB", text)
}

// String prints a size with three digits or so.
func (b byteSize) String() string {
	for _, unit := range []struct {
		name  string
		bytes byteSize
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if b >= unit.bytes {
			return strconv.FormatFloat(math.Round(10*float64(b)/float64(unit.bytes))/10, 'f', -1, 64) + " " + unit.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + " bytes"
}
