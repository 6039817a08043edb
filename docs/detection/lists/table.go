package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/docs/detection/cells"
)

// leastOracle is of how many labels the oracle's list must be, where power is told.
const leastOracle = 50

// A table is made of the runs that are kept.
type table struct {
	cells.Bench
	seeds int
}

func (l list) String() string {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // it has numbers alone
	}
	return string(text)
}

// read reads the runs of a cell; nothing where a cell is not begun.
func (t *table) read(cell cells.Cell) (all []list, err error) {
	err = t.Read(cell, func(line string) error {
		var l list
		err := json.Unmarshal([]byte(line), &l)
		all = append(all, l)
		return err
	})
	return all, err
}

// A cellResult sums up the runs of a cell for a promise and a design.
type cellResult struct {
	kept, broken, power float64 // shares of runs, and mean good labels by the oracle's
	draws               float64
	hasOracle           bool
}

func resultOf(runs []list, d design, p cleaner.Promise) (r cellResult) {
	var n float64
	for _, l := range runs {
		if l.Audit != d.audit || l.Kind != p.Kind || l.Share != p.Share {
			continue
		}
		n++
		r.draws += float64(l.Draws)
		r.hasOracle = l.Oracle >= leastOracle
		if l.IsKept {
			r.kept++
			r.power += float64(l.Good) / float64(max(1, l.Most))
			if float64(l.Labels-l.Good) > p.Share*float64(l.Labels)+1e-9 {
				r.broken++
			}
		}
	}
	r.kept, r.broken, r.power, r.draws = r.kept/n, r.broken/n, r.power/n, r.draws/n
	return r
}

// text is the table in markdown.
func (t *table) text() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, heading, time.Now().UTC().Format(time.DateOnly), t.Commit, t.seeds)
	runs := map[cells.Cell][]list{}
	for _, cell := range cells.All() {
		all, err := t.read(cell)
		if err != nil {
			return "", err
		}
		if len(all) > 0 {
			runs[cell] = all
		}
	}
	for _, d := range designs {
		for _, p := range promises {
			var held, least, power, half, n, draws float64 = 0, 1, 0, 0, 0, 0
			for _, of := range runs {
				r := resultOf(of, d, p)
				held += (1 - r.broken) / float64(len(runs))
				least = min(least, 1-r.broken)
				draws += r.draws / float64(len(runs))
				if r.hasOracle {
					n++
					power += r.power
					if r.power >= 0.5 {
						half++
					}
				}
			}
			fmt.Fprintf(&b, "| %d + %.0f | %s %g | %.3f | %.3f | %.3f | %.0f of %.0f |\n", d.audit, draws, p.Kind, p.Share,
				held, least,
				power/math.Max(n, 1), half, n)
		}
	}
	b.WriteString("\nPower by cell, – where the oracle's list has fewer than 50 labels:\n\n| data | labels go wrong by |")
	for _, d := range designs {
		for _, p := range promises {
			fmt.Fprintf(&b, " %s %g, %d |", p.Kind, p.Share, d.audit)
		}
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(designs)*len(promises)) + "\n")
	for _, cell := range cells.All() {
		of, ok := runs[cell]
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s |", cell.Data, cell.Noise)
		for _, d := range designs {
			for _, p := range promises {
				if r := resultOf(of, d, p); r.hasOracle {
					fmt.Fprintf(&b, " %.2f |", r.power)
				} else {
					b.WriteString(" – |")
				}
			}
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

const heading = `# Lists that keep a promise

%s, graphcleaner at %s, seeds 1 to %d. Made by ` + "`go -C docs/detection run ./lists -seeds %[3]d`" + `.

Of each run: so many draws of the audit, and so many within each list (mean: a short list has fewer). A list is told if its draws show that at most the share is
wasted, with 90%% confidence.

- ` + "`held`" + `: share of runs that told no list of which more was wasted; mean of all cells, and the least of them.
- ` + "`power`" + `: the good labels of the list (wrong ones of suspects, right ones of trusted), 0 without a list, by those of the
  longest list in the same order that keeps the promise. Mean of the cells where that list has 50 labels.
- ` + "`half`" + `: in how many of these cells the power is at least a half.

| draws | promise | held | least | power | half |
|---|---|---|---|---|---|
`
