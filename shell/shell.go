package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/internal/prompt"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// shellCommand answers statements about a store.
type shellCommand struct {
	DB       string       `arg:"" name:"DB" help:"Directory of the store."`
	Command  string       `short:"c" xor:"statements" placeholder:"QUERY" help:"Answer this and exit."`
	File     string       `short:"f" xor:"statements" file:"read" placeholder:"FILE" help:"Answer the statements of a file and exit."`
	Format   print.Format `default:"table" placeholder:"FORMAT" help:"table, csv, tsv, json, jsonl, markdown or parquet."`
	ReadOnly bool         `help:"Refuse statements that write, and let others read at the same time."`
	Yes      bool         `short:"y" help:"Confirm decisions about all nodes that meet a condition."`
	person
	rescoring
	resources
}

func (*shellCommand) Help() string {
	return `Without -c and -f, statements come from standard input. A terminal gets a prompt with a history. .help ` +
		`lists the statements. A semicolon or the end of the input ends a statement. At the prompt the end of the line ` +
		`does too, and the scores around a decision move at once. A dot command, such as .mode csv, takes a line of its own.

--format parquet writes a file with typed columns, which pandas, polars, R and DuckDB read. It holds the answer to ` +
		`one statement. If the answer fails half way, the file lacks its footer, and readers report that.

The store is open only while statements run, and for a second after. If another process holds the store, that ` +
		`process answers the statements.

    graphcleaner shell my.graph
    graphcleaner shell my.graph -c 'suspects where degree > 3 limit 20'
    graphcleaner shell my.graph -c "nodes where label = 'Theory' order by degree desc limit 5" --format csv
    graphcleaner shell my.graph -c 'suspects' --format parquet > suspects.parquet
    graphcleaner shell my.graph -c 'explain 1042'
    graphcleaner shell my.graph -c 'accept where score > 0.8' --yes
    echo 'stats; classes' | graphcleaner shell my.graph --format json`
}

func (c *shellCommand) Run(ctx context.Context, s *streams) (err error) {
	if err := c.Format.Check(print.ScreenOf(s.out)); err != nil {
		return usagef("%v", err)
	}
	opt := prompt.Options{
		In:     s.in,
		Out:    s.out,
		Err:    s.err,
		Note:   s.notice,
		Fail:   func(text string) { s.sayError("%s", text) },
		Format: c.Format,
		Yes:    c.Yes,
	}
	switch {
	case c.Command != "":
		opt.In = strings.NewReader(c.Command)
	case c.File != "":
		file, err := stream.Open(ctx, c.File)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		opt.In, opt.Name = file, filepath.Base(c.File)
	default:
		opt.Interactive = print.IsTerminal(s.in) && print.IsTerminal(s.out) && os.Getenv("TERM") != "dumb"
	}
	// The terminal can be asked where statements do not come from it, and at the prompt.
	if print.IsTerminal(s.in) && (opt.Interactive || c.Command+c.File != "" && print.IsTerminal(s.err)) {
		opt.Confirm = s.confirm
	}
	base := task{ReadOnly: c.ReadOnly, Who: c.name(), Rescores: opt.Interactive && !c.NoRescore}
	at := newDesk(s, &c.resources, c.DB, base)
	defer func() { err = errors.Join(err, at.close()) }()
	opt.Store = at
	if opt.Interactive {
		// A store that is not there, or is damaged, is told of before anything is asked.
		if _, err := at.do(ctx, at.base, prompt.Listener{Out: io.Discard}); err != nil {
			return err
		}
		// The prompt listens for Ctrl-C itself, and ctx ends by the other signals alone. Once it has ended, the store
		// is closed.
		signal.Ignore(os.Interrupt)
		defer signal.Ignore(os.Interrupt)
	}
	return prompt.Run(ctx, opt)
}
