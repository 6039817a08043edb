package ops

import "context"

// stretch is how many adjacency entries are worked on between two looks at the context.
const stretch = 1 << 16

// A pace counts the entries worked on since the context was last looked at.
type pace int

func (p *pace) walk(ctx context.Context, entries int) error {
	if *p += pace(entries); *p < stretch {
		return nil
	}
	*p = 0
	return ctx.Err()
}
