package load

import "strings"

// classes numbers class names as they turn up, and counts the values that name them; their final numbers are known
// when all have.
type classes struct {
	names   []string
	uses    []int64
	numbers map[string]int
}

func newClasses(names []string) *classes {
	c := &classes{numbers: map[string]int{}}
	for _, name := range names {
		c.count(name, 1)
	}
	return c
}

// count adds to the uses of a class and returns its number. The caller may reuse name.
func (c *classes) count(name string, uses int64) int {
	number, ok := c.numbers[name]
	if !ok {
		number = len(c.names)
		name = strings.Clone(name)
		c.numbers[name] = number
		c.names = append(c.names, name)
		c.uses = append(c.uses, 0)
	}
	c.uses[number] += uses
	return number
}

// used returns the names that are used.
func (c *classes) used() (names []string) {
	for number, name := range c.names {
		if c.uses[number] > 0 {
			names = append(names, name)
		}
	}
	return names
}
