// Command audits simulates audits by people who know the truth, and counts how often the told intervals hold.
//
//	GRAPHCLEANER_DATA=/path/to/data go -C docs/detection run ./audits [-seeds 200] [-data …] [-disturbed] [-part 1/2]
//
// For each seed of a cell it copies the cleaned store, draws, answers by the true labels, and reads what ReadAudit
// tells at each look. At 50 and 200 draws it rescores, in the first 40 audits, and compares the suspects with the
// truth. Audits are kept in -work, a file a cell: run it again, and it continues. The table is results/audit.md. Parts
// of the cells may run side by side.
//
// With -disturbed, a tenth of the draws is unsure. Before the audit begins, the first 20 nodes of the queue and the
// tenth of the draws with the highest scores are decided. Two people answer in turns, and the last answers of each look
// are taken back and given again. This table is results/audit_disturbed.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/graphcleaner/graphcleaner/docs/detection/cells"
	"github.com/graphcleaner/graphcleaner/kv"
)

func main() { cells.Main("audits", run) }

func run(ctx context.Context) error {
	t := table{Bench: cells.Bench{Table: "audit"}}
	if err := t.Flags("audits"); err != nil {
		return err
	}
	flag.IntVar(&t.seeds, "seeds", 200, "audits of each cell")
	data := flag.String("data", "", "comma-separated folders of GRAPHCLEANER_DATA; all that the table has if empty")
	noise := flag.String("noise", "", "comma-separated noises; all that the table has if empty")
	flag.IntVar(&t.rescored, "rescored", 40, "of the audits of each cell, those that measure F1")
	flag.BoolVar(&t.disturbed, "disturbed", false,
		"people are unsure, begin with the queue, are two, and take answers back")
	part := flag.String("part", "1/1", "which part of the cells")
	flag.Parse()
	var mine, parts int
	if _, err := fmt.Sscanf(*part, "%d/%d", &mine, &parts); err != nil || mine < 1 || mine > parts {
		return fmt.Errorf("-part %s: want 1/2 or 2/2, or others of the kind", *part)
	}
	if t.disturbed {
		t.Table = "audit_disturbed"
	}
	if err := t.Begin(ctx); err != nil {
		return err
	}
	isOf := func(asked, name string) bool { return asked == "" || slices.Contains(strings.Split(asked, ","), name) }
	isAsked := func(i int, cell cells.Cell) bool {
		return i%parts == mine-1 && isOf(*data, cell.Data) && isOf(*noise, cell.Noise)
	}
	return t.Each(isAsked, func(cell cells.Cell) error { return t.measure(ctx, cell) }, t.text)
}

// measure makes the audits of a cell that are not kept yet.
func (t *table) measure(ctx context.Context, cell cells.Cell) error {
	kept, err := t.read(cell)
	if err != nil || len(kept) >= t.seeds*len(looks) {
		return err
	}
	return t.Measure(ctx, cell, func(store *cells.Store, out io.Writer) error {
		began := processorTime()
		for i := range t.seeds {
			seed := uint64(i + 1)
			err := store.Copy(func(copied *kv.Store) error {
				s := simulation{
					cell: store, store: copied, chance: rand.New(rand.NewPCG(seed, 0)),
					rescores: i < t.rescored, disturbed: t.disturbed, decided: map[kv.NodeID]bool{},
				}
				all, err := s.run(ctx, seed)
				for _, at := range all {
					fmt.Fprintln(out, at)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		fmt.Fprintf(os.Stderr, "%s, %s: %.3f s of a processor an audit\n", cell.Data, cell.Noise,
			(processorTime()-began).Seconds()/float64(t.seeds))
		return nil
	})
}

func processorTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
