// Command bench measures graphcleaner: it generates graphs of any size, runs commands under a memory limit of the
// kernel, and times questions, lookups and scores. The script compare.sh runs it side by side with other programs.
// Every measurement is a line of json on standard output.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands is the command line.
type commands struct {
	RMAT      rmatCommand      `cmd:"" name:"rmat" help:"Generate an R-MAT graph with labels and predictions."`
	Limited   limitedCommand   `cmd:"" help:"Run a command under a memory limit and report time and memory."`
	Scored    scoredCommand    `cmd:"" help:"Make a store of any size with scores, for timing queries."`
	Ask       askCommand       `cmd:"" help:"Time a statement of the shell's language."`
	Lookups   lookupsCommand   `cmd:"" help:"Time point lookups in a store."`
	Scores    scoresCommand    `cmd:"" help:"Time the scoring of single nodes."`
	Rescores  rescoresCommand  `cmd:"" help:"Time how scores are brought up to date after changes."`
	Adjacency adjacencyCommand `cmd:"" help:"Scan a store's adjacency and report its bytes and speed."`
	Evict     evictCommand     `cmd:"" help:"Take files out of the page cache, for a cold start."`
	Table     tableCommand     `cmd:"" help:"Summarise the results of compare.sh as a markdown table."`
}

// An exitError ends the program with the exit code of the command that it ran.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("the command ended with exit code %d", e.code) }

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit := -1
	parser, err := kong.New(new(commands),
		kong.Name("bench"),
		kong.Description("Measures graphcleaner."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exit = code }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.BindTo(stdout, (*io.Writer)(nil)),
	)
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	parsed, err := parser.Parse(args)
	if exit >= 0 { // --help was answered
		return exit
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	err = parsed.Run()
	var ended exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended):
		return ended.code
	case errors.Is(err, context.Canceled):
		return 130
	}
	fmt.Fprintln(stderr, "bench:", err)
	return 1
}

// printJSON writes a value as one line.
func printJSON(out io.Writer, value any) error { return json.NewEncoder(out).Encode(value) }
