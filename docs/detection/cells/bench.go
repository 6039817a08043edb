package cells

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

// Main runs a command of this module by its name, until it ends or is interrupted.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// A Bench measures cell after cell for a table. It keeps what it has measured of each in a file, so that it continues
// when it is run again.
type Bench struct {
	Table  string // its name
	Commit string // of the program
	Kept   string // directory of the files

	work, out string
}

// Flags adds the flags of a Bench to those of a command.
func (b *Bench) Flags(command string) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	flag.StringVar(&b.work, "work", filepath.Join(cache, "graphcleaner-"+command), "where measurements are kept")
	flag.StringVar(&b.out, "out", "results", "where the table goes")
	return nil
}

// Begin finds out which program is measured, once the flags are parsed.
func (b *Bench) Begin(ctx context.Context) error {
	commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return fmt.Errorf("git describe: %w", err)
	}
	b.Commit = strings.TrimSpace(string(commit))
	b.Kept = filepath.Join(b.work, b.Commit, b.Table)
	return os.MkdirAll(b.Kept, 0o777)
}

// Each measures the cells that are asked for, and writes the table anew after each.
func (b *Bench) Each(isAsked func(i int, cell Cell) bool, measure func(Cell) error, text func() (string, error)) error {
	for i, cell := range All() {
		if !isAsked(i, cell) {
			continue
		}
		if err := measure(cell); err != nil {
			return fmt.Errorf("%s, %s: %w", cell.Data, cell.Noise, err)
		}
		told, err := text()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(b.out, b.Table+".md"), []byte(told), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// File is where the measurements of a cell are kept.
func (b *Bench) File(cell Cell) string {
	return filepath.Join(b.Kept, cell.Data+"-"+strings.ReplaceAll(cell.Noise, ":", "-"))
}

// Read reads the kept lines of a cell one after another; none where it is not begun.
func (b *Bench) Read(cell Cell, line func(text string) error) error {
	text, err := os.ReadFile(b.File(cell))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for one := range strings.Lines(string(text)) {
		if err := line(one); err != nil {
			return fmt.Errorf("%s: %w", b.File(cell), err)
		}
	}
	return nil
}

// Measure makes the store of a cell, and has run write what it measures of copies of it.
func (b *Bench) Measure(ctx context.Context, cell Cell, run func(store *Store, out io.Writer) error) (err error) {
	scratch, err := os.MkdirTemp("", "cell-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	store, err := Make(ctx, cell, scratch)
	if err != nil {
		return err
	}
	file, err := os.Create(b.File(cell))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return run(store, file)
}
