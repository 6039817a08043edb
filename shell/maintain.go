package shell

import (
	"context"
	"time"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// statsCommand prints what the statement stats does.
type statsCommand struct {
	DB     string       `arg:"" name:"DB" help:"Directory of the store."`
	Format print.Format `default:"table" placeholder:"FORMAT" help:"table, csv, tsv, json, jsonl or markdown."`
	resources
}

func (*statsCommand) Help() string {
	return `Prints the numbers of nodes, edges, labels, columns, matrices and runs, and the bytes on disk.

    graphcleaner stats my.graph
    graphcleaner stats my.graph --format json`
}

func (c *statsCommand) Run(ctx context.Context, s *streams) error {
	if err := c.apply(s); err != nil {
		return err
	}
	return c.readStore(s, c.DB, func(store *kv.Store) error {
		return store.View(func(tx *kv.Tx) error {
			result, err := query.Query(ctx, tx, query.Options{Name: c.DB}, "stats")
			if err != nil {
				return err
			}
			for _, notice := range result.Notices() {
				s.say("%s", notice)
			}
			_, err = print.Render(s.out, result, c.Format)
			return err
		})
	})
}

// compactCommand folds later changes into the blocks.
type compactCommand struct {
	DB string `arg:"" name:"DB" help:"Directory of the store."`
	stageFile
	resources
}

func (*compactCommand) Help() string {
	return `Changes after the import lie beside the blocks of a store. compact folds them into the blocks and frees room that is no longer used. Answers stay the same.

    graphcleaner compact my.graph`
}

func (c *compactCommand) Run(ctx context.Context, s *streams) error {
	if err := c.apply(s); err != nil {
		return err
	}
	began := time.Now()
	err := c.useStore(s, c.DB, int64(c.Memory), func(store *kv.Store) error {
		if err := store.Compact(ctx, s.progress.report()); err != nil {
			return err
		}
		err := index.Compact(ctx, store)
		s.stages.end("compact")
		return err
	})
	if err != nil {
		return leaving(err, "%s is whole; run compact again to go on", c.DB)
	}
	s.progress.clear()
	_, err = s.printf("%s: compacted, %.1f s\n", c.DB, time.Since(began).Seconds())
	return err
}
