package pack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestCachedIsNotAskedFor asks for blocks of a file that is in memory: of each stretch but the first few are taken to
// be there, and where the system does not tell, all are asked for.
func TestCachedIsNotAskedFor(t *testing.T) {
	const blocks, size = 3 * cachedStretch, 4096
	path := filepath.Join(t.TempDir(), "table")
	must.Do(t, os.WriteFile(path, make([]byte, blocks*size), 0o600))
	r := must.Get(Map(path))(t)
	defer func() { must.Do(t, r.Close()) }()
	for _, tells := range []bool{false, tellsCached(path)} {
		table := &Table{reader: r, seen: make([]uint64, blocks/64), tells: tells}
		for block := range blocks {
			if got, want := table.seemsCached(), tells && block%cachedStretch >= cachedSample; got != want {
				t.Errorf("block %d, told %v: got %v, want %v", block, tells, got, want)
			}
			table.mustAsk(block, block*size, (block+1)*size)
			table.mustAsk(block, block*size, (block+1)*size) // which changes nothing
		}
	}
}
