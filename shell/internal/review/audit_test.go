package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// audited audits a store with lines of replies.
func audited(t *testing.T, store *kv.Store, lines string) (out, remarks, summary string) {
	t.Helper()
	opt := optionsOf(t, store, "", lines)
	opt.Find = Find{Audit: &Sample{Size: 50, Seed: 1}}
	summary = ran(t, opt)
	return opt.Out.(*bytes.Buffer).String(), opt.Err.(*bytes.Buffer).String(), summary
}

// done is the result of a step.
func done(t *testing.T, store *kv.Store, step Step) Result {
	t.Helper()
	return must.Get(step.Do(t.Context(), store, query.Options{Who: "tester"}))(t)
}

// The labels of the papers with a score are few, so that the only look is at all of them.
func TestAudit(t *testing.T) {
	store := papers.Cleaned(t)
	out, _, summary := audited(t, store, "")
	if !strings.Contains(summary, "0 decided") || !strings.Contains(summary, "\n0 of ") {
		t.Errorf("the summary is %q", summary)
	}
	for _, word := range []string{"score", "suggested", "predicted 0", "against", "split", "confidence", "  label"} {
		if strings.Contains(out, word) {
			t.Errorf("the card tells of %q:\n%s", word, out)
		}
	}
	told := done(t, store, Step{Find: &Find{Audit: &Sample{}}})
	draws := len(told.IDs)
	// Each label that is taken is a decision: the given one is right, or another.
	var lines strings.Builder
	for range draws {
		lines.WriteString("l Theory\n")
	}
	out, remarks, summary := audited(t, store, "l Theory\nz\n"+lines.String())
	if !strings.Contains(remarks, "labels were wrong (90%: ") {
		t.Errorf("the look is not told: %s", remarks)
	}
	if !regexp.MustCompile(`\n\w+: taken back\n`).MatchString(out) {
		t.Errorf("undo tells which label the draw had: %s", out)
	}
	for _, want := range []string{fmt.Sprintf("%d decided, 0 skipped; 0 left\n", draws), "labels were wrong (90%: ",
		": every label of the sample is looked at"} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary is %q, want %q in it", summary, want)
		}
	}
	for _, now := range papers.LabelsNow(t, store) {
		if !strings.Contains(now, " Theory re") {
			t.Errorf("%q, want Theory, rejected or relabelled", now)
		}
	}
	if _, _, summary = audited(t, store, "1\n"); !strings.Contains(summary, "every label of the sample is looked at") {
		t.Errorf("with nothing left, the summary is %q", summary)
	}
}

func TestAuditKeys(t *testing.T) {
	store := papers.Cleaned(t)
	first := done(t, store, Step{Find: &Find{Audit: &Sample{Size: 50, Seed: 1}}})
	e := done(t, store, Step{Show: first.IDs[0]}).Dossier
	options := e.BlindOptions()
	if !slices.Contains(options, e.Label) || len(options) > survey.BlindOptions {
		t.Fatalf("the card offers %q of a node that is labelled %s", options, e.Label)
	}
	if again := done(t, store, Step{Show: e.ID}).Dossier.BlindOptions(); !slices.Equal(again, options) {
		t.Errorf("the second card offers %q, the first %q", again, options)
	}
	for i, class := range options {
		undoAll(t, store)
		out, _, _ := audited(t, store, string('1'+rune(i))+"\n")
		want := e.ID + " " + class + " relabel"
		if class == e.Label {
			want = e.ID + " " + class + " reject"
		}
		if got := papers.LabelsNow(t, store); !slices.Equal(got, []string{want}) {
			t.Errorf("key %d: %q, want %q", i+1, got, want)
		}
		if !strings.Contains(out, "\n"+e.ID+": "+class+"\n") {
			t.Errorf("key %d: the answer does not say %s: %s", i+1, class, out)
		}
	}
	undoAll(t, store)
	_, remarks, _ := audited(t, store, "9\n?\n")
	if !strings.Contains(remarks, "1 to 4 this label is right") || strings.Contains(remarks, "accept") {
		t.Errorf("the keys are %s", remarks)
	}
	if _, listed, _ := audited(t, store, "l \n"); !strings.Contains(listed, "Neural Nets, Systems, Theory\n") {
		t.Errorf("the list of classes is in an order that tells: %s", listed)
	}
}

// TestAuditOvertaken has somebody else decide on the draw that is shown. The refusal names no label, and the audit goes
// on.
func TestAuditOvertaken(t *testing.T) {
	store := papers.Cleaned(t)
	draws := done(t, store, Step{Find: &Find{Audit: &Sample{Size: 50}}})
	opt := optionsOf(t, store, "", "1\n1\n")
	opt.Find = Find{Audit: &Sample{}}
	do := opt.Do
	opt.Do = func(ctx context.Context, step Step) (Result, error) {
		result, err := do(ctx, step)
		if step.Show == draws.IDs[0] {
			_, failed := query.Exec(ctx, store, query.Options{Who: "bob"}, "relabel $1 'Theory'", step.Show)
			err = errors.Join(err, failed)
		}
		return result, err
	}
	summary := ran(t, opt)
	first, second := draws.IDs[0], draws.IDs[1]
	if got := opt.Err.(*bytes.Buffer).String(); !strings.Contains(got, ": not saved: somebody has decided on "+first+
		" meanwhile\n[1] ") {
		t.Errorf("the remarks are %q", got)
	}
	if out := opt.Out.(*bytes.Buffer).String(); !strings.Contains(out, "\n"+second+": ") ||
		!strings.HasPrefix(summary, "1 decided, ") {
		t.Errorf("got %s, %s", out, summary)
	}
}

func TestAuditWithoutTerminal(t *testing.T) {
	store := papers.Cleaned(t)
	opt := optionsOf(t, store, "", "")
	opt.Find, opt.In = Find{Audit: &Sample{Size: 50, Seed: 1}}, nil
	if _, _, err := Run(t.Context(), opt); !errors.Is(err, errNoTerminal) {
		t.Errorf("got %v, want %v", err, errNoTerminal)
	}
}
