package shell

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
	"github.com/graphcleaner/graphcleaner/shell/stream"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// importCommand makes a store of files, or adds predictions, features, splits or decisions to one.
type importCommand struct {
	DB string `arg:"" file:"read" name:"DB" help:"Directory of the store."`
	graphFiles
	Decisions string `file:"read" placeholder:"FILE" help:"Decisions about labels for a store that is there: .jsonl, or a table with id and label."`
	Replace   bool   `help:"Replace the store that is there by a new one of --nodes and --edges."`
	Yes       bool   `short:"y" help:"Answer the confirmation."`
	BadRows   int64  `placeholder:"N" help:"Leave out up to N bad rows of the nodes and edges files. Without it the first ends the import."`
	Report    string `file:"write" placeholder:"FILE" help:"Write the bad rows as csv: file, line, value, reason."`
	Stats     string `file:"write" placeholder:"FILE" help:"Write the seconds of each stage and the peak memory as json."`
	resources
}

func (*importCommand) Help() string {
	return `Tables are ` + table.Extensions + `; their header names the columns. The nodes file has a column id; a column label, where an ` +
		`empty field is an unlabelled node; a column split, if you like; and every other column becomes a property of its nodes. The edges ` +
		`file has the columns src and dst, so named, or is an .npy of integers [m×2], which are the ids. Loops are dropped, parallel edges collapsed, and both reported. ` +
		`Edges have no direction, unless --directed gives them one. A column weight, of numbers greater than 0, makes the graph weighted; the weights of parallel edges then add up.

Predictions are the class probabilities of your own classifier. A .npy or .npz file has a row a node in the order of the nodes file and a column a ` +
		`class, in the order of the statement classes: sorted as numbers where all are numbers, else by bytes; or in that of --prediction-classes. A table ` +
		`has the header id,CLASS,CLASS,… and any order. Where the labels say beyond doubt that the columns of a file that nobody named are in another order, ` +
		`the import is refused and names it. An order that is given is believed.

Bad rows, such as those with too few fields, an id that was there before, or an edge of a node that is not there, end the import, unless ` +
		`--bad-rows says how many may be left out; --report lists them. Arrays in the order of the nodes file then have rows for the nodes that were kept.

An import that is interrupted or killed goes on when it is run again, behind the last of what was complete: that the edges were read and sorted, ` +
		`and that they were sorted by node. One that memory holds in less than 64 MiB starts over, which takes seconds.

Without --nodes the files are added to the store that is there, in place of earlier ones. Whatever fails, nothing half made is left.

Decisions are those of an export, with who, when and why, or of any table or .jsonl file with the columns id and label: the label that is right, empty ` +
		`for none. They may also name a decision (accept, reject, relabel, unlabel, unsure), who, why, time, and from, the label that it was about; of several ` +
		`about one node the last counts, and those that an undo took back do not. Decisions that the store has, that are older than its own, or that are about another ` +
		`label or suggestion than it has, are left out and counted, so that a file can be imported again. A row whose decision and label cannot both hold ends the import.

Ids, labels and values are taken as they are. Import says which classes differ by white space, Unicode form or invisible characters alone, with the nodes of each; ` +
		`--trim and --nfc join them, in labels, --classes and the header of predictions, and leave ids and properties alone. It also says ` +
		`where an id that is no integer makes all ids text, where few values make a property of numbers text, and how many values are NaN and so null.

    graphcleaner import my.graph --nodes nodes.csv --edges edges.csv
    graphcleaner import my.graph --nodes nodes.parquet --edges edges.csv.gz --features words.npz --splits split.csv
    graphcleaner import my.graph --nodes nodes.csv --edges citations.csv --directed
    graphcleaner import my.graph --nodes nodes.csv --edges edges.csv --trim --nfc
    graphcleaner import my.graph --nodes nodes.csv --edges edges.npy --bad-rows 100 --report bad.csv
    graphcleaner import my.graph --predictions softmax.npy
    graphcleaner import my.graph --predictions logits.npy --logits
    graphcleaner import my.graph --predictions softmax.npy --prediction-classes spam,ham,'one\, two'
    graphcleaner import my.graph --predictions softmax.npz --top-k 10 --float16
    graphcleaner import my.graph --decisions decisions.jsonl
    graphcleaner import my.graph --nodes nodes.csv --edges edges.csv --replace --yes`
}

func (c *importCommand) Run(ctx context.Context, s *streams) error {
	if err := c.apply(); err != nil {
		return err
	}
	if err := atomic.RecoverReplaced(c.DB); err != nil {
		return err
	}
	if c.BadRows < 0 {
		return usagef("import: --bad-rows %d: want 0 or more", c.BadRows)
	}
	if err := c.checkEncoding(); err != nil {
		return err
	}
	if c.Decisions != "" {
		return c.adopt(ctx, s)
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
		if finished, err := c.finished(ctx, s); finished || err != nil {
			return err
		}
		return usagef("import: %s is there already: want another directory, --replace to make it anew, or no --nodes to add to it", c.DB)
	case occupied:
		return c.replace(ctx, s)
	}
	return c.make(ctx, s, nil)
}

// finished reports what is in a store that this very command had made when it was killed; false where it had not.
func (c *importCommand) finished(ctx context.Context, s *streams) (bool, error) {
	placed, err := kv.TakePlacement(c.DB)
	if err != nil || placed == nil {
		return false, err
	}
	s.say("%s was complete when its import was killed", c.DB)
	origin, err := c.origin()
	if err != nil || origin != placed.Origin {
		return false, err
	}
	if c.Report != "" {
		return true, fmt.Errorf("%s is made, but what was to be written to %s is lost: import it again with --replace", c.DB, c.Report)
	}
	return true, c.report(ctx, placed.Load, reading{s: s, stages: new(stageLog)}, 0)
}

// origin tells the command from others.
func (c *importCommand) origin() (string, error) {
	files, err := filesText(c.Nodes, c.Edges, c.Features, c.Predictions, c.Splits)
	return fmt.Sprintf("%s%+v %d", files, c.graphFiles, c.BadRows), err
}

// make makes a store where none is and reports what is in it. It calls made, if not nil, before it puts the store into place.
func (c *importCommand) make(ctx context.Context, s *streams, made func(*kv.Store) error) (err error) {
	began := time.Now()
	r := c.reading(s)
	r.made = made
	if r.origin, err = c.origin(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.bad.close()) }()
	r.resume = true
	stats, err := c.load(ctx, c.DB, int64(c.Memory), r)
	if err != nil {
		left := ""
		if _, ok := errors.AsType[*resumableError](err); ok {
			left = "; what was read and sorted is kept, and the same import goes on with it"
		}
		return errors.Join(leaving(err, "there is no %s%s", c.DB, left), c.reportBad(ctx, err, r))
	}
	return c.report(ctx, stats, r, time.Since(began))
}

// reading is how the files of a new store are read.
func (c *importCommand) reading(s *streams) reading {
	r := reading{s: s, stages: new(stageLog), workers: c.Threads, memory: int64(c.Memory), form: c.labelForm}
	if c.BadRows > 0 || c.Report != "" {
		r.bad = newBadRows(map[badFile]string{badNode: c.Nodes, badEdge: c.Edges}, c.BadRows, int64(c.Memory)/badRowsShare)
	}
	return r
}

// badRowsShare is the part of the memory that bad rows are kept in, as a divisor; what exceeds it is kept on disk.
const badRowsShare = 64

// reportBad writes the report of bad rows where an import that ended with err, if any, knows them: it failed because they
// were too many, or did not fail.
func (c *importCommand) reportBad(ctx context.Context, err error, r reading) error {
	if _, tooMany := errors.AsType[*tooManyBadRowsError](err); r.bad == nil || err != nil && !tooMany {
		return nil
	}
	return r.bad.write(ctx, c.Report, r.s)
}

// report says what is in the store that was made.
func (c *importCommand) report(ctx context.Context, stats kv.LoadStats, r reading, took time.Duration) error {
	r.s.progress.clear()
	edges, kind, merged := stats.Edges, "edges", "collapsed"
	if c.Directed {
		edges, kind = stats.Arcs, "directed edges"
	}
	if stats.Weighted {
		merged = "added up"
	}
	_, err := r.s.printf("%s: %d nodes, %d %s (%d self loops dropped, %d parallel edges %s), %d labelled, %d classes, %.1f s%s\n",
		c.DB, stats.Nodes, edges, kind, stats.SelfLoops, stats.ParallelEdges, merged, stats.Labelled, stats.Classes,
		took.Seconds(), r.bad.summary(c.Report))
	return unreported(cmp.Or(err, c.reportBad(ctx, nil, r), r.stages.write(c.Stats, r.s)), "%s is made", c.DB)
}

// replace makes the new store beside the old one, which stays, closed to others who write, until the new one is
// complete and takes its place.
func (c *importCommand) replace(ctx context.Context, s *streams) (err error) {
	db, err := filepath.EvalSymlinks(c.DB) // a link goes on to lead to the store
	if err != nil {
		return err
	}
	began := time.Now()
	r := c.reading(s)
	defer func() { err = errors.Join(err, r.bad.close()) }()
	var stats kv.LoadStats
	var replaced *atomic.Replacement
	// A store that is open to read excludes writers, and closing it touches no file, wherever it has been moved to.
	err = withStoreHeld(db, c.store(), func() (err error) {
		if err := c.confirmReplacing(ctx, s); err != nil {
			return err
		}
		if replaced, err = atomic.BeginReplacement(db); err != nil {
			return err
		}
		if stats, err = c.load(ctx, replaced.Made(), int64(c.Memory), r); err == nil {
			err = replaced.Swap()
		}
		if err != nil {
			return errors.Join(leaving(err, "%s is as it was", c.DB), c.reportBad(ctx, err, r))
		}
		return nil
	})
	if replaced != nil {
		err = errors.Join(err, replaced.End())
	}
	if err != nil {
		return err
	}
	return c.report(ctx, stats, r, time.Since(began))
}

// withStoreHeld runs fn while a store is open to read, so that nobody can write to it.
func withStoreHeld(dir string, memory int64, fn func() error) error {
	opened := false
	hold := func(*kv.Store) error {
		opened = true
		return fn()
	}
	opt := kv.Options{MemoryBudget: memory, ReadOnly: true}
	err := withStore(dir, opt, hold)
	if errors.Is(err, kv.ErrCrashed) {
		if err = withCrashedStore(dir, memory, err, func(*kv.Store) error { return nil }); err == nil {
			err = withStore(dir, opt, hold)
		}
	}
	if err != nil && !opened {
		return fmt.Errorf("only a store that nobody writes to can be replaced: %w", err)
	}
	return err
}

func (c *importCommand) confirmReplacing(ctx context.Context, s *streams) error {
	if !c.Yes {
		yes, err := s.confirm(ctx, fmt.Sprintf("Replace %s, with all scores and decisions in it?", c.DB))
		if err != nil {
			return err
		}
		if !yes {
			return errors.New("not replaced")
		}
	}
	return nil
}

// addTo writes predictions, features and splits into a store that is there.
func (c *importCommand) addTo(ctx context.Context, s *streams) error {
	switch {
	case c.Replace:
		return usagef("import: --replace needs --nodes and --edges")
	case len(c.Classes) > 0:
		return usagef("import: --classes needs --nodes and --edges")
	case c.Directed:
		return usagef("import: --directed needs --nodes and --edges")
	case c.BadRows > 0 || c.Report != "":
		return usagef("import: --bad-rows and --report need --nodes and --edges")
	case c.labelForm != (labelForm{}) && c.Predictions == "":
		return usagef("import: --trim and --nfc need --nodes and --edges, or --predictions")
	case c.Features == "" && c.Predictions == "" && c.Splits == "":
		return usagef("import: nothing to import, want --nodes and --edges for a new store, or --predictions, --features, --splits or --decisions for one that is there")
	}
	began := time.Now()
	r := reading{s: s, stages: new(stageLog), memory: c.work(), form: c.labelForm}
	var added []string
	cleaned := false
	err := withStore(c.DB, kv.Options{MemoryBudget: int64(c.Memory)}, func(store *kv.Store) (err error) {
		if added, err = c.add(ctx, store, r); err != nil {
			return err
		}
		cleaned, err = isCleaned(store)
		return err
	})
	if err != nil {
		return leaving(err, "%s is as it was", c.DB)
	}
	s.progress.clear()
	wrote := strings.Join(added, " and ")
	_, err = s.printf("%s: wrote %s, %.1f s\n", c.DB, wrote, time.Since(began).Seconds())
	if err = cmp.Or(err, r.stages.write(c.Stats, s)); err != nil {
		return unreported(err, "%s are in %s", wrote, c.DB)
	}
	next := fmt.Sprintf("Next: %s clean %s", s.program, shellWord(c.DB))
	if cleaned {
		next = "Scores and suggestions are those of the last clean. " + next
	}
	s.say("%s", next)
	return nil
}

// adopt decides in the store that is there as a file says.
func (c *importCommand) adopt(ctx context.Context, s *streams) error {
	if c.graphFiles.any() || c.labelForm != (labelForm{}) || c.Replace || c.BadRows > 0 || c.Report != "" {
		return usagef("import: --decisions go into a store that is there, and alone: import the rest before")
	}
	began := time.Now()
	var got adoption
	err := withStore(c.DB, kv.Options{MemoryBudget: c.store()}, func(store *kv.Store) (err error) {
		got, err = adoptDecisions(ctx, store, c.Decisions, query.UserName(), c.work(), s, func(lost string) error {
			if c.Yes {
				return nil
			}
			return s.confirmLoss(ctx, fmt.Sprintf("with the decisions of %s %s", c.Decisions, lost), "Take them all the same?", "nothing is decided")
		})
		return err
	})
	s.progress.clear()
	if err != nil {
		return leaving(c.inFlags(err), "%s is as it was", c.DB)
	}
	_, err = s.printf("%s: %s taken in %s%s, %d were there, %.1f s\n", c.DB,
		wording.Count(got.taken, "decision", "decisions"), wording.Count(got.steps, "step", "steps"), got.kindsText(), got.there, time.Since(began).Seconds())
	if err != nil {
		return unreported(err, "decisions of %s are in %s", c.Decisions, c.DB)
	}
	s.sayLeftOut(got.older, "older than what the store has decided itself")
	s.sayLeftOut(got.other, "about another label or suggestion than the store has")
	return nil
}

// kindsText says of what kinds the decisions are that were taken, such as " (3 accepted, 1 label removed)".
func (a *adoption) kindsText() string {
	var parts []string
	for kind, count := range a.kinds {
		switch kind := decide.Kind(kind); {
		case count == 0:
		case kind == decide.Unlabel:
			parts = append(parts, wording.Count(count, "label", "labels")+" removed")
		default:
			parts = append(parts, fmt.Sprintf("%d %s", count, wording.Decided(kind)))
		}
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// sayLeftOut says which decisions of a file were not taken, and why.
func (s *streams) sayLeftOut(l leftOut, why string) {
	if l.count == 0 {
		return
	}
	more := ""
	if l.count > len(l.some) {
		more = fmt.Sprintf(" and %d more", l.count-len(l.some))
	}
	s.say("%d left out, %s: %s%s", l.count, why, strings.Join(l.some, ", "), more)
}

// isCleaned says whether a store has had a run.
func isCleaned(store *kv.Store) (bool, error) {
	err := store.View(func(tx *kv.Tx) error {
		_, err := query.LastRun(tx)
		return err
	})
	if errors.Is(err, query.ErrNotCleaned) {
		return false, nil
	}
	return err == nil, err
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

// longestAnswer bounds the line that answers a question, in bytes.
const longestAnswer = 4 << 10

// confirm asks a question that y or yes affirms.
func (s *streams) confirm(ctx context.Context, question string) (bool, error) {
	s.progress.clear()
	if _, err := fmt.Fprintf(s.err, "%s [y/N] ", print.EscapeLines(question)); err != nil {
		return false, err
	}
	// The end of the input is a no.
	in := io.LimitReader(stream.NewReader(ctx, s.in), longestAnswer)
	line, err := bufio.NewReader(in).ReadString('\n')
	if ctx.Err() != nil {
		s.say("")
		return false, ctx.Err()
	}
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
