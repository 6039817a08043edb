package kernel

import "context"

// Stretch is how many adjacency entries are worked on between two looks at the context.
const Stretch = 1 << 16

// A Pace counts the entries worked on since the context was last looked at.
type Pace int

// Walk counts entries, and returns ctx.Err() if it is time to look at it.
func (p *Pace) Walk(ctx context.Context, entries int) error {
	if *p += Pace(entries); *p < Stretch {
		return nil
	}
	*p = 0
	return ctx.Err()
}
