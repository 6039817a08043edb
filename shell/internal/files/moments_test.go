package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/moments"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestMoments has each read of a store fail once while files are read, at every place of the code, and the context end
// there.
func TestMoments(t *testing.T) {
	sweep := moments.New("shell/internal/files")
	written := papers.Cleaned(t)
	must.Do(t, written.Close())
	store := sweep.Open(t, written.Dir())
	dir, job := t.TempDir(), Job{Memory: 1 << 20}
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	text := "id,label\n"
	for _, p := range papers.All {
		text += fmt.Sprintf("%q,%s\n", p.ID, p.Label)
	}
	labels, splits := file("labels.csv", text), file("splits.csv", "id,split\np1,train\np2,val\n")
	more := &Graph{Nodes: file("nodes.csv", "id,label\np1,Systems\nnew,Theory\n"), Edges: file("edges.csv", "src,dst\nnew,p2\n")}
	adopt := func(ctx context.Context, text string) (Adoption, error) {
		return Adopt(ctx, store, file("decisions.csv", text), Adopting{Who: "ann", Job: job})
	}
	sweep.Each(t,
		moments.View(store, "noisy labels", func(ctx context.Context, tx *kv.Tx) (any, error) {
			return ReadNoisyLabels(ctx, tx, labels, Form{}, job)
		}),
		moments.View(store, "nodes", func(ctx context.Context, tx *kv.Tx) (any, error) {
			return ReadNodes(ctx, tx, labels, job)
		}),
		moments.View(store, "splits", func(ctx context.Context, tx *kv.Tx) (any, error) {
			return ReadSplits(ctx, tx, splits, job)
		}),
		moments.Write("decisions", func() { must.Get(adopt(t.Context(), "id,label\np1,Theory\np2,Theory\n"))(t) },
			func(ctx context.Context) (Adoption, error) {
				return adopt(ctx, "id,label,decision\np1,Systems,\np2,,unlabel\n")
			}),
		moments.Write("append", nil,
			func(ctx context.Context) (Appendage, error) { return more.Append(ctx, store, job) }),
		moments.Write("add", nil, func(ctx context.Context) ([]string, error) {
			return (&Graph{Splits: splits}).Add(ctx, store, job)
		}),
	)
}
