package kv

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// loadClasses numbers class names as they turn up; their final numbers are known when all have.
type loadClasses struct {
	names   []string
	numbers map[string]int
}

func newLoadClasses(names []string) (*loadClasses, error) {
	c := &loadClasses{numbers: map[string]int{}}
	for _, name := range names {
		if err := validateName("class", name); err != nil {
			return nil, err
		}
		c.number(name)
	}
	return c, nil
}

func (c *loadClasses) number(name string) int {
	number, ok := c.numbers[name]
	if !ok {
		number = len(c.names)
		c.numbers[name] = number
		c.names = append(c.names, name)
	}
	return number
}

// sorted returns the names as numbers where all are numbers, else by bytes.
func (c *loadClasses) sorted() []string {
	values := make(map[string]float64, len(c.names))
	for _, name := range c.names {
		if x, err := strconv.ParseFloat(name, 64); err == nil && !math.IsNaN(x) {
			values[name] = x
		}
	}
	return slices.SortedFunc(slices.Values(c.names), func(a, b string) int {
		if len(values) == len(c.names) && values[a] != values[b] {
			return cmp.Compare(values[a], values[b])
		}
		return cmp.Compare(a, b) // also of 1 and 1.0
	})
}
