package wording

import (
	"slices"
	"strings"
)

// Nearest returns up to three known names that are similar to name, the most similar first. Their edit distance is at
// most a third of the length of name, so that a name of two letters is similar only to itself in another case.
func Nearest(name string, choices []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	limit := len(name) / 3
	var candidates []candidate
	for _, k := range choices {
		if d := editDistance(strings.ToLower(name), strings.ToLower(k)); d <= limit {
			candidates = append(candidates, candidate{k, d})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return a.distance - b.distance })
	var names []string
	for _, c := range candidates[:min(3, len(candidates))] {
		names = append(names, c.name)
	}
	return names
}

// editDistance counts the characters to insert, delete, replace, or swap with their neighbour, that lead from a
// to b.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before, last []int // rows i-2 and i-1 of the table
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, last, row = last, row, make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			replace := last[j-1]
			if x[i-1] != y[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(y)]
}
