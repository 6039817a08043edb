package shell

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/holder"
	"github.com/graphcleaner/graphcleaner/shell/internal/prompt"
	"github.com/graphcleaner/graphcleaner/shell/internal/review"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/web"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// reviewCommand shows suspects one at a time and takes decisions about them.
type reviewCommand struct {
	DB    string `arg:"" name:"DB" help:"Directory of the store."`
	Where string `placeholder:"EXPR" help:"Only suspects that meet this condition, as in the statement 'suspects'."`
	Web   bool   `help:"Review in a browser."`
	pageFlags
	NoOpen bool `help:"With --web: only print the address, and open no browser."`
	person
	rescoring
	resources
}

func (*reviewCommand) Help() string {
	return `Shows the suspects one at a time, highest score first, each with its evidence, and takes a line with a key: ` +
		review.Keys + `.

Every decision is on disk before the next suspect appears. A decided suspect does not come again. So you can leave ` +
		`a review at any time and continue later. The scores around each decision move at once. At the end, review takes ` +
		`the decisions in, as rescore does. Skipped suspects come again in the next review. To find the unsure ones, ask: ` +
		`nodes where decision = 'unsure'.

With --where "decided_by = 'ann'", a second person reviews the nodes that ann has decided on. --where disputed ` +
		`shows the nodes that people disagree about, and who says what.

A part of the name of a label is enough. Upper and lower case are alike. If several fit, review lists them and asks ` +
		`again.

With --web, review prints the address of a page for this machine alone, and opens it in a browser. The page shows ` +
		`the neighbourhood of each suspect, and the answers of statements. The address has a token: who knows it can ` +
		`decide. Ctrl-C ends the page.

Without a terminal, decide with statements, as in the last example.

    graphcleaner review my.graph
    graphcleaner review my.graph --where "label = 'Theory' and degree > 3"
    graphcleaner review my.graph --who bob --where "decided_by = 'ann'"
    graphcleaner review my.graph --where disputed
    graphcleaner review my.graph --web
    graphcleaner shell my.graph -c "accept 17; reject 35; relabel 1042 'Theory'"`
}

func (c *reviewCommand) Run(ctx context.Context, s *streams) (err error) {
	if !c.Web && (c.Addr != anyPort || c.NoOpen) {
		return usagef("--addr and --no-open are for the page: want --web with them")
	}
	if err := query.CheckCondition(c.Where); err != nil {
		return usagef("--where: %v", err)
	}
	if c.Web {
		return c.browse(ctx, s)
	}
	at := newDesk(s, &c.resources, c.DB, task{Who: c.name(), Rescores: !c.NoRescore})
	defer func() { err = errors.Join(err, at.close()) }()
	_, err = s.review(ctx, at, review.Options{Find: review.Find{Where: c.Where}, KeepScores: c.NoRescore})
	return err
}

// review has a person decide with keys, where there is a terminal.
func (s *streams) review(ctx context.Context, at *desk, opt review.Options) (*cleaner.Audit, error) {
	opt.Do, opt.Ask = at.review, func(ctx context.Context, statement string) error {
		question := prompt.Question{Step: query.Step{Text: statement}, Screen: *print.ScreenOf(s.out)}
		_, err := at.Answer(ctx, question, prompt.Listener{Out: s.out, Notice: s.notice})
		return err
	}
	opt.Out, opt.Err, opt.Note = s.out, s.err, s.notice
	if print.IsTerminal(s.in) && print.IsTerminal(s.out) {
		opt.In = stream.NewReader(ctx, s.in)
		if f, ok := s.in.(*os.File); ok {
			opt.Drop = func() error { return stream.Drop(f) }
		}
	}
	summary, audit, err := review.Run(ctx, opt)
	if err == nil {
		s.say("%s", summary)
	}
	return audit, leaving(err, "%s", summary)
}

// browse serves the page until Ctrl-C.
func (c *reviewCommand) browse(ctx context.Context, s *streams) error {
	return c.use(s, c.DB, toWrite, func(store *kv.Store) (err error) {
		page, err := c.serve(ctx, store, web.Options{
			Name: c.DB, Where: c.Where, KeepScores: c.NoRescore,
			Query: query.Options{Who: c.name(), Workers: c.Threads, MemoryBudget: c.work()},
		})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, page.Close()) }()
		s.tell(slog.LevelInfo, c.DB+" can be reviewed at "+page.Address(), "address", page.Address())
		s.say("Ctrl-C ends the review. Every decision is on disk at once.")
		if !c.NoOpen {
			clear, openErr := openBrowser(page.Address())
			if openErr != nil {
				s.notice(fmt.Sprintf("no browser is opened: %v", openErr))
			} else {
				defer func() { err = errors.Join(err, clear()) }()
			}
		}
		<-ctx.Done()
		if errors.Is(context.Cause(ctx), holder.ErrEnded) {
			return ctx.Err() // the process that holds the store says it
		}
		return nil
	})
}

// person is the flag of commands that decide.
type person struct {
	Who string `placeholder:"NAME" help:"Who decides, in the history of decisions. Default: your user name."`
}

// name is the name in the history.
func (p person) name() string { return cmp.Or(p.Who, query.UserName()) }

// auditCommand shows labels that chance chose, one at a time, and tells how many labels are wrong.
type auditCommand struct {
	DB     string `arg:"" name:"DB" help:"Directory of the store."`
	Size   *int   `placeholder:"N" help:"Draw N labels in all. Default: 50, or as many as are drawn."`
	Seed   uint64 `default:"${seed}" placeholder:"S" help:"Seed of the first draw. Default: ${seed}."`
	For    string `placeholder:"PROMISE" help:"Draw labels of the list that keeps this promise, such as 'fdr 0.1' or 'trusted fdr 0.05'. --size is their number."`
	Draws  string `file:"write" placeholder:"FILE" help:"Write id and label of the open draws to this file, such as draws.csv or draws.parquet, and ask nobody. -: standard output."`
	Format string `enum:"text,json" default:"text" help:"json: print where the audit stands, and ask nobody."`
	person
	resources
}

func (*auditCommand) Help() string {
	return `Tells how many labels are wrong. Graph and predictions alone cannot tell it, but a look at some labels ` +
		`can, if chance chose them. audit draws labels, and shows one after another: the text, the neighbours, and up to ` +
		`four labels in mixed order. It shows no score and no suggestion, and does not say which label is the given one. ` +
		`Keys: ` + review.AuditKeys + `.

50 draws tell the share of wrong labels within about 13 points, 200 within 7. The share and its interval are told ` +
		`at 25, 50, 100, 200, … decided draws. In at least 90% of audits, all these intervals contain the true share, so ` +
		`you may stop when you like the answer. When you leave, scores, threshold and suspects are adjusted to the latest ` +
		`share.

You can leave at any time and continue later, with several people. An answer is a decision like any other: history ` +
		`has it, and undo takes it back. A draw can be decided anywhere, as in review or by import --decisions. --size N ` +
		`asks for more draws of the same order. The seed counts only at the first draw.

--for "fdr 0.1" draws among the first suspects. Where enough of these draws are wrong, the statement 'suspects fdr ` +
		`0.1' lists suspects; at most 10% of them have a right label, with 90% confidence. --for "trusted fdr 0.05" draws ` +
		`among the labels with the lowest scores, for labels trusted fdr 0.05: labels to train on.

    graphcleaner audit my.graph
    graphcleaner audit my.graph --size 200
    graphcleaner audit my.graph --for "fdr 0.1"
    graphcleaner audit my.graph --draws draws.csv
    graphcleaner audit my.graph --format json`
}

func (c *auditCommand) Run(ctx context.Context, s *streams) (err error) {
	size, most := orZero(c.Size), cleaner.MostAuditDraws
	if c.For != "" {
		most = cleaner.MostListDraws
	}
	if c.Size != nil && (size < 1 || size > most) {
		return usagef("--size %d: want 1 to %d", size, most)
	}
	if c.Draws != "" && c.Format == "json" {
		return usagef("--draws and --format json are two answers: want one of them")
	}
	sample := review.Sample{Size: size, First: query.DefaultDraws, Seed: c.Seed}
	if c.For != "" {
		promise, err := query.ParsePromise(c.For)
		if err != nil {
			return usagef("--for: %v", err)
		}
		sample.For = &promise
	}
	if c.Format == "json" || c.Draws != "" {
		return c.write(ctx, s, sample)
	}
	at := newDesk(s, &c.resources, c.DB, task{Who: c.name()})
	defer func() { err = errors.Join(err, at.close()) }()
	audit, err := s.review(ctx, at, review.Options{Find: review.Find{Audit: &sample}})
	if err == nil && audit.Look > 0 {
		s.sayNext("review", c.DB)
	}
	return err
}

// write writes where the audit stands, or the open draws in the form that the name of the file asks for.
func (c *auditCommand) write(ctx context.Context, s *streams, sample review.Sample) error {
	how := toWrite
	if c.Format == "json" {
		if sample.First = 0; !sample.Writes() {
			how = toRead
		}
	}
	format, err := formatOfFile("audit: --draws", c.Draws)
	if err != nil {
		return err
	}
	var rows [][]kv.Value
	err = c.use(s, c.DB, how, func(store *kv.Store) error {
		audit, err := sample.Draw(ctx, store)
		if err != nil {
			return err
		}
		if c.Format == "json" {
			return json.NewEncoder(s.out).Encode(survey.ReportAudit(audit))
		}
		return store.View(func(tx *kv.Tx) error {
			for _, d := range audit.Open(c.name()) {
				id, err := tx.Value(d.Node, "id")
				if err != nil {
					return err
				}
				rows = append(rows, []kv.Value{id, kv.ValueOf(d.Label)})
			}
			draws := query.NewTable([]query.ColumnInfo{idColumn(tx), {Name: "label", Kind: kv.KindString}}, rows)
			return s.writeFile(c.Draws, func(w *bufio.Writer) error {
				_, err := print.Render(w, draws, format, &print.Screen{})
				return err
			})
		})
	})
	if err != nil || c.Draws == "" || c.Draws == "-" {
		return err
	}
	return s.printf("%s to %s\n", wording.Count(int64(len(rows)), "open draw", "open draws"), c.Draws)
}
