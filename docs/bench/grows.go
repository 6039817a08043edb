package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// growsCommand lets a graph grow by append and rescore, and compares with a clean at the end.
type growsCommand struct {
	DB      string   `arg:"" help:"Directory of a store with labels, and features if there are any. It is read only."`
	Rate    float64  `default:"0.1" help:"Share of the labels that are made wrong, each another class drawn uniformly."`
	Steps   int      `default:"10" help:"Times that the graph grows."`
	Share   float64  `default:"0.01" help:"Share of the nodes that are added in a step."`
	Seed    uint64   `default:"1" help:"The same seed gives the same graphs."`
	Memory  byteSize `default:"2GiB" help:"Memory budget of the stores, and of the work."`
	Scratch string   `required:"" type:"path" help:"Directory for the stores; must be empty or not there."`
}

func (*growsCommand) Help() string {
	return `Cleans the graph of all but the last nodes, in an order that is drawn. Then it adds them with their edges, step by step, ` +
		`rescores after each, and counts the suspects that are wrong. At the end it cleans a fresh store of the whole graph.`
}

// A growsReport compares a graph that grew with one that was cleaned at the end.
type growsReport struct {
	Nodes int         `json:"nodes"`
	Steps []growsStep `json:"steps"` // the first is the clean before all growth
	Fresh growsStep   `json:"fresh"` // of the whole graph
	Equal float64     `json:"equal"` // suspects of both over suspects of either, at the end
}

// A growsStep says what the suspects are at a step.
type growsStep struct {
	Nodes    int     `json:"nodes"`
	Suspects int     `json:"suspects"`
	F1       float64 `json:"f1"`
	Added    float64 `json:"added_f1"` // of the nodes that were added since the clean; 0 if none were
	Append   float64 `json:"append_seconds"`
	Score    float64 `json:"score_seconds"` // of the clean, or of the rescore
}

// A grownGraph is what a store holds, its nodes in the order in which they come in.
type grownGraph struct {
	nodes    []kv.Node
	truth    []string
	features [][]float32 // by node; nil: there are none
	names    []string    // of the features
	earlier  [][]int     // neighbors that came before, by node
}

func (c *growsCommand) Run(ctx context.Context, out io.Writer) error {
	if err := os.MkdirAll(c.Scratch, 0o700); err != nil {
		return err
	}
	g, err := c.read()
	if err != nil {
		return err
	}
	g.plant(c.Rate, rand.New(rand.NewPCG(c.Seed, 1)))
	n := len(g.nodes)
	added := int(float64(n) * c.Share)
	first := n - added*c.Steps
	if added < 1 || first < 1 {
		return fmt.Errorf("%d steps of %v of %d nodes: want at least a node a step, and one before them", c.Steps, c.Share, n)
	}
	report := &growsReport{Nodes: n}
	var suspects [2]map[string]bool
	for i, begin := range []int{first, n} {
		steps, found, err := c.grow(ctx, g, filepath.Join(c.Scratch, fmt.Sprint(i)), begin, first, added)
		if err != nil {
			return err
		}
		if suspects[i] = found; i == 0 {
			report.Steps = steps
		} else {
			report.Fresh = steps[0]
		}
	}
	both := 0
	for id := range suspects[0] {
		if suspects[1][id] {
			both++
		}
	}
	report.Equal = float64(both) / float64(max(len(suspects[0])+len(suspects[1])-both, 1))
	return printJSON(out, report)
}

// read reads the nodes in an order that is drawn, without what an earlier run wrote.
func (c *growsCommand) read() (g *grownGraph, err error) {
	s, err := index.Open(c.DB, kv.Options{ReadOnly: true, MemoryBudget: int64(c.Memory)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return g, s.View(func(tx *kv.Tx) error {
		order := rand.New(rand.NewPCG(c.Seed, 0)).Perm(tx.NumNodes())
		place := make([]int, len(order))
		for at, v := range order {
			place[v] = at
		}
		g = &grownGraph{earlier: make([][]int, len(order))}
		matrix, err := tx.Matrix(cleaner.FeaturesMatrix)
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
		if matrix != nil {
			g.names = matrix.Columns()
		}
		classes := tx.Classes()
		for at, i := range order {
			v := kv.NodeID(i)
			id, err := tx.ID(v)
			if err != nil {
				return err
			}
			class, err := tx.Label(v)
			if err != nil {
				return err
			}
			label := ""
			if class != kv.NoClass {
				label = classes[class]
			}
			g.nodes, g.truth = append(g.nodes, kv.Node{ID: id, Label: label}), append(g.truth, label)
			if matrix != nil {
				row := make([]float32, len(g.names))
				if err := matrix.Read(kv.Range{First: v, End: v + 1}, 0, len(row), row); err != nil {
					return err
				}
				g.features = append(g.features, row)
			}
			for u, err := range tx.Neighbors(v) {
				if err != nil {
					return err
				}
				if place[u] < at {
					g.earlier[at] = append(g.earlier[at], place[u])
				}
			}
		}
		return nil
	})
}

// plant makes a share of the labels wrong.
func (g *grownGraph) plant(rate float64, r *rand.Rand) {
	var classes []string
	seen := map[string]bool{"": true}
	for _, label := range g.truth {
		if !seen[label] {
			seen[label] = true
			classes = append(classes, label)
		}
	}
	for i, label := range g.truth {
		if len(classes) < 2 || label == "" || r.Float64() >= rate {
			continue
		}
		for g.nodes[i].Label == label {
			g.nodes[i].Label = classes[r.IntN(len(classes))]
		}
	}
}

// grow cleans a fresh store of the nodes before begin, adds all others in steps, and returns the suspects at the end.
func (c *growsCommand) grow(
	ctx context.Context, g *grownGraph, dir string, begin, first, added int,
) (steps []growsStep, suspects map[string]bool, err error) {
	l, err := kv.NewLoader(ctx, dir, kv.LoadOptions{MemoryBudget: int64(c.Memory)})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, l.Abort()) }()
	if err := g.put(0, begin, l); err != nil {
		return nil, nil, err
	}
	if _, err := l.Commit(ctx, nil); err != nil {
		return nil, nil, err
	}
	s, err := index.Open(dir, kv.Options{MemoryBudget: int64(c.Memory)})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := g.putFeatures(s, 0, begin, true); err != nil {
		return nil, nil, err
	}
	for end := begin; ; end += added {
		var step growsStep
		began := time.Now()
		if end > begin {
			if err := g.append(ctx, s, end-added, end); err != nil {
				return nil, nil, err
			}
			step.Append, began = time.Since(began).Seconds(), time.Now()
			_, err = cleaner.Rescore(ctx, s, cleaner.RescoreOptions{MemoryBudget: int64(c.Memory)})
		} else {
			_, err = cleaner.Clean(ctx, s, cleaner.Options{MemoryBudget: int64(c.Memory), Seed: c.Seed})
		}
		if err != nil {
			return nil, nil, err
		}
		step.Score = time.Since(began).Seconds()
		if suspects, err = g.judge(s, end, first, &step); err != nil {
			return nil, nil, err
		}
		if steps = append(steps, step); end+added > len(g.nodes) {
			return steps, suspects, nil
		}
	}
}

// put gives the nodes from begin to end, and then their edges, to what takes them.
func (g *grownGraph) put(begin, end int, to interface {
	AddNode(kv.Node) error
	AddEdge(src, dst string, source int64) error
}) error {
	for _, node := range g.nodes[begin:end] {
		if err := to.AddNode(node); err != nil {
			return err
		}
	}
	for at := begin; at < end; at++ {
		for _, before := range g.earlier[at] {
			if err := to.AddEdge(g.nodes[at].ID, g.nodes[before].ID, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *grownGraph) append(ctx context.Context, s *kv.Store, begin, end int) error {
	p, err := s.NewPatch(kv.PatchOptions{Labels: true})
	if err != nil {
		return err
	}
	defer p.Abort() //nolint:errcheck // of a patch that is committed it does nothing, and another error comes first
	if err := g.put(begin, end, p); err != nil {
		return err
	}
	if _, err := p.Commit(ctx); err != nil {
		return err
	}
	return g.putFeatures(s, begin, end, false)
}

// featuresAtOnce is how many rows of features are written in a transaction.
const featuresAtOnce = 256

func (g *grownGraph) putFeatures(s *kv.Store, begin, end int, create bool) error {
	if g.features == nil {
		return nil
	}
	for ; begin < end; begin += featuresAtOnce {
		err := s.Update(func(tx *kv.Tx) error {
			if create {
				create = false
				if err := tx.CreateMatrix(cleaner.FeaturesMatrix, g.names); err != nil {
					return err
				}
			}
			for at := begin; at < min(begin+featuresAtOnce, end); at++ {
				v, err := tx.Node(g.nodes[at].ID)
				if err != nil {
					return err
				}
				if err := tx.SetRow(cleaner.FeaturesMatrix, v, g.features[at]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// judge counts the suspects among the nodes before end, and how many are wrong.
func (g *grownGraph) judge(s *kv.Store, end, first int, step *growsStep) (suspects map[string]bool, err error) {
	suspects = map[string]bool{}
	var all, added hits
	err = s.View(func(tx *kv.Tx) error {
		run, err := cleaner.LastRun(tx)
		if err != nil {
			return err
		}
		for at, node := range g.nodes[:end] {
			v, err := tx.Node(node.ID)
			if err != nil {
				return err
			}
			score, err := tx.Value(v, cleaner.ScoreColumn)
			if err != nil {
				return err
			}
			flagged, wrong := score.Float() > run.Threshold, node.Label != g.truth[at]
			if flagged {
				suspects[node.ID] = true
			}
			if all.count(flagged, wrong); at >= first {
				added.count(flagged, wrong)
			}
		}
		return nil
	})
	step.Nodes, step.Suspects, step.F1, step.Added = end, len(suspects), all.f1(), added.f1()
	return suspects, err
}

// hits are those of suspects among wrong labels.
type hits struct{ right, flagged, wrong int }

func (h *hits) count(flagged, wrong bool) {
	if flagged {
		h.flagged++
	}
	if wrong {
		h.wrong++
	}
	if flagged && wrong {
		h.right++
	}
}

func (h *hits) f1() float64 { return 2 * float64(h.right) / float64(max(h.flagged+h.wrong, 1)) }
