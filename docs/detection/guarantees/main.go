// Command guarantees measures what the thresholds with guarantees keep: over many draws of noise, the false positive and
// false negative rates at the threshold of each bound alpha. It writes guarantees.md, guarantees.csv and guarantees.svg.
//
//	GRAPHCLEANER_DATA=/path/to/data go -C docs/detection run ./guarantees
//
// The mislabels of a draw are known. The nodes under test are halved at random: thresholds are found on the scores of one
// half and measured on the other, as the guarantee is about nodes that the threshold has not seen. Each threshold is
// found twice, with the share of mislabels of that half, and with the share that the method estimates.
//
// Finished draws are kept in graphcleaner-detection/guarantees of the cache directory, for one build of the program: what
// was interrupted goes on where it was.
package main

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/docs/detection/internal/study"
	"github.com/graphcleaner/graphcleaner/kv"
)

// asked are the flags.
type asked struct {
	datasets   []study.Dataset
	draws      int // of small graphs
	largeDraws int // of graphs without features, which are large
	seed       uint64
	threads    int
	out        string
	kept       kept
}

// flags are those that make the same tables again.
func (a asked) flags() string {
	var names []string
	for _, d := range a.datasets {
		names = append(names, d.Name)
	}
	return fmt.Sprintf("-datasets %s -draws %d -large-draws %d -seed %d", strings.Join(names, ","), a.draws, a.largeDraws, a.seed)
}

func main() {
	var a asked
	names := flag.String("datasets", "cora,photo,ogbn-arxiv", "comma-separated `names`")
	flag.IntVar(&a.draws, "draws", 20, "draws of noise")
	flag.IntVar(&a.largeDraws, "large-draws", 3, "draws of noise on ogbn-arxiv")
	flag.Uint64Var(&a.seed, "seed", 1, "seed of the first draw")
	flag.IntVar(&a.threads, "threads", 1, "processors to use")
	flag.StringVar(&a.out, "out", "results", "`directory` of the results")
	flag.Parse()
	study.Main(func(ctx context.Context) (err error) {
		if a.datasets, err = study.Named(*names); err != nil {
			return err
		}
		if a.kept, err = openKept(); err != nil {
			return err
		}
		return run(ctx, a)
	})
}

// What is measured: noise of a tenth of the labels, by methods, at bounds.
var (
	noises  = []string{"sym", "asym"}
	methods = []string{"default", "paper"}
	alphas  = []float64{0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5}
)

const noiseRate = "0.1"

// shares are those of training, validation and test nodes; the last are many, so that both halves have mislabels.
var shares = [3]float64{0.5, 0.2, 0.3}

// A series is what one method reached on one graph with one kind of noise.
type series struct {
	dataset       study.Dataset
	noise, method string
	draws         int
	truth         float64 // share of mislabels, mean over draws
	estimate      float64 // as the method estimates it, mean over draws
	known         []rates // by alpha, thresholds found with the true share
	estimated     []rates // and with the estimated one
}

func run(ctx context.Context, a asked) error {
	stamp, err := study.Stamp(ctx)
	if err != nil {
		return err
	}
	var all []*series
	for _, d := range a.datasets {
		err := d.WithStore(ctx, func(_ string, store *kv.Store) error {
			for _, noise := range noises {
				found, err := measure(ctx, store, d, noise, a)
				if err != nil {
					return err
				}
				all = append(all, found...)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	if err := os.MkdirAll(a.out, 0o777); err != nil {
		return err
	}
	return errors.Join(
		writeCSV(filepath.Join(a.out, "guarantees.csv"), all),
		os.WriteFile(filepath.Join(a.out, "guarantees.md"), []byte(markdown(stamp, a, all)), 0o666),
		plotSeries(filepath.Join(a.out, "guarantees.svg"), a.datasets, all),
	)
}

// measure draws noise on a graph, where the draws are not kept already, and returns a series for each method.
func measure(ctx context.Context, store *kv.Store, d study.Dataset, noise string, a asked) (found []*series, err error) {
	draws := a.draws
	if !d.HasFeatures {
		draws = a.largeDraws
	}
	var done []map[string]*drawn
	for len(done) < draws {
		byMethod, err := a.kept.load(d.Name, noise, a.seed+uint64(len(done)))
		if err != nil {
			return nil, err
		}
		if byMethod == nil {
			break
		}
		done = append(done, byMethod)
	}
	if len(done) < draws {
		byMethod := make(map[string]*drawn)
		_, err = cleaner.Evaluate(ctx, store, cleaner.EvalOptions{
			Options: cleaner.Options{Seed: a.seed + uint64(len(done)), Workers: a.threads},
			Noise:   noise + ":" + noiseRate, Repeats: draws - len(done), Split: shares, Methods: methods,
			OnMeasurement: func(m cleaner.Measurement) error {
				byMethod[m.Method] = newDrawn(m)
				if len(byMethod) < len(methods) {
					return nil
				}
				fmt.Fprintf(os.Stderr, "%s %s: draw %d of %d\n", d.Name, noise, len(done)+1, draws)
				err := a.kept.save(d.Name, noise, a.seed+uint64(len(done)), byMethod)
				done, byMethod = append(done, byMethod), make(map[string]*drawn)
				return err
			},
		})
		if err != nil {
			return nil, err
		}
	}
	for _, method := range methods {
		s := &series{
			dataset: d, noise: noise, method: method, draws: draws,
			known: make([]rates, len(alphas)), estimated: make([]rates, len(alphas)),
		}
		for draw, byMethod := range done {
			s.add(byMethod[method], a.seed+uint64(draw))
		}
		found = append(found, s)
	}
	return found, nil
}

// add measures a draw.
func (s *series) add(d *drawn, seed uint64) {
	calibration, unseen := halves(d, seed)
	truth := calibration.mislabelRate()
	s.truth += truth / float64(s.draws)
	s.estimate += d.MislabelRate / float64(s.draws)
	for i, alpha := range alphas {
		s.known[i].add(calibration.scores, truth, alpha, unseen)
		s.estimated[i].add(calibration.scores, d.MislabelRate, alpha, unseen)
	}
}

// number has three digits, and a dash where there is none. Where not all draws have a value, it says how many have.
func number(m mean, draws int) string {
	if m.count == 0 {
		return "–"
	}
	text := strconv.FormatFloat(m.value(), 'f', 3, 64)
	if m.count < draws {
		text += fmt.Sprintf(" (%d)", m.count)
	}
	return text
}

// shownAlphas are those of the table for reading.
var shownAlphas = []float64{0.02, 0.05, 0.1, 0.2, 0.3}

func markdown(stamp string, a asked, all []*series) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# Error rates at the thresholds with guarantees\n\n%s, seed %d.\n", stamp, a.seed)
	fmt.Fprintf(&text, "Made by `go -C docs/detection run ./guarantees %s`; guarantees.csv has every bound.\n\n", a.flags())
	fmt.Fprintf(&text, "Noise of rate %s. Mean over draws of noise; thresholds are found on half of the test nodes (%.0f%% of the "+
		"graph) and measured on the other half.\n", noiseRate, 100*shares[2])
	text.WriteString(`
- FPR: share of the correctly labelled nodes above the threshold of "fpr α".
- FNR: share of the mislabelled nodes that the bound of "fnr α" counts as missed: with a score above 0.5, below the threshold.
- All missed: with those of a score of 0.5 or less, of which the bound says nothing.
- True p: thresholds from the share of mislabels of that half. Estimated p: from the method's estimate.
- A number in brackets: the mean is over so many draws; the others have no finite threshold, or no node to measure. A dash: all.
- **Bold**: above α by more than two standard errors; a value of one draw, which has no standard error: above α.

![Error rates against α](guarantees.svg)

| graph | noise | method | draws | true p | estimated p | α | FPR, true p | FPR, estimated p | FNR, true p | FNR, estimated p | ` +
		"all missed, true p | all missed, estimated p |\n|" + strings.Repeat(" --- |", 13) + "\n")
	for _, s := range all {
		for _, shown := range shownAlphas {
			for i, alpha := range alphas {
				if alpha != shown {
					continue
				}
				known, estimated := &s.known[i], &s.estimated[i]
				fmt.Fprintf(&text, "| %s | %s | %s | %d | %.3f | %.3f | %g | %s | %s | %s | %s | %s | %s |\n",
					s.dataset.Title(), s.noise, s.method, s.draws, s.truth, s.estimate, alpha,
					bounded(known.falsePositives, s.draws, alpha), bounded(estimated.falsePositives, s.draws, alpha),
					bounded(known.falseNegatives, s.draws, alpha), bounded(estimated.falseNegatives, s.draws, alpha),
					number(known.missed, s.draws), number(estimated.missed, s.draws))
			}
		}
	}
	return text.String()
}

// bounded is a rate, bold where it is above its bound by more than chance. One value, of which chance is not known, is
// bold wherever it is above.
func bounded(m mean, draws int, alpha float64) string {
	var chance float64
	if m.count > 1 {
		chance = 2 * m.standardError()
	}
	if m.count > 0 && m.value()-chance > alpha {
		return "**" + number(m, draws) + "**"
	}
	return number(m, draws)
}

func writeCSV(path string, all []*series) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := csv.NewWriter(file)
	header := []string{"graph", "noise", "method", "draws", "p_from", "p", "alpha"}
	for _, rate := range []string{"fpr", "fnr", "missed"} {
		header = append(header, rate+"_mean", rate+"_standard_error", rate+"_max", rate+"_draws")
	}
	if err := w.Write(header); err != nil {
		return err
	}
	for _, s := range all {
		for i, alpha := range alphas {
			for _, one := range []struct {
				from  string
				p     float64
				rates *rates
			}{{"known", s.truth, &s.known[i]}, {"estimated", s.estimate, &s.estimated[i]}} {
				row := []string{s.dataset.Name, s.noise, s.method, strconv.Itoa(s.draws), one.from, decimal(one.p), decimal(alpha)}
				for _, m := range []mean{one.rates.falsePositives, one.rates.falseNegatives, one.rates.missed} {
					row = append(row, decimal(m.value()), decimal(m.standardError()), decimal(m.most), strconv.Itoa(m.count))
				}
				if err := w.Write(row); err != nil {
					return err
				}
			}
		}
	}
	w.Flush()
	return w.Error()
}

// decimal has six digits.
func decimal(value float64) string { return strconv.FormatFloat(value, 'g', 6, 64) }
