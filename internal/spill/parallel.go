package spill

import (
	"context"
	"sync"
	"sync/atomic"
)

// inOrder calls produce(place, i) for every i < count on so many goroutines, and from its own use(place) ascending by
// i. A place holds a product until it has been used; so many products as there are places wait at most.
func inOrder[P any](
	ctx context.Context, workers, count int, places []P, produce func(place P, i int) error, use func(P) error,
) error {
	type product struct {
		place P
		i     int
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	free, products := make(chan P, len(places)), make(chan product, len(places))
	for _, place := range places {
		free <- place
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range min(workers, count) {
		wg.Go(func() {
			for {
				// The place comes first: whoever has the least number has a place, and so the others wait for no one
				// else.
				var place P
				select {
				case place = <-free:
				case <-ctx.Done():
					return
				}
				i := int(next.Add(1)) - 1
				if i >= count {
					return
				}
				products <- product{place, i, produce(place, i)} // has room for every place
			}
		})
	}
	early := make(map[int]product, len(places))
	for i := range count {
		p, ok := early[i]
		for !ok {
			select {
			case other := <-products:
				early[other.i] = other
				p, ok = early[i]
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		delete(early, i)
		if p.err != nil {
			return p.err
		}
		if err := use(p.place); err != nil {
			return err
		}
		free <- p.place
	}
	return nil
}
