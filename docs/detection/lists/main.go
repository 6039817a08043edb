// Command lists simulates lists that promise a share of wasted labels, by people who know the truth, and counts how
// often the promise holds and how much such lists find.
//
//	GRAPHCLEANER_DATA=/path/to/data go -C docs/detection run ./lists [-seeds 40] [-data cora,…]
//
// For each seed of a cell it copies the cleaned store, answers 50 draws of the audit, rescores, draws as many labels as
// each promise wants, and answers them; then the same with 100 draws of the audit and 50 of each list. The table is
// results/fdr.md. What was measured is kept in -work, a file a cell: run it again, and it continues.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/docs/detection/cells"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A design is how many draws there are of the audit, and of each list; 0 is as many as it wants.
type design struct{ audit, list int }

var designs = []design{{50, 0}, {100, 50}}

var promises = []cleaner.Promise{
	{Kind: cleaner.ListSuspects, Share: 0.1}, {Kind: cleaner.ListSuspects, Share: 0.2}, {Kind: cleaner.ListSuspects,
		Share: 0.3},
	{Kind: cleaner.ListTrusted, Share: 0.05}, {Kind: cleaner.ListTrusted, Share: 0.1},
}

func main() { cells.Main("lists", run) }

func run(ctx context.Context) error {
	t := table{Bench: cells.Bench{Table: "fdr"}}
	if err := t.Flags("lists"); err != nil {
		return err
	}
	flag.IntVar(&t.seeds, "seeds", 40, "runs of each cell")
	data := flag.String("data", "", "comma-separated folders of GRAPHCLEANER_DATA; all that the table has if empty")
	flag.Parse()
	if err := t.Begin(ctx); err != nil {
		return err
	}
	isAsked := func(_ int, cell cells.Cell) bool {
		return cell.Noise != cells.Published && (*data == "" || slices.Contains(strings.Split(*data, ","), cell.Data))
	}
	return t.Each(isAsked, func(cell cells.Cell) error { return t.measure(ctx, cell) }, t.text)
}

// measure makes the runs of a cell that are not kept yet.
func (t *table) measure(ctx context.Context, cell cells.Cell) error {
	kept, err := t.read(cell)
	if err != nil || len(kept) >= t.seeds*len(designs)*len(promises) {
		return err
	}
	return t.Measure(ctx, cell, func(of *cells.Store, out io.Writer) error {
		for seed := range uint64(t.seeds) {
			for _, d := range designs {
				err := of.Copy(func(s *kv.Store) error {
					all, err := simulate(ctx, of, s, d, seed+1)
					for _, l := range all {
						fmt.Fprintln(out, l)
					}
					return err
				})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// A list has the results of its draws, and the truth. Good and Oracle count labels: good ones of the list, and of
// the longest list in the same order that keeps the promise.
type list struct {
	Audit        int // draws of it
	Draws        int
	Kind         cleaner.ListKind
	Share        float64
	IsKept       bool
	Labels, Good int
	Oracle, Most int // labels and good ones of the oracle's list
}

// simulate answers an audit, and the draws of a list for each promise.
func simulate(ctx context.Context, of *cells.Store, s *kv.Store, d design, seed uint64) (all []list, err error) {
	if err := cleaner.DrawAudit(ctx, s, d.audit, seed); err != nil {
		return nil, err
	}
	if err := answer(ctx, of, s); err != nil {
		return nil, err
	}
	if _, err := cleaner.Rescore(ctx, s, cleaner.RescoreOptions{Workers: 1}); err != nil {
		return nil, err
	}
	for _, p := range promises {
		if err := cleaner.DrawList(ctx, s, p, d.list); err != nil {
			return nil, err
		}
	}
	if err := answer(ctx, of, s); err != nil {
		return nil, err
	}
	return all, s.View(func(tx *kv.Tx) error {
		a, err := cleaner.ReadAudit(ctx, tx)
		if err != nil {
			return err
		}
		for _, p := range promises {
			drawn := a.List(p)
			nodes, err := drawn.Nodes(tx)
			if err != nil {
				return err
			}
			l := list{Audit: d.audit, Draws: len(drawn.Draws), Kind: p.Kind, Share: p.Share, IsKept: drawn.IsKept(),
				Labels: int(drawn.Labels)}
			for v, wrong := range of.Wrong {
				if nodes.Has(kv.NodeID(v)) && wrong == (p.Kind == cleaner.ListSuspects) {
					l.Good++
				}
			}
			l.Oracle, l.Most = oracle(of, p)
			all = append(all, l)
		}
		return nil
	})
}

// answer decides on all open draws.
func answer(ctx context.Context, of *cells.Store, s *kv.Store) error {
	var requests []decide.Request
	err := s.View(func(tx *kv.Tx) error {
		a, err := cleaner.ReadAudit(ctx, tx)
		if err != nil {
			return err
		}
		for _, d := range a.Open("ann") {
			requests = append(requests, of.Answer(d.Node))
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = decide.Write(ctx, s, requests, decide.Options{Who: "ann"})
	return err
}

// oracle is the longest list in the order of scores that keeps a promise: its labels, and how many are good.
func oracle(of *cells.Store, p cleaner.Promise) (labels, good int) {
	order := of.Order()
	if p.Kind == cleaner.ListTrusted {
		slices.Reverse(order)
	}
	found := 0
	for i, v := range order {
		if of.Wrong[v] == (p.Kind == cleaner.ListSuspects) {
			found++
		}
		if float64(i+1-found) <= p.Share*float64(i+1) {
			labels, good = i+1, found
		}
	}
	return labels, good
}
