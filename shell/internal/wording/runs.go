package wording

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// Decided says what became of a suggestion or a label, such as accepted.
func Decided(kind decide.Kind) string { return decidedWords[kind] }

// Disputed says that people disagree about nodes that were decided on.
func Disputed(n int64) string {
	return "disputed: " + Nodes(n) + "; people disagree, and a label stays until most of them name the same one: " +
		"suspects where disputed"
}

var decidedWords = map[decide.Kind]string{
	decide.Accept: "accepted", decide.Reject: "rejected", decide.Relabel: "relabelled",
	decide.Unlabel: "unlabelled", decide.Unsure: "put aside as unsure",
}

// WayToPredict says what to do about nodes without predictions.
const WayToPredict = "run predict, which trains a classifier and predicts all nodes, or import --predictions of all " +
	"nodes"

// Advise adds to an error of the cleaner what to do about it: where too few nodes are labelled to learn from, where
// nodes have no predictions, and where closed walks are too many to count.
func Advise(err error) error {
	if errors.Is(err, ops.ErrPrice) {
		return fmt.Errorf("%w; take fewer --hops", err)
	}
	if errors.Is(err, cleaner.ErrMissingRows) {
		return fmt.Errorf("%w; %s, or clean --as-given, which scores the nodes with predictions", err, WayToPredict)
	}
	if errors.Is(err, cleaner.ErrFewLabels) {
		return fmt.Errorf("%w; label more nodes", err)
	}
	if errors.Is(err, cleaner.ErrFewFittingNodes) {
		return fmt.Errorf("%w; label more nodes, or put more of the labelled ones into the split val (import --splits)", err)
	}
	return err
}

// Elsewhere says of which graph a run is that was made elsewhere, and what of it is in the store; "" of another run.
func Elsewhere(run *cleaner.Run) string {
	whole := run.Elsewhere
	if whole == nil {
		return ""
	}
	return fmt.Sprintf("run %d was made elsewhere, of %s, %s and %s; %s and %s of them are here", run.ID,
		Nodes(whole.Nodes),
		Count(whole.Edges, "edge", "edges"), Count(whole.Suspects, "suspect", "suspects"), Nodes(run.Nodes),
		Count(run.Suspects, "suspect", "suspects"))
}

// Suspects counts the suspects of a run, and those of them that all evidence contradicts.
func Suspects(run *cleaner.Run) string {
	text := fmt.Sprintf("%s above %.4g", Count(run.Suspects, "suspect", "suspects"), run.Threshold)
	if run.Suspects > 0 {
		text += fmt.Sprintf(", %d of them contradicted by the predictions and by the neighbours", run.Contradicted)
	}
	return text
}

// ScoresWait says that the scores around decisions are older than these.
const ScoresWait = "the scores around decisions wait for a rescore: to bring them up to date takes long here"

// Rescored says what rescoring changed, a line for each of its steps that changed something; one line if neither did.
func Rescored(done *cleaner.Rescoring) []string {
	var lines []string
	switch {
	case done.Pass:
		lines = append(lines, fmt.Sprintf("%s scored again in one pass", Nodes(done.Changed)))
	case done.Changed > 0:
		lines = append(lines, fmt.Sprintf("%s around changes scored again", Nodes(done.Changed)))
	}
	if now, before := done.Run, done.Before; now.LookAt != before.LookAt {
		by := "no look of an audit any more"
		if now.Look > 0 {
			by = fmt.Sprintf("the audit: %s wrong, by %d draws", Percent(now.MislabelRate), now.Look)
		}
		threshold := fmt.Sprintf("the threshold stays %.4g", now.Threshold)
		if now.Threshold != before.Threshold {
			threshold = fmt.Sprintf("the threshold went from %.4g to %.4g", before.Threshold, now.Threshold)
		}
		lines = append(lines, fmt.Sprintf("scores follow %s; %s", by, threshold))
	}
	if lines == nil {
		if lines = append(lines, "nothing has changed since the last run: scores stay"); done.Run.Elsewhere != nil {
			lines[0] = "scores stay: they are of a larger graph, so that changes of this part move none"
		}
	}
	if done.Unpredicted > 0 {
		lines = append(lines, Unpredicted(done.Unpredicted))
	}
	return lines
}

// Unpredicted says that nodes without predictions have no score, and what to do about it.
func Unpredicted(n int64) string {
	return Nodes(n) + " without predictions, and so without a score: " + WayToPredict + ", and then clean"
}

// Stale says how many scores are older than changes around them; "" if none is. A count of -1 is more than most.
func Stale(count, most int) string {
	const advice = "older than changes around them: rescore brings them up to date"
	switch {
	case count == 0:
		return ""
	case count == 1:
		return "1 score is older than changes around it: rescore brings it up to date"
	case count < 0:
		return fmt.Sprintf("more than %d scores may be %s", most, advice)
	}
	return fmt.Sprintf("%d scores are %s", count, advice)
}

// mostStale is how many stale scores are looked for where scores are shown, which is often.
const mostStale = 1 << 10

// StaleScores is Behind or Stale, of the scores of the last run.
func StaleScores(ctx context.Context, tx *kv.Tx, run *cleaner.Run) (string, error) {
	if _, behind, err := cleaner.ReadLook(ctx, tx); behind || err != nil {
		return Behind, err
	}
	count, err := cleaner.CountStale(ctx, tx, run, mostStale)
	return Stale(count, mostStale), err
}
