package cleaner

import (
	"context"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// ScorePatch tries a patch, and scores the labels that it would bring in, as Score does where the patch has been committed. It hands each
// score to use, by the number of the node, and leaves the store as it was. Other writers wait meanwhile, so use must not. An error of use
// ends it.
//
// A label is judged with all others of the patch in place. So a class of which many wrong labels come in at once may look right.
func ScorePatch(ctx context.Context, p *kv.Patch, opt ops.Options, use func(tx *kv.Tx, score NodeScore) error) error {
	return p.Try(ctx, func(tx *kv.Tx, labelled []kv.NodeID) error {
		for score, err := range Scores(ctx, tx, labelled, opt) {
			if err != nil {
				return err
			}
			if err := use(tx, score); err != nil {
				return err
			}
		}
		return nil
	})
}

// IsSuspect reports whether the score speaks against the label at a threshold: it is above it, and another label is suggested.
func (s NodeScore) IsSuspect(threshold float64) bool {
	return s.Score > threshold && s.Suggestion != "" && s.Suggestion != s.Label
}
