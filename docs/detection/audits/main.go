// Command audits simulates audits by people who know the truth, and counts how often the told intervals hold.
//
//	GRAPHCLEANER_DATA=/path/to/data go -C docs/detection run ./audits [-seeds 200] [-data cora,…] [-disturbed] [-part 1/2]
//
// For each seed of a cell it copies the cleaned store, draws, answers by the true labels, and reads what ReadAudit tells at
// each look. At 50 and 200 draws it rescores, in the first 40 audits, and compares the suspects with the truth. Audits are kept in -work, a
// file a cell: run it again, and it continues. The table is results/audit.md. Parts of the cells may run side by side.
//
// With -disturbed, a tenth of the draws is unsure. Before the audit begins, the first 20 nodes of the queue and the tenth of
// the draws with the highest scores are decided. Two people answer in turns, and the last answers of each look are taken
// back and given again. This table is results/audit_disturbed.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/graphcleaner/graphcleaner/docs/detection/cells"
	"github.com/graphcleaner/graphcleaner/kv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "audits:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	seeds := flag.Int("seeds", 200, "audits of each cell")
	data := flag.String("data", "", "comma-separated folders of GRAPHCLEANER_DATA; all that the table has if empty")
	noise := flag.String("noise", "", "comma-separated noises; all that the table has if empty")
	rescored := flag.Int("rescored", 40, "of the audits of each cell, those that measure F1")
	disturbed := flag.Bool("disturbed", false, "people are unsure, begin with the queue, are two, and take answers back")
	part := flag.String("part", "1/1", "which part of the cells")
	work := flag.String("work", filepath.Join(cache, "graphcleaner-audits"), "where audits are kept")
	out := flag.String("out", "results", "where the table goes")
	flag.Parse()
	var mine, parts int
	if _, err := fmt.Sscanf(*part, "%d/%d", &mine, &parts); err != nil || mine < 1 || mine > parts {
		return fmt.Errorf("-part %s: want 1/2 or 2/2, or others of the kind", *part)
	}
	commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return fmt.Errorf("git describe: %w", err)
	}
	t := table{commit: strings.TrimSpace(string(commit)), name: "audit", seeds: *seeds, rescored: *rescored, disturbed: *disturbed}
	if *disturbed {
		t.name = "audit_disturbed"
	}
	t.kept = filepath.Join(*work, t.commit, t.name)
	if err := os.MkdirAll(t.kept, 0o777); err != nil {
		return err
	}
	isAsked := func(asked, name string) bool { return asked == "" || slices.Contains(strings.Split(asked, ","), name) }
	for i, cell := range cells.All() {
		if i%parts != mine-1 || !isAsked(*data, cell.Data) || !isAsked(*noise, cell.Noise) {
			continue
		}
		if err := t.measure(ctx, cell); err != nil {
			return fmt.Errorf("%s, %s: %w", cell.Data, cell.Noise, err)
		}
		text, err := t.text()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(*out, t.name+".md"), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// measure makes the audits of a cell that are not kept yet.
func (t *table) measure(ctx context.Context, cell cells.Cell) (err error) {
	kept, err := t.read(cell)
	if err != nil || len(kept) >= t.seeds*len(looks) {
		return err
	}
	scratch, err := os.MkdirTemp("", "audits-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	store, err := cells.Make(ctx, cell, scratch)
	if err != nil {
		return err
	}
	file, err := os.Create(t.file(cell))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	began := processorTime()
	for i := range t.seeds {
		seed := uint64(i + 1)
		err := store.Copy(scratch, func(copied *kv.Store) error {
			s := simulation{
				cell: store, store: copied, chance: rand.New(rand.NewPCG(seed, 0)),
				rescores: i < t.rescored, disturbed: t.disturbed, decided: map[kv.NodeID]bool{},
			}
			all, err := s.run(ctx, seed)
			for _, at := range all {
				fmt.Fprintln(file, at)
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
}

func processorTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
