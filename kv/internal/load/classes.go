package load

import "strings"

// classes numbers class names as they turn up; their final numbers are known when all have.
type classes struct {
	names   []string
	numbers map[string]int
}

func newClasses(names []string) *classes {
	c := &classes{numbers: map[string]int{}}
	for _, name := range names {
		c.number(name)
	}
	return c
}

// number is the number of a class. The caller may reuse name.
func (c *classes) number(name string) int {
	number, ok := c.numbers[name]
	if !ok {
		number = len(c.names)
		name = strings.Clone(name)
		c.numbers[name] = number
		c.names = append(c.names, name)
	}
	return number
}
