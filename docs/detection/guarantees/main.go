// Command guarantees measures what the thresholds with guarantees keep: over many draws of noise, the false positive
// and false negative rates at the threshold of each bound alpha. It prints a markdown table.
//
//	GRAPHCLEANER_DATA=/path/to/data go -C docs/detection run ./guarantees > docs/detection/results/guarantees.md
//
// The mislabels of a draw are known. The nodes under test are halved at random: thresholds are found on the scores of
// one half and measured on the other, as the guarantee is about nodes that the threshold has not seen. Each threshold
// is found twice, with the share of mislabels of that half, and with the share that the method estimates.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/evaluate"
	"github.com/graphcleaner/graphcleaner/docs/detection/cells"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell"
)

func main() {
	names := flag.String("datasets", "cora,amazon_photo,ogbn_arxiv", "comma-separated folders of GRAPHCLEANER_DATA")
	draws := flag.Int("draws", 20, "draws of noise; 3 of a graph without features, which is large")
	seed := flag.Uint64("seed", 1, "seed of the first draw")
	threads := flag.Int("threads", 1, "processors to use")
	flag.Parse()
	cells.Main("guarantees", func(ctx context.Context) error {
		return run(ctx, strings.Split(*names, ","), *draws, cleaner.Options{Seed: *seed, Workers: *threads})
	})
}

// What is measured: noise of a tenth of the labels, by methods, at bounds.
var (
	noises  = []string{"sym", "asym"}
	methods = []string{"default", "paper"}
	alphas  = []float64{0.02, 0.05, 0.1, 0.2, 0.3, 0.5}
)

const noiseRate = "0.1"

// shares are those of training, validation and test nodes; the last are many, so that both halves have mislabels.
var shares = [3]float64{0.5, 0.2, 0.3}

// A series has the results of one method on one graph with one kind of noise.
type series struct {
	noise, method string
	draws         int
	truth         float64 // sum over draws of the share of mislabels
	estimate      float64 // and of the share that the method estimates
	known         []rates // by alpha, thresholds found with the true share
	estimated     []rates // and with the estimated one
}

func run(ctx context.Context, folders []string, draws int, opt cleaner.Options) error {
	data := os.Getenv("GRAPHCLEANER_DATA")
	if data == "" {
		return errors.New("want GRAPHCLEANER_DATA, the directory of the data sets")
	}
	commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return fmt.Errorf("git describe: %w", err)
	}
	fmt.Printf("# Error rates at the thresholds with guarantees\n\n%s, graphcleaner at %s, seed %d.\n"+
		"Made by `go -C docs/detection run ./guarantees -datasets %s -draws %d -seed %d`.\n",
		time.Now().UTC().Format(time.DateOnly),
		strings.TrimSpace(string(commit)), opt.Seed, strings.Join(folders, ","), draws, opt.Seed)
	fmt.Printf(explained, noiseRate, 100*shares[2])
	for _, folder := range folders {
		if err := measure(ctx, filepath.Join(data, folder, "csv"), folder, draws, opt); err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
	}
	return nil
}

const explained = `
Noise of rate %s. Mean over draws of noise; thresholds are found on half of the test nodes (%.0f%% of the graph) and measured on the other half.

- FPR: share of the correctly labelled nodes above the threshold of "fpr α".
- FNR: share of the mislabelled nodes that the bound of "fnr α" counts as missed: with a score above 0.5, below the threshold.
- All missed: with those of a score of 0.5 or less, of which the bound says nothing.
- True p: thresholds from the share of mislabels of that half. Estimated p: from the method's estimate.
- A number in brackets: the mean is over so many draws; the others have no finite threshold, or no node to measure. A dash: all.
- **Bold**: above α by more than two standard errors; a value of one draw, which has no standard error: above α.

| graph | noise | method | draws | true p | estimated p | α | FPR, true p | FPR, estimated p | FNR, true p | FNR, estimated p | all missed, true p | all missed, estimated p |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
`

// measure imports a data set, draws noise on it, and prints the rows of each kind of noise and method.
func measure(ctx context.Context, files, folder string, draws int, opt cleaner.Options) (err error) {
	parent, err := os.MkdirTemp("", "guarantees-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(parent)) }()
	dir := filepath.Join(parent, folder)
	args := []string{"import", dir, "--nodes", filepath.Join(files, "nodes.csv"), "--edges",
		filepath.Join(files, "edges.csv")}
	if features := filepath.Join(files, "features.npz"); exists(features) {
		args = append(args, "--features", features)
	} else {
		folder, draws = folder+" (structure)", min(draws, 3)
	}
	if code := shell.Main(ctx, args, strings.NewReader(""), io.Discard, os.Stderr); code != 0 {
		return fmt.Errorf("import: exit code %d", code)
	}
	store, err := index.Open(dir, kv.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for _, noise := range noises {
		found := map[string]*series{}
		for _, method := range methods {
			found[method] = &series{noise: noise, method: method, known: make([]rates, len(alphas)),
				estimated: make([]rates, len(alphas))}
		}
		_, err := evaluate.Run(ctx, store, evaluate.Options{
			Options: opt, Noise: noise + ":" + noiseRate, Repeats: draws, Split: shares, Methods: methods,
			OnMeasurement: func(m evaluate.Measurement) error {
				s := found[m.Method]
				s.add(m, opt.Seed+uint64(s.draws))
				fmt.Fprintf(os.Stderr, "%s %s %s: draw %d of %d\n", folder, noise, m.Method, s.draws, draws)
				return nil
			},
		})
		if err != nil {
			return err
		}
		for _, method := range methods {
			found[method].print(folder)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// add measures a draw.
func (s *series) add(m evaluate.Measurement, seed uint64) {
	calibration, unseen := halves(m, seed)
	truth := calibration.mislabelRate()
	s.draws++
	s.truth += truth
	s.estimate += m.MislabelRate
	for i, alpha := range alphas {
		s.known[i].add(calibration.scores, truth, alpha, unseen)
		s.estimated[i].add(calibration.scores, m.MislabelRate, alpha, unseen)
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

func (s *series) print(graph string) {
	for i, alpha := range alphas {
		known, estimated, n := &s.known[i], &s.estimated[i], float64(s.draws)
		fmt.Printf("| %s | %s | %s | %d | %.3f | %.3f | %g | %s | %s | %s | %s | %s | %s |\n",
			graph, s.noise, s.method, s.draws, s.truth/n, s.estimate/n, alpha,
			bounded(known.falsePositives, s.draws, alpha), bounded(estimated.falsePositives, s.draws, alpha),
			bounded(known.falseNegatives, s.draws, alpha), bounded(estimated.falseNegatives, s.draws, alpha),
			number(known.missed, s.draws), number(estimated.missed, s.draws))
	}
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
