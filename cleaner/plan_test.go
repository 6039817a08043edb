package cleaner

import (
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// counted is a problem of so many nodes, each of degree 16, with predictions of the built-in classifier.
func counted(nodes, classes int) *problem {
	p := &problem{
		labels: make([]kv.Class, nodes), splits: make([]Split, nodes), classes: classes, source: SourceBuiltIn,
		crossFitted: true,
		neighbors:   NewNeighborCounts(classes),
		sizes: &ops.Sizes{
			Nodes: nodes, Linked: nodes, Entries: int64(16 * nodes), MaxDegree: 16, MaxRows: 4096, MaxEntries: 1 << 16,
			Ranked: true,
		},
	}
	for v := range p.labels {
		p.labels[v] = kv.Class(v % classes)
	}
	return p
}

// What is there decides what is trained, joined and stored.
func TestEstimateOfWhatIsThere(t *testing.T) {
	const nodes, classes = 1 << 16, 40
	const predictions = 4 * nodes * classes
	before := int64(0)
	for _, test := range []struct {
		name   string
		of     func(*problem)
		opt    Options
		trains bool
		stored int64 // predictions
	}{
		{"predictions of the classifier", func(*problem) {}, Options{}, false, 0},
		{"preset paper", func(p *problem) { p.source = SourceImported }, Options{Method: paper.Published}, false, 0},
		{"as given", func(p *problem) { p.source = SourceImported }, Options{Imported: AsGiven}, false, 0},
		{"none", func(p *problem) { p.source = "" }, Options{}, true, predictions},
		{"none, but features", func(p *problem) { p.source, p.features = "", ops.Dense(nil, 9) }, Options{}, true,
			predictions},
		{"joined", func(p *problem) { p.source = SourceImported }, Options{}, true, predictions},
	} {
		p := counted(nodes, classes)
		test.of(p)
		test.opt.MemoryBudget, test.opt.Workers = 256<<20, 2
		stored, temporary, err := p.diskBytes(must.Get(test.opt.withDefaults())(t))
		if trains := p.trains(test.opt); err != nil || trains != test.trains || temporary <= 0 {
			t.Errorf("%s: got trains %v, %d bytes temporary, error %v", test.name, trains, temporary, err)
		}
		if before == 0 {
			before = stored
		}
		if got := stored - before; got != test.stored {
			t.Errorf("%s: got %d bytes stored more than scores, want the %d of predictions", test.name, got, test.stored)
		}
	}
}
