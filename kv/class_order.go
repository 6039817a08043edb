package kv

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// SortClasses returns class names in the order that the bulk load numbers them: as numbers if all are numbers, else by
// bytes. Tx.Classes is in it until a class is added. names is left as it is.
func SortClasses(names []string) []string {
	values := make(map[string]float64, len(names))
	for _, name := range names {
		if x, err := strconv.ParseFloat(name, 64); err == nil && !math.IsNaN(x) {
			values[name] = x
		}
	}
	return slices.SortedFunc(slices.Values(names), func(a, b string) int {
		if len(values) == len(names) && values[a] != values[b] {
			return cmp.Compare(values[a], values[b])
		}
		return cmp.Compare(a, b) // also of 1 and 1.0
	})
}
