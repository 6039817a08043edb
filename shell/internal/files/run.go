package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/stream"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// runShare is the part of the memory that a run file may have, as a divisor: what is read from it takes several times
// as much.
const runShare = 16

// readRun reads a run that was made elsewhere.
func readRun(ctx context.Context, path string, memory int64) (_ *cleaner.ForeignRun, err error) {
	file, err := stream.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	text, err := io.ReadAll(io.LimitReader(file, memory/runShare+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > memory/runShare {
		return nil, fmt.Errorf("%s: has more than %d bytes, want more --memory", path, memory/runShare)
	}
	run := new(cleaner.ForeignRun)
	if err := json.Unmarshal(text, run); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if run.Model == nil || run.Model.Census == nil {
		return nil, fmt.Errorf("%s: has no model", path)
	}
	return run, nil
}

// scoreColumns are those of a table of scores beside id.
var scoreColumns = []string{"given_label", "score", "suggested_label", "confidence"}

// scores writes a run and what it says of each node, by a table as export scores makes it. The caller marks the run
// when it commits, and closes it.
func (w *writing) scores(ctx context.Context, g *Graph, stage *ops.Stage) (_ *cleaner.RunWriter, err error) {
	in, columns, err := w.OpenTable(ctx, g.Scores, scoreColumns...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	stage.Columns, stage.BytesRead = len(scoreColumns), in.Size()
	labels, err := w.tx.Reader(kv.LabelColumn)
	if err != nil {
		return nil, err
	}
	out, err := cleaner.NewRunWriter(w.bulk, g.run)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.Run, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Close())
		}
	}()
	rows := scoreRows{in: in, given: columns[1], score: columns[2], suggested: columns[3], confidence: columns[4],
		labels: labels, classes: namesOf(g.run)}
	seen, err := eachNamed(ctx, w.tx, in, columns[0], w.Progress, func(v kv.NodeID, row table.Row) error {
		score, err := rows.read(v, row)
		if err != nil {
			return err
		}
		err = out.Put(score)
		if errors.Is(err, cleaner.ErrShape) {
			return in.Errorf(row.Line, "", "node %q: %w", row.Fields[columns[0]], err)
		}
		return err
	})
	if err == nil {
		err = wantAll(w.tx, in, seen)
	}
	if err != nil {
		return nil, err
	}
	if err := out.Finish(); err != nil {
		return nil, fmt.Errorf("%s: %w", g.Scores, err)
	}
	return out, nil
}

// scoreRows reads rows of a table of scores.
type scoreRows struct {
	in                                  *table.Reader
	given, score, suggested, confidence int // columns
	labels                              *kv.ColumnReader
	classes                             map[string]bool
}

// read reads the row of a node.
func (s *scoreRows) read(v kv.NodeID, row table.Row) (score cleaner.NodeScore, err error) {
	score = cleaner.NodeScore{Node: v, Suggestion: string(row.Fields[s.suggested])}
	label, err := s.labels.At(v)
	if err != nil {
		return score, err
	}
	if label.Str() != string(row.Fields[s.given]) {
		want := "no label, as the node has none"
		if !label.IsNull() {
			want = fmt.Sprintf("the label of the node, %q", label.Str())
		}
		return score, s.in.Want(row, s.given, want)
	}
	if score.Suggestion != "" && !s.classes[score.Suggestion] {
		return score, s.in.Want(row, s.suggested, "a class of the run")
	}
	if score.Score, err = s.chance(row, s.score); err != nil {
		return score, err
	}
	score.Confidence, err = s.chance(row, s.confidence)
	return score, err
}

// chance reads a number from 0 to 1 as a float32; NaN of an empty field.
func (s *scoreRows) chance(row table.Row, column int) (float64, error) {
	text := row.Fields[column]
	if len(text) == 0 {
		return math.NaN(), nil
	}
	x, ok := parseNumber(text)
	if !ok || x < 0 || x > 1 {
		return 0, s.in.Want(row, column, "a number from 0 to 1, or nothing")
	}
	return float64(float32(x)), nil
}

// namesOf are the classes of a run.
func namesOf(run *cleaner.ForeignRun) map[string]bool { return setOf(run.Model.Census.Names) }

// setOf is the set of some names.
func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
