package review

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// draw draws, and tells where the audit stands: its open draws, and Audit, nil before the first draw.
func (s *Sample) draw(ctx context.Context, store *kv.Store) (r Result, err error) {
	if s.Size > 0 {
		if err := cleaner.DrawAudit(ctx, store, s.Size, s.Seed); err != nil {
			return r, wording.AdviseAudit(err)
		}
	}
	tx := store.Begin()
	defer tx.Close()
	r.Audit, err = cleaner.ReadAudit(ctx, tx)
	if errors.Is(err, kv.ErrNotFound) {
		return Result{}, nil
	}
	if err != nil {
		return r, err
	}
	for _, d := range r.Audit.Open() {
		id, err := tx.ID(d.Node)
		if err != nil {
			return r, err
		}
		r.Nodes, r.IDs = append(r.Nodes, d.Node), append(r.IDs, id)
	}
	return r, nil
}

// blindOptions is how many classes a blind card offers.
const blindOptions = 4

// blind takes what shows the opinion of graphcleaner out of a dossier, and returns the label and the likeliest others. The
// order is the same whenever the node is shown, and says nothing.
func blind(d *survey.Dossier) (options []string) {
	for _, class := range d.Choices {
		if class != d.Label && len(options) < blindOptions-1 {
			options = append(options, class)
		}
	}
	options = append(options, d.Label)
	slices.Sort(options)
	rand.New(rand.NewPCG(uint64(d.Node), 0)).Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
	return options
}

// around are the neighbours of a blind card: for and against the label, by id.
func around(d *survey.Dossier) []survey.Neighbor {
	all := slices.Concat(d.Against, d.For)
	slices.SortFunc(all, func(a, b survey.Neighbor) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
