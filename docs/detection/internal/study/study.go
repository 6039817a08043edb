// Package study has what the commands of tables in Go share: graphs made of the data sets, and the heading of results.
package study

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell"
)

// A Dataset is a graph under GRAPHCLEANER_DATA: FOLDER/csv/nodes.csv, edges.csv and features.npz.
type Dataset struct {
	Name, Folder string
	HasFeatures  bool // without them the base classifier sees the structure alone
}

// Datasets are all that the commands know.
var Datasets = []Dataset{
	{"cora", "cora", true},
	{"citeseer", "citeseer", true},
	{"photo", "amazon_photo", true},
	{"pubmed", "pubmed", false},
	{"ogbn-arxiv", "ogbn_arxiv", false},
}

// Named returns the data sets with the names of a comma-separated list.
func Named(list string) (found []Dataset, err error) {
	for name := range strings.SplitSeq(list, ",") {
		before := len(found)
		for _, d := range Datasets {
			if d.Name == name {
				found = append(found, d)
			}
		}
		if len(found) == before {
			return nil, fmt.Errorf("data set %q: want cora, citeseer, photo, pubmed or ogbn-arxiv", name)
		}
	}
	return found, nil
}

// Title is the name, and what is missing.
func (d Dataset) Title() string {
	if d.HasFeatures {
		return d.Name
	}
	return d.Name + " (structure)"
}

// WithStore makes a store of the data set for the time of fn, which gets its directory too. The store is writable.
func (d Dataset) WithStore(ctx context.Context, fn func(dir string, store *kv.Store) error) (err error) {
	data := os.Getenv("GRAPHCLEANER_DATA")
	if data == "" {
		return errors.New("want GRAPHCLEANER_DATA, the directory of the data sets")
	}
	parent, err := os.MkdirTemp("", "graphcleaner-study-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(parent)) }()
	dir, files := filepath.Join(parent, d.Folder), filepath.Join(data, d.Folder, "csv")
	args := []string{"import", dir, "--nodes", filepath.Join(files, "nodes.csv"), "--edges", filepath.Join(files, "edges.csv")}
	if d.HasFeatures {
		args = append(args, "--features", filepath.Join(files, "features.npz"))
	}
	if code := shell.Main(ctx, args, strings.NewReader(""), io.Discard, os.Stderr); code != 0 {
		return fmt.Errorf("import of %s: exit code %d", d.Name, code)
	}
	store, err := index.Open(dir, kv.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return fn(dir, store)
}

// Stamp is the date, and the commit of the tree that the command runs in.
func Stamp(ctx context.Context) (string, error) {
	commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "", fmt.Errorf("git describe: %w", err)
	}
	return fmt.Sprintf("%s, graphcleaner at %s", time.Now().UTC().Format(time.DateOnly), strings.TrimSpace(string(commit))), nil
}

// Main runs a command until it ends or Ctrl-C ends it.
func Main(command func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
