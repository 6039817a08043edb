package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/docs/detection/cells"
)

// A table is made of the audits that are kept.
type table struct {
	cells.Bench
	seeds, rescored int
	disturbed       bool
}

// read reads the results of the audits of a cell, seed after seed; nothing where a cell is not finished.
func (t *table) read(cell cells.Cell) (all []told, err error) {
	err = t.Read(cell, func(line string) error {
		var at told
		_, err := fmt.Sscan(strings.Trim(line, "{}\n"), &at.Seed, &at.Look, &at.Truth, &at.Rate, &at.Low, &at.High,
			&at.F1, &at.Own)
		all = append(all, at)
		return err
	})
	return all[:min(len(all), t.seeds*len(looks))], err
}

// A mean is that of numbers.
type mean struct{ sum, count float64 }

func (m *mean) add(x float64) { m.sum, m.count = m.sum+x, m.count+1 }

func (m mean) String() string {
	if m.count == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3f", m.sum/m.count)
}

// text is the table in markdown.
func (t *table) text() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, heading, time.Now().UTC().Format(time.DateOnly), t.Commit, t.seeds, t.command(), t.rescored)
	if t.disturbed {
		b.WriteString(disturbance)
	}
	b.WriteString(columns)
	var shares []float64
	for _, cell := range cells.All() {
		audits, err := t.read(cell)
		if err != nil {
			return "", err
		}
		if len(audits) == 0 {
			continue
		}
		row, share := rowOf(audits, cell.Noise == cells.Published)
		fmt.Fprintf(&b, "| %s | %s | %s\n", cell.Data, cell.Noise, row)
		shares = append(shares, share)
	}
	if len(shares) > 0 {
		var all mean
		for _, share := range shares {
			all.add(share)
		}
		fmt.Fprintf(&b, "\n`all hold`: mean of %d cells %v, least %.3f.\n", len(shares), all, slices.Min(shares))
	}
	return b.String(), nil
}

func (t *table) command() string {
	if t.disturbed {
		return "go -C docs/detection run ./audits -disturbed"
	}
	return "go -C docs/detection run ./audits"
}

// rowOf is the row of a cell, and the share of its audits in which all intervals hold; where labels are only taken as
// true, upper ends alone are shown.
func rowOf(audits []told, upper bool) (row string, share float64) {
	var hold, stopHold, stopWidth mean
	width, f1, of := map[int]*mean{}, map[int]*mean{}, map[int]*mean{}
	for _, look := range looks {
		width[look], f1[look], of[look] = &mean{}, &mean{}, &mean{}
	}
	for audit := range slices.Chunk(audits, len(looks)) {
		all, best := 1.0, audit[0]
		for _, at := range audit {
			all *= at.holds()
			if at.High < best.High {
				best = at
			}
			if upper {
				width[at.Look].add(at.High)
			} else {
				width[at.Look].add((at.High - at.Low) / 2)
			}
			if at.F1 >= 0 && !upper {
				f1[at.Look].add(at.F1)
				of[at.Look].add(at.Own)
			}
		}
		hold.add(all)
		stopHold.add(best.holds())
		stopWidth.add((best.High - best.Low) / 2)
	}
	truth := audits[0].Truth
	cells := []any{fmt.Sprintf("%.3f", truth), hold, stopHold}
	for _, look := range looks {
		cells = append(cells, width[look])
	}
	cells = append(cells, stopWidth, plain(truth, 50), plain(truth, 200))
	for _, look := range []int{50, 200} {
		ratio := mean{f1[look].sum, of[look].sum}
		cells = append(cells, f1[look], of[look], ratio)
	}
	var b strings.Builder
	for _, cell := range cells {
		fmt.Fprintf(&b, "%v | ", cell)
	}
	return strings.TrimSpace(b.String()), hold.sum / hold.count
}

// holds is 1 if the interval has the truth, up to rounding, else 0.
func (at *told) holds() float64 {
	if at.Low-1e-9 <= at.Truth && at.Truth <= at.High+1e-9 {
		return 1
	}
	return 0
}

// plain is the half-width of a normal interval of 90%, of a plain random sample of a size that is fixed in advance.
func plain(rate, draws float64) string {
	return fmt.Sprintf("%.3f", 1.645*math.Sqrt(rate*(1-rate)/draws))
}

const heading = `# Audits that know the truth

%s, graphcleaner at %s, seeds 1 to %d. Made by ` + "`%s`" + `.

- ` + "`all hold`" + `: share of audits in which the intervals of all looks hold the true rate.
- ` + "`stopped`" + `: the same at one look, chosen by looking: the one with the lowest upper end.
- Half-widths: means at the looks, at the chosen look, and of a normal interval of 90%% for a plain random sample, whose size
  is fixed in advance. Published labels are taken as true: their half-widths are upper ends.
- F1 at 50 and 200: of the suspects behind rescore, of the first nodes of the order before the audit, of which there are as
  many as wrong labels (own), and the ratio. Nodes that people decided on do not count. Means of seeds 1 to %d.
`

const disturbance = `
A tenth of the draws is unsure. Before the audit, the first 20 nodes and the tenth of the draws with the highest scores are
decided. Two people answer in turns. What was answered for a look is taken back and given again.
`

const columns = `
| data | labels go wrong by | wrong | all hold | stopped | half-width at 25 | 50 | 100 | 200 | stopped | plain, 50 | plain, 200 | F1 at 50 | own | ratio | F1 at 200 | own | ratio |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`
