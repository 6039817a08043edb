package mapped

import (
	"os"
	"strconv"
	"strings"
)

// fileAt is the path of the file that is mapped at an address, "" where there is none. A line of the list of mappings
// is
//
//	7f0000000000-7f0000400000 r--s 00000000 08:01 1234   /path/of/the/file
func fileAt(address uintptr) string {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		from, rest, _ := strings.Cut(line, "-")
		to, rest, _ := strings.Cut(rest, " ")
		first, err := strconv.ParseUint(from, 16, 64)
		if err != nil {
			continue
		}
		end, err := strconv.ParseUint(to, 16, 64)
		if err != nil || uint64(address) < first || uint64(address) >= end {
			continue
		}
		if _, path, ok := strings.Cut(rest, "/"); ok {
			return strings.TrimSuffix("/"+strings.TrimSuffix(path, "\n"), " (deleted)")
		}
		return ""
	}
	return ""
}
