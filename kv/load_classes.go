package kv

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

// sorted returns the names in their final order.
func (c *loadClasses) sorted() []string { return SortClasses(c.names) }
