package shell

import "github.com/graphcleaner/graphcleaner/kv"

// ClassOrder returns the places of class names in the order in which classes are written wherever they stand side by
// side, that of kv.SortClasses: names[order[0]] is the first. Files without names, which are read by position, have it
// too.
func ClassOrder(names []string) (order []int) {
	places := make(map[string]int, len(names))
	for i, name := range names {
		places[name] = i
	}
	for _, name := range kv.SortClasses(names) {
		order = append(order, places[name])
	}
	return order
}
