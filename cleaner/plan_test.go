package cleaner

import (
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/ops"
)

// counted are the counts of a graph of so many nodes, each of degree 16.
func counted(nodes, classes int) counts {
	return counts{
		nodes: nodes, labels: nodes, classes: classes, fitting: nodes, training: nodes, predictions: true, builtIn: true,
		sizes: &ops.Sizes{
			Nodes: nodes, Linked: nodes, Entries: int64(16 * nodes), MaxDegree: 16, MaxRows: 4096, MaxEntries: 1 << 16, Ranked: true,
		},
	}
}

func estimatedClean(t *testing.T, c counts, opt Options) *Plan {
	t.Helper()
	opt.MemoryBudget, opt.Workers = 256<<20, 2
	e := must.Get(c.plan(opt))(t)
	return e
}

// What is there decides what is trained, joined and stored.
func TestEstimateOfWhatIsThere(t *testing.T) {
	const nodes, classes = 1 << 16, 40
	const predictions = 4 * nodes * classes
	before := int64(0)
	for _, test := range []struct {
		name   string
		of     func(*counts)
		opt    Options
		trains bool
		stored int64 // predictions
	}{
		{"predictions of the classifier", func(*counts) {}, Options{}, false, 0},
		{"preset paper", func(c *counts) { c.builtIn = false }, Options{Method: paper.Published}, false, 0},
		{"as given", func(c *counts) { c.builtIn = false }, Options{Imported: AsGiven}, false, 0},
		{"none", func(c *counts) { c.predictions, c.builtIn = false, false }, Options{}, true, predictions},
		{"none, but features", func(c *counts) { c.predictions, c.builtIn, c.features = false, false, 9 }, Options{}, true, predictions},
		{"joined", func(c *counts) { c.builtIn = false }, Options{}, true, predictions},
	} {
		of := counted(nodes, classes)
		test.of(&of)
		e := estimatedClean(t, of, test.opt)
		if e.trains != test.trains || e.TemporaryBytes <= 0 {
			t.Errorf("%s: got trains %v, %d bytes temporary", test.name, e.trains, e.TemporaryBytes)
		}
		if before == 0 {
			before = e.StoreBytes
		}
		if got := e.StoreBytes - before; got < test.stored || got > test.stored+predictions/2 {
			t.Errorf("%s: got %d bytes stored more than scores, want the %d of predictions, and networks", test.name, got, test.stored)
		}
	}
}
