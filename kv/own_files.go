package kv

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// ownNames are the names, as patterns, of what a store has in its directory.
var ownNames = []string{
	"MANIFEST", "MANIFEST-REWRITE", "KEYREGISTRY", "REWRITE-KEYREGISTRY", "DISCARD", storedir.LockFile, "catalog",
	"spill-*",
	"*.sst", "*.pack", "*.mem", "*.vlog", decisions.FileName,
	storedir.WorkName, storedir.HolderName,
}

// CheckOwnFiles returns an ErrForeignFile that names a file in the directory of a store which is not the store's own.
// Who deletes a store asks first, because such a file may be somebody's.
func CheckOwnFiles(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		own := slices.ContainsFunc(ownNames, func(pattern string) bool {
			matches, err := filepath.Match(pattern, entry.Name())
			return err == nil && matches
		})
		if !own {
			return fmt.Errorf("%s%c%s: %w", dir, filepath.Separator, entry.Name(), ErrForeignFile)
		}
	}
	return nil
}
