package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// importCommand makes a store of files, or adds predictions, features or splits to one.
type importCommand struct {
	DB string `arg:"" name:"DB" help:"Directory of the store."`
	graphFiles
	Replace bool   `help:"Replace the store that is there by a new one of --nodes and --edges."`
	Yes     bool   `short:"y" help:"Answer the confirmation."`
	Stats   string `placeholder:"FILE" help:"Write the seconds of each stage and the peak memory as json."`
	resources
}

func (*importCommand) Help() string {
	return `Tables are ` + table.Extensions + `; their header names the columns. The nodes file has a column id; a column label, where an ` +
		`empty field is an unlabelled node; a column split, if you like; and every other column becomes a property of its nodes. The edges ` +
		`file has src and dst. The graph is undirected and simple: loops are dropped and parallel edges collapsed, and both are reported.

Predictions are the class probabilities of your own classifier. A .npy or .npz file has a row a node in the order of the nodes file and a column a ` +
		`class, classes sorted as numbers where all are numbers, else by bytes; a table has the header id,CLASS,CLASS,… and any order.

Without --nodes the files are added to the store that is there, in place of earlier ones. Whatever fails, nothing half made is left.

    graphcleaner import my.graph --nodes nodes.csv --edges edges.csv
    graphcleaner import my.graph --nodes nodes.parquet --edges edges.csv.gz --features words.npz --splits split.csv
    graphcleaner import my.graph --predictions softmax.npy
    graphcleaner import my.graph --predictions logits.npy --logits
    graphcleaner import my.graph --nodes nodes.csv --edges edges.csv --replace --yes`
}

func (c *importCommand) Run(ctx context.Context, s *streams) error {
	if err := c.apply(); err != nil {
		return err
	}
	if c.Nodes == "" && c.Edges == "" {
		return c.addTo(ctx, s)
	}
	if c.Nodes == "" || c.Edges == "" {
		return usagef("import: a new store needs both --nodes and --edges")
	}
	occupied, err := isOccupied(c.DB)
	if err != nil {
		return err
	}
	switch {
	case occupied && !c.Replace:
		return usagef("import: %s is there already: want another directory, --replace to make it anew, or no --nodes to add to it", c.DB)
	case occupied:
		return c.replace(ctx, s)
	}
	return leaving(c.loadTo(ctx, c.DB, s), "nothing was kept, there is no %s", c.DB)
}

// loadTo makes a new store at dir and reports what is in it.
func (c *importCommand) loadTo(ctx context.Context, dir string, s *streams) error {
	began := time.Now()
	r := reading{s: s, stages: new(stageLog)}
	stats, err := c.load(ctx, dir, int64(c.Memory), r)
	if err != nil {
		return err
	}
	s.progress.clear()
	if err := printLoad(s, c.DB, stats, time.Since(began)); err != nil {
		return err
	}
	return r.stages.write(c.Stats, s)
}

func printLoad(s *streams, db string, stats kv.LoadStats, took time.Duration) error {
	_, err := fmt.Fprintf(s.out, "%s: %d nodes, %d edges (%d self loops dropped, %d parallel edges collapsed), %d labelled, %d classes, %.1f s\n",
		db, stats.Nodes, stats.Edges, stats.SelfLoops, stats.ParallelEdges, stats.Labelled, stats.Classes, took.Seconds())
	return err
}

// replace makes the new store beside the old one, which stays until the new one is complete.
func (c *importCommand) replace(ctx context.Context, s *streams) error {
	if err := withStore(c.DB, kv.Options{MemoryBudget: c.store()}, func(*kv.Store) error { return nil }); err != nil {
		return fmt.Errorf("only a store can be replaced: %w", err)
	}
	if !c.Yes {
		yes, err := s.confirm(fmt.Sprintf("Replace %s, with all scores and decisions in it?", c.DB))
		if err != nil {
			return err
		}
		if !yes {
			return errors.New("not replaced")
		}
	}
	made, old := c.DB+".new", c.DB+".old"
	for _, dir := range []string{made, old} {
		if _, err := os.Lstat(dir); err == nil {
			return fmt.Errorf("%s is in the way, from a replacement that was cut short: look whether you need it, and remove it", dir)
		}
	}
	if err := c.loadTo(ctx, made, s); err != nil {
		return leaving(err, "%s is as it was", c.DB)
	}
	if err := os.Rename(c.DB, old); err != nil {
		return err
	}
	if err := os.Rename(made, c.DB); err != nil {
		return errors.Join(err, os.Rename(old, c.DB))
	}
	return os.RemoveAll(old)
}

// addTo writes predictions, features and splits into a store that is there.
func (c *importCommand) addTo(ctx context.Context, s *streams) error {
	switch {
	case c.Replace:
		return usagef("import: --replace needs --nodes and --edges")
	case len(c.Classes) > 0:
		return usagef("import: --classes needs --nodes and --edges")
	case c.Features == "" && c.Predictions == "" && c.Splits == "":
		return usagef("import: nothing to import, want --nodes and --edges for a new store, or --predictions, --features or --splits for one that is there")
	}
	began := time.Now()
	r := reading{s: s, stages: new(stageLog)}
	var added []string
	err := withStore(c.DB, kv.Options{MemoryBudget: int64(c.Memory)}, func(store *kv.Store) (err error) {
		added, err = c.add(ctx, store, r)
		return err
	})
	if err != nil {
		return leaving(err, "%s is as it was", c.DB)
	}
	s.progress.clear()
	_, err = fmt.Fprintf(s.out, "%s: wrote %s, %.1f s\n", c.DB, strings.Join(added, " and "), time.Since(began).Seconds())
	if err != nil {
		return err
	}
	s.say("Scores and suggestions are those of the last clean. Next: %s clean %s", s.program, shellWord(c.DB))
	return r.stages.write(c.Stats, s)
}

// isOccupied says whether something other than an empty directory is at a path.
func isOccupied(path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.IsDir() {
		return false, fmt.Errorf("%s is a file, want a directory", path)
	}
	entries, err := os.ReadDir(path)
	return len(entries) > 0, err
}

// confirm asks a question that y or yes affirms.
func (s *streams) confirm(question string) (bool, error) {
	s.progress.clear()
	if _, err := fmt.Fprintf(s.err, "%s [y/N] ", question); err != nil {
		return false, err
	}
	// The end of the input is a no.
	line, err := bufio.NewReader(s.in).ReadString('\n')
	if err != nil && line == "" {
		s.say("")
		return false, nil
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// shellWord quotes a word for a command line that the user may copy.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r == '.' || r == '/' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
