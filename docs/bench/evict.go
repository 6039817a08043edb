package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// evictCommand takes files out of the page cache. It needs no privilege and leaves the files of others alone.
type evictCommand struct {
	Paths []string `arg:"" help:"Files, or directories with all that is in them."`
}

func (c *evictCommand) Run(ctx context.Context) error {
	for _, path := range c.Paths {
		err := filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			return evictFile(path)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func evictFile(path string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return dropPages(file)
}
