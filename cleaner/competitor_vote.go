package cleaner

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// onVotes has a method see the votes of the neighbours in place of the predictions. A node has no say in its own, so that
// all labelled nodes are judged together.
func onVotes(
	run func(context.Context, trial, Options) (*judgement, error),
) func(context.Context, trial, Options) (*judgement, error) {
	return func(ctx context.Context, t trial, opt Options) (_ *judgement, err error) {
		votes, err := t.neighbourVotes(ctx, opt.Workers)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, votes.Close()) }()
		t.predictions = votes
		return run(ctx, t, opt)
	}
}

// voteRows is how many rows of votes a worker counts at once.
const voteRows = 1 << 12

// neighbourVotes are the shares of the labels among the labelled neighbours of every node [n×classes], each of which
// counts by the weight of its edge, 1 if there are none. A node without labelled neighbours has 1/classes everywhere.
// The caller closes them.
func (t trial) neighbourVotes(ctx context.Context, workers int) (*rowstore.Store, error) {
	n, c := t.graph.NumNodes(), t.classes
	votes, err := rowstore.New(t.place.temporary(), n, c)
	if err != nil {
		return nil, err
	}
	type counter struct {
		poll *poll
		row  []float32 // [c]
	}
	counters := make([]counter, parallel.Workers(workers))
	return votes.OrClose(parallel.Do(ctx, len(counters), (n+voteRows-1)/voteRows,
		func(ctx context.Context, worker, block int) error {
			count := &counters[worker]
			if count.poll == nil {
				poll, err := newPoll(&t.problem)
				if err != nil {
					return err
				}
				*count = counter{poll, make([]float32, c)}
			}
			for v := kv.NodeID(block * voteRows); int(v) < min((block+1)*voteRows, n); v++ {
				if err := ctx.Err(); err != nil {
					return err
				}
				of, err := count.poll.of(v)
				if err != nil {
					return err
				}
				shares(of.Votes, count.row)
				if err := votes.Write(kv.Range{First: v, End: v + 1}, 0, c, count.row); err != nil {
					return err
				}
			}
			return nil
		}))
}

// shares divides votes by their sum; of none all classes have the same.
func shares(votes []float64, row []float32) {
	var all float64
	for _, vote := range votes {
		all += vote
	}
	for j, vote := range votes {
		if row[j] = 1 / float32(len(row)); all > 0 {
			row[j] = float32(vote / all)
		}
	}
}
