package metrics

import (
	"os"
	"strconv"
	"strings"
)

// Resident is how much memory the process holds in bytes, or false if the system does not say.
func Resident() (bytes float64, ok bool) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseFloat(fields[1], 64)
	return pages * float64(os.Getpagesize()), err == nil
}
