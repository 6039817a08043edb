package pack

import (
	"cmp"
	"context"
	"slices"

	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// An Input is a sequence of entries whose keys ascend; of one key, the versions descend.
type Input interface {
	// Next goes to the next entry, first to the first; on is false at the end.
	Next() (on bool, err error)

	// Entry is the entry that it stands on.
	Entry() Entry
}

// Merge hands the newest entry of each key of inputs to use. Of two entries of one version of a key, that of the later
// input counts.
func Merge(ctx context.Context, inputs []Input, use func(newest Entry) error) error {
	var all []agedInput // by their next entries
	for age, in := range inputs {
		on, err := in.Next()
		if err != nil {
			return err
		}
		if on {
			all = append(all, agedInput{in, age})
		}
	}
	slices.SortFunc(all, agedInput.compare)
	for count := 0; len(all) > 0; count++ {
		if count%record.ContextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		newest := all[0].Entry()
		for len(all) > 0 && y.SameKey(all[0].Entry().Key, newest.Key) {
			on, err := all[0].Next()
			if err != nil {
				return err
			}
			if !on {
				all = all[1:]
				continue
			}
			for i := 1; i < len(all) && all[i].compare(all[i-1]) < 0; i++ { // seldom far: most inputs do not overlap
				all[i-1], all[i] = all[i], all[i-1]
			}
		}
		if err := use(newest); err != nil {
			return err
		}
	}
	return nil
}

// An agedInput is one of those that are merged. A greater age is of a later one.
type agedInput struct {
	Input
	age int
}

func (a agedInput) compare(b agedInput) int {
	return cmp.Or(y.CompareKeys(a.Entry().Key, b.Entry().Key), cmp.Compare(b.age, a.age))
}
