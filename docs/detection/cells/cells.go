// Package cells makes cleaned stores whose true labels are known, for simulations of people who look at labels.
package cells

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/evaluate"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell"
)

// A Cell is a data set, a folder of GRAPHCLEANER_DATA, and how its labels go wrong: Natural, Published, or KIND:RATE of
// eval.
type Cell struct{ Data, Noise string }

// The noises that eval does not make.
const (
	Natural   = "natural"   // labels of a language model; the true ones are in truth.csv
	Published = "published" // labels as they are, taken as true
)

// All returns the cells of the simulations: natural ones, injected ones, and published labels.
func All() (all []Cell) {
	all = append(all, Cell{"cora_llm", Natural}, Cell{"pubmed_llm", Natural})
	graphs := []string{"cora", "citeseer", "amazon_photo", "amazon_computers"}
	for _, data := range graphs {
		for _, kind := range []string{"feature", "cluster", "confidence", "topology", "instance", "sym"} {
			all = append(all, Cell{data, kind + ":0.1"}, Cell{data, kind + ":0.3"})
		}
	}
	for _, data := range graphs {
		all = append(all, Cell{data, Published})
	}
	return all
}

// A Store is the cleaned store of a cell, in a directory of its own that nobody changes; see Copy.
type Store struct {
	dir    string
	Truth  []string  // [n] by NodeID; "" where there is none
	Wrong  []bool    // [n], whether the label of a node is wrong
	Scores []float64 // [n], NaN where there is none
}

// Make imports the data set into a directory in parent, makes labels wrong with seed 1, and cleans with seed 1.
func Make(ctx context.Context, cell Cell, parent string) (*Store, error) {
	s := &Store{dir: filepath.Join(parent, "store")}
	if err := load(ctx, cell.Data, s.dir); err != nil {
		return nil, err
	}
	return s, using(s.dir, func(store *kv.Store) error {
		if cell.Noise != Natural && cell.Noise != Published {
			if err := inject(ctx, store, cell.Noise); err != nil {
				return err
			}
		}
		if _, err := cleaner.Clean(ctx, store, cleaner.Options{Seed: 1, Workers: 1}); err != nil {
			return err
		}
		return store.View(func(tx *kv.Tx) error { return s.read(tx, cell) })
	})
}

// load makes a store of a data set. One with the labels of a language model may lack what its graph has.
func load(ctx context.Context, data, dir string) error {
	args := []string{"--quiet", "import", dir}
	for _, name := range []string{"nodes.csv", "edges.csv", "features.npz"} {
		path, err := fileOf(data, name)
		flag, _, _ := strings.Cut(name, ".")
		if err == nil {
			args = append(args, "--"+flag, path)
		} else if name != "features.npz" {
			return err
		}
	}
	var failure strings.Builder
	if code := shell.Main(ctx, args, strings.NewReader(""), io.Discard, &failure); code != 0 {
		return fmt.Errorf("import of %s: exit code %d: %s", data, code, &failure)
	}
	return nil
}

func fileOf(data, name string) (path string, err error) {
	for _, folder := range []string{data, strings.TrimSuffix(data, "_llm")} {
		path = filepath.Join(os.Getenv("GRAPHCLEANER_DATA"), folder, "csv", name)
		if _, err = os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("want the data sets in the directory GRAPHCLEANER_DATA: %w", err)
}

// inject changes the labels that the noise of eval makes wrong.
func inject(ctx context.Context, store *kv.Store, noise string) error {
	var noisy []kv.Class
	_, err := evaluate.Run(ctx, store, evaluate.Options{
		Options: cleaner.Options{Seed: 1, Workers: 1}, Noise: noise, Methods: []string{"argmax"},
		OnMeasurement: func(m evaluate.Measurement) error { noisy = m.Labels; return nil },
	})
	if err != nil {
		return err
	}
	return store.Update(func(tx *kv.Tx) error {
		for v, class := range noisy {
			if class == kv.NoClass {
				continue
			}
			if err := tx.SetLabel(kv.NodeID(v), tx.Classes()[class]); err != nil {
				return err
			}
		}
		return nil
	})
}

// read reads the scores, and which labels are wrong.
func (s *Store) read(tx *kv.Tx, cell Cell) error {
	scores, err := tx.Reader(cleaner.ScoreColumn)
	if err != nil {
		return err
	}
	truth, err := truths(tx, cell)
	if err != nil {
		return err
	}
	s.Truth, s.Wrong, s.Scores = truth, make([]bool, len(truth)), make([]float64, len(truth))
	for v := range truth {
		class, err := tx.Label(kv.NodeID(v))
		if err != nil {
			return err
		}
		score, err := scores.At(kv.NodeID(v))
		if err != nil {
			return err
		}
		s.Scores[v] = math.NaN()
		if !score.IsNull() {
			s.Scores[v] = score.Float()
		}
		s.Wrong[v] = class != kv.NoClass && tx.Classes()[class] != truth[v]
	}
	return nil
}

// truths are the true labels [n], by the file of the data set.
func truths(tx *kv.Tx, cell Cell) ([]string, error) {
	name := "nodes.csv"
	if cell.Noise == Natural {
		name = "truth.csv"
	}
	path, err := fileOf(cell.Data, name)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	truth := make([]string, tx.NumNodes())
	for _, row := range rows[1:] {
		v, err := tx.Node(row[0])
		if err != nil {
			return nil, fmt.Errorf("%s: node %s: %w", path, row[0], err)
		}
		truth[v] = row[1]
	}
	return truth, nil
}

// Copy opens a copy in a new directory beside the store for the time of use.
func (s *Store) Copy(use func(*kv.Store) error) error {
	dir, err := os.MkdirTemp(filepath.Dir(s.dir), "copy-")
	if err != nil {
		return err
	}
	err = os.CopyFS(dir, os.DirFS(s.dir))
	if err == nil {
		err = using(dir, use)
	}
	return errors.Join(err, os.RemoveAll(dir))
}

func using(dir string, use func(*kv.Store) error) error {
	store, err := index.Open(dir, kv.Options{MemoryBudget: 64 << 20})
	if err != nil {
		return err
	}
	return errors.Join(use(store), store.Close())
}

// Answer is the decision of a person who knows the truth about a labelled node.
func (s *Store) Answer(v kv.NodeID) decide.Request {
	if s.Wrong[v] {
		return decide.Request{Node: v, Kind: decide.Relabel, To: s.Truth[v]}
	}
	return decide.Request{Node: v, Kind: decide.Reject}
}

// Order is the nodes with a score, the highest first.
func (s *Store) Order() (order []kv.NodeID) {
	for v, score := range s.Scores {
		if !math.IsNaN(score) {
			order = append(order, kv.NodeID(v))
		}
	}
	slices.SortFunc(order, s.ByScore)
	return order
}

// ByScore compares nodes for Order.
func (s *Store) ByScore(a, b kv.NodeID) int {
	return cmp.Or(cmp.Compare(s.Scores[b], s.Scores[a]), cmp.Compare(a, b))
}

// CountWrong counts the nodes whose label is wrong.
func (s *Store) CountWrong(nodes []kv.NodeID) (wrong int) {
	for _, v := range nodes {
		if s.Wrong[v] {
			wrong++
		}
	}
	return wrong
}
