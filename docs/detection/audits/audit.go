package main

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/docs/detection/cells"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

var looks = []int{25, 50, 100, 200}

// A told has the results of a look of an audit, and the truth. F1 and Own are of labels that nobody decided on: F1 of
// the suspects, Own of as many first nodes of the order before the audit as are wrong. They are -1 at looks that do not
// rescore.
type told struct {
	Seed                   uint64
	Look                   int
	Truth, Rate, Low, High float64
	F1, Own                float64
}

// A simulation is one audit.
type simulation struct {
	cell      *cells.Store
	store     *kv.Store // a copy of it
	chance    *rand.Rand
	rescores  bool // at looks of 50 and 200
	disturbed bool
	decided   map[kv.NodeID]bool
}

// run draws, answers, and reads the results.
func (s *simulation) run(ctx context.Context, seed uint64) (all []told, err error) {
	if err := cleaner.DrawAudit(ctx, s.store, looks[len(looks)-1], seed); err != nil {
		return nil, err
	}
	audit, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var draws []kv.NodeID
	for _, draw := range audit.Draws {
		draws = append(draws, draw.Node)
	}
	if s.disturbed {
		if err := s.answer(ctx, "queue", s.queue(draws)); err != nil {
			return nil, err
		}
	}
	order := s.cell.Order()
	first, truth := 0, float64(s.cell.CountWrong(order))/float64(len(order))
	for i, look := range looks {
		if err := s.answer(ctx, []string{"ann", "bob"}[i%2], draws[first:look]); err != nil {
			return nil, err
		}
		if audit, err = s.read(ctx); err != nil {
			return nil, err
		}
		at := told{seed, look, truth, audit.Rate, audit.Low, audit.High, -1, -1}
		if s.rescores && (look == 50 || look == 200) {
			if at.F1, at.Own, err = s.compare(ctx, order); err != nil {
				return nil, err
			}
		}
		all, first = append(all, at), look
	}
	return all, nil
}

func (s *simulation) read(ctx context.Context) (audit *cleaner.Audit, err error) {
	err = s.store.View(func(tx *kv.Tx) error {
		audit, err = cleaner.ReadAudit(ctx, tx)
		return err
	})
	return audit, err
}

// queue is the first 20 nodes by score, and of the draws the tenth with the highest scores.
func (s *simulation) queue(draws []kv.NodeID) []kv.NodeID {
	drawn := slices.Clone(draws)
	slices.SortFunc(drawn, s.cell.ByScore)
	nodes := slices.Concat(s.cell.Order()[:20], drawn[:len(drawn)/10])
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// answer decides in one step on those of the nodes that nobody has decided on.
func (s *simulation) answer(ctx context.Context, who string, nodes []kv.NodeID) error {
	var requests []decide.Request
	for _, v := range nodes {
		if s.decided[v] {
			continue
		}
		s.decided[v] = true
		request := s.cell.Answer(v)
		if s.disturbed && s.chance.IntN(10) == 0 {
			request = decide.Request{Node: v, Kind: decide.Unsure}
		}
		requests = append(requests, request)
	}
	opt := decide.Options{Who: who}
	_, err := decide.Write(ctx, s.store, requests, opt)
	if err != nil || !s.disturbed {
		return err
	}
	if _, err := cleaner.Undo(ctx, s.store, opt); err != nil {
		return err
	}
	_, err = decide.Write(ctx, s.store, requests, opt)
	return err
}

// compare rescores, and returns F1 and Own of a told; order is that before the audit.
func (s *simulation) compare(ctx context.Context, order []kv.NodeID) (f1, own float64, err error) {
	if _, err := cleaner.Rescore(ctx, s.store, cleaner.RescoreOptions{Workers: 1}); err != nil {
		return 0, 0, err
	}
	suspects, err := s.suspects(ctx)
	isDecided := func(v kv.NodeID) bool { return s.decided[v] }
	order = slices.DeleteFunc(slices.Clone(order), isDecided)
	wrong := s.cell.CountWrong(order)
	of := func(nodes []kv.NodeID) float64 {
		return 2 * float64(s.cell.CountWrong(nodes)) / float64(max(1, len(nodes)+wrong))
	}
	return of(suspects), of(order[:wrong]), err
}

// suspects are the suspects that nobody has decided on.
func (s *simulation) suspects(ctx context.Context) (suspects []kv.NodeID, err error) {
	err = s.store.View(func(tx *kv.Tx) error {
		run, err := cleaner.LastRun(tx)
		if err != nil {
			return err
		}
		plan, err := index.NewPlan(tx, index.Query{Where: cleaner.Suspects(run.Threshold), Limit: -1})
		if err != nil {
			return err
		}
		for v, err := range plan.Rows(ctx) {
			if err != nil {
				return err
			}
			suspects = append(suspects, v)
		}
		return nil
	})
	return suspects, err
}
