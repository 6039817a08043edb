package query

import "github.com/graphcleaner/graphcleaner/internal/namelist"

// ClassOrder returns the places of class names in the order of namelist.Sorted: names[order[0]] comes first. Answers and
// files list classes in this order, and files without names are read in it.
func ClassOrder(names []string) (order []int) {
	places := make(map[string]int, len(names))
	for i, name := range names {
		places[name] = i
	}
	for _, name := range namelist.Sorted(names) {
		order = append(order, places[name])
	}
	return order
}
