package kv

import "strings"

// loadClasses numbers class names as they turn up, and counts the values that name them; their final numbers are known
// when all have.
type loadClasses struct {
	names   []string
	uses    []int64
	numbers map[string]int
}

// declaredUse is the use of a class that the caller has named.
const declaredUse = 1

func newLoadClasses(names []string) (*loadClasses, error) {
	c := &loadClasses{numbers: map[string]int{}}
	for _, name := range names {
		if err := validateName("class", name); err != nil {
			return nil, err
		}
		c.count(name, declaredUse)
	}
	return c, nil
}

// count adds to the uses of a class and returns its number. The name is the caller's again.
func (c *loadClasses) count(name string, uses int64) int {
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

// sorted returns the names that are used, in their final order.
func (c *loadClasses) sorted() []string {
	var used []string
	for number, name := range c.names {
		if c.uses[number] > 0 {
			used = append(used, name)
		}
	}
	return SortClasses(used)
}
