package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// readsCommand measures how fast a disk is read at random places.
type readsCommand struct {
	File   string   `arg:"" help:"A large file on the disk, such as a table of a store. It is taken out of the page cache."`
	Block  byteSize `default:"16KiB" help:"Bytes of each read."`
	Reads  int      `default:"4096" help:"Reads of each kind."`
	AtOnce int      `default:"64" help:"Reads that are under way at once, in the second kind."`
}

// A readsReport has reads a second.
type readsReport struct {
	BlockBytes          int64   `json:"block_bytes"`
	OneByOnePerSecond   float64 `json:"one_by_one_per_second"`
	AtOnce              int     `json:"at_once"`
	ManyAtOncePerSecond float64 `json:"many_at_once_per_second"`
}

func (c *readsCommand) Run(ctx context.Context, out io.Writer) error {
	report := readsReport{BlockBytes: int64(c.Block), AtOnce: c.AtOnce}
	var err error
	if report.OneByOnePerSecond, err = c.measure(ctx, 1); err != nil {
		return err
	}
	if report.ManyAtOncePerSecond, err = c.measure(ctx, c.AtOnce); err != nil {
		return err
	}
	return printJSON(out, report)
}

// measure returns how many blocks a second so many goroutines read, of which the cache has none.
func (c *readsCommand) measure(ctx context.Context, goroutines int) (perSecond float64, err error) {
	if err := evictFile(c.File); err != nil {
		return 0, err
	}
	file, err := os.Open(c.File)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := readAtRandom(file); err != nil {
		return 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	blocks := info.Size() / int64(max(c.Block, 1))
	if blocks < 1 || c.Reads < goroutines || goroutines < 1 {
		return 0, fmt.Errorf("%s has %d blocks of %d bytes, %d reads by %d at once: want a block or more, and a read for each", c.File, blocks,
			c.Block, c.Reads, goroutines)
	}
	errs := make([]error, goroutines)
	var all sync.WaitGroup
	began := time.Now()
	for g := range goroutines {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(goroutines), uint64(g)))
			block := make([]byte, c.Block)
			for range c.Reads / goroutines {
				if errs[g] = ctx.Err(); errs[g] == nil {
					_, errs[g] = file.ReadAt(block, random.Int64N(blocks)*int64(c.Block))
				}
				if errs[g] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return float64(c.Reads/goroutines*goroutines) / time.Since(began).Seconds(), errors.Join(errs...)
}
