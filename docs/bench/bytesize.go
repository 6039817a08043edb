package main

import (
	"fmt"
	"strconv"
	"strings"
)

// A byteSize is a number of bytes on the command line, such as 640MiB.
type byteSize int64

// UnmarshalText reads a whole number with a unit: none or B, KiB, MiB, GiB, TiB.
func (b *byteSize) UnmarshalText(text []byte) error {
	number := strings.TrimSuffix(string(text), "B")
	shift := 0
	for i, unit := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if rest, ok := strings.CutSuffix(number, unit); ok {
			number, shift = rest, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > 1<<62>>shift {
		return fmt.Errorf("got %q, want a size such as 640MiB or 2GiB", text)
	}
	*b = byteSize(n << shift)
	return nil
}
