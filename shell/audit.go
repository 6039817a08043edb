package shell

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/columnar"
	"github.com/graphcleaner/graphcleaner/shell/internal/keyboard"
	"github.com/graphcleaner/graphcleaner/shell/internal/review"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// auditCommand shows labels that chance chose, one at a time, and tells how many labels are wrong.
type auditCommand struct {
	DB     string   `arg:"" name:"DB" help:"Directory of the store."`
	Size   positive `placeholder:"N" help:"Draw N labels in all. Default: 50, or as many as are drawn."`
	Seed   uint64   `default:"${seed}" placeholder:"S" help:"Seed of the first draw. Default: ${seed}."`
	For    string   `placeholder:"PROMISE" help:"Draw labels of the list that keeps this promise, such as 'fdr 0.1' or 'trusted fdr 0.05'. --size is their number."`
	Draws  string   `file:"write" placeholder:"FILE" help:"Write id and label of the open draws to this file, such as draws.csv or draws.parquet, and ask nobody. -: standard output."`
	Format string   `enum:"text,json" default:"text" help:"json: print where the audit stands, and ask nobody."`
	Who    string   `placeholder:"NAME" help:"Who decides. Default: your user name."`
	resources
}

func (*auditCommand) Help() string {
	return `Tells how many labels are wrong. Graph and predictions alone cannot tell it, but a look at some labels can, if chance chose them. audit draws ` +
		`labels, and shows one after another: the text, the neighbours, and up to four labels in mixed order. It shows no score and no suggestion, and does ` +
		`not say which label is the given one. Keys: ` + review.AuditKeys() + `.

50 draws tell the share of wrong labels within about 13 points, 200 within 7. The share and its interval are told at 25, 50, 100, 200, … decided draws. The ` +
		`intervals of all these looks hold together in at least 90% of audits, so you may stop when you like the answer. When you leave, scores, threshold and suspects follow the last of them.

You can leave at any time and continue later, with several people. An answer is a decision like any other: history has it, and undo takes it back. A draw ` +
		`can be decided anywhere, as in review or by import --decisions. --size N asks for more draws of the same order. The seed counts only at the first draw.

--for "fdr 0.1" draws among the first suspects. Where enough of these draws are wrong, the statement suspects fdr 0.1 lists suspects of which at most 10% are ` +
		`right, with 90% confidence. --for "trusted fdr 0.05" draws among the labels with the lowest scores, for labels trusted fdr 0.05: labels to train on.

    graphcleaner audit my.graph
    graphcleaner audit my.graph --size 200
    graphcleaner audit my.graph --for "fdr 0.1"
    graphcleaner audit my.graph --draws draws.csv
    graphcleaner audit my.graph --format json`
}

func (c *auditCommand) Run(ctx context.Context, s *streams) (err error) {
	if err := cmp.Or(c.apply(s), checkWho(c.Who)); err != nil {
		return err
	}
	if c.Size > cleaner.MostAuditDraws {
		return usagef("--size %d: want at most %d", c.Size, cleaner.MostAuditDraws)
	}
	if c.Draws != "" && c.Format == "json" {
		return usagef("--draws and --format json are two answers: want one of them")
	}
	sample := review.Sample{Size: int(c.Size), First: query.DefaultDraws, Seed: c.Seed}
	if c.For != "" {
		promise, err := query.ParsePromise(c.For)
		if err != nil {
			return usagef("--for: %v", err)
		}
		if c.Size > cleaner.MostListDraws {
			return usagef("--size %d: want at most %d with --for", c.Size, cleaner.MostListDraws)
		}
		sample.For = &promise
	}
	c.Who = cmp.Or(c.Who, query.UserName())
	at := newDesk(s, &c.resources, c.DB, task{Who: c.Who})
	defer func() { err = errors.Join(err, at.close()) }()
	switch {
	case c.Format == "json":
		sample.First = 0
		told, err := at.review(ctx, review.Step{Find: &review.Find{Audit: &sample}})
		if err != nil {
			return err
		}
		return json.NewEncoder(s.out).Encode(survey.ReportAudit(told.Audit))
	case c.Draws != "":
		told, err := at.review(ctx, review.Step{Find: &review.Find{Audit: &sample}})
		if err != nil {
			return err
		}
		return c.writeDraws(s, told)
	}
	opt := review.Options{
		Do: at.review, Find: review.Find{Audit: &sample}, KeepScores: true, Out: s.out, Err: s.dialogue(), Note: s.notice,
	}
	in, ok := s.in.(*os.File)
	if ok && print.IsTerminal(in) && print.IsTerminal(s.out) && os.Getenv("TERM") != "dumb" {
		opt.Replies = keyboard.New(ctx, in, s.dialogue())
	}
	summary, err := review.Run(ctx, opt)
	if err != nil {
		return leaving(err, "%s", summary)
	}
	s.say("%s", summary)
	told, err := at.review(ctx, review.Step{Find: &review.Find{Audit: &review.Sample{}}})
	if err != nil || told.Audit.Look == 0 {
		return err
	}
	if told.Audit.Behind {
		if told, err = at.review(ctx, review.Step{Finish: true}); err != nil {
			return leaving(c.inFlags(err), "the answers are kept; run audit again, and the scores follow them")
		}
		for _, notice := range told.Notices {
			s.notice(notice)
		}
	}
	s.sayNext("review", c.DB)
	return nil
}

// writeDraws writes the open draws, in the form that the name of the file asks for.
func (c *auditCommand) writeDraws(s *streams, told review.Result) error {
	columns := []query.ColumnInfo{{Name: "id", Kind: told.IDKind}, {Name: "label", Kind: kv.KindString}}
	var rows [][]kv.Value
	for i, d := range told.Audit.Open(c.Who) {
		id := kv.ValueOf(told.IDs[i])
		if whole, err := strconv.ParseInt(told.IDs[i], 10, 64); err == nil && told.IDKind == kv.KindInt {
			id = kv.ValueOf(whole)
		}
		rows = append(rows, []kv.Value{id, kv.ValueOf(d.Label)})
	}
	format, ok := columnar.OfFile(c.Draws)
	if !ok {
		format = columnar.Format(print.FormatCSV)
	}
	err := s.writeFile(c.Draws, func(w *bufio.Writer) error {
		_, err := format.Render(w, query.NewTable(columns, rows), &print.Screen{})
		return err
	})
	if err == nil && c.Draws != "-" {
		_, err = s.printf("%s to %s\n", wording.Count(int64(len(rows)), "open draw", "open draws"), c.Draws)
	}
	return err
}
