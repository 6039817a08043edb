package wording

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
)

// HowMany says how many labels are wrong: what the last look of an audit tells, or that it is not known. The audit is
// nil before the first draw.
func HowMany(a *cleaner.Audit) string {
	switch {
	case a == nil:
		return "how many labels are wrong is not known from graph and predictions; an audit tells it: by 50 labels within " +
			"about 13 points, by 200 within 7"
	case a.Look == 0:
		return "how many labels are wrong is not known yet: " + Audit(a, "")[0]
	}
	if math.IsNaN(a.Rate) {
		return fmt.Sprintf("%s to %s of %d labels were wrong (90%%), by %d draws; the scores do not follow them: %d answers name "+
			"a label, and half must", Percent(a.Low), Percent(a.High), a.Labels, a.Look, a.Right+a.Wrong)
	}
	line := fmt.Sprintf("%s of %d labels were wrong (90%%: %s to %s), by %d draws", Percent(a.Rate), a.Labels, Percent(a.Low),
		Percent(a.High), a.Look)
	if a.Found > 0 {
		line += fmt.Sprintf("; %d found, about %.0f left", a.Found, a.Left())
	}
	return line
}

// Audit says where an audit stands: the rate if it is known, and what to do next. More is how one draws so many labels
// in all; it may be empty.
func Audit(a *cleaner.Audit, more string) (lines []string) {
	if a.Look > 0 {
		lines = append(lines, HowMany(a))
	}
	line := fmt.Sprintf("%d of %s decided", a.Decided, Count(int64(len(a.Draws)), "draw", "draws"))
	told := "; the share of wrong labels is told "
	if a.Look > 0 {
		told += "again "
	}
	switch open := len(a.Draws) - a.Decided; {
	case a.NextLook == a.Look && open == 0:
		line += ": every label of the sample is looked at"
	case open > 0 && len(a.Draws) >= a.NextLook:
		line += told + fmt.Sprintf("once the first %d are", a.NextLook)
		if missing := a.Missing(); a.Decided >= a.NextLook && missing > 0 {
			line += fmt.Sprintf(", of which %d wait for an answer", missing)
		}
	case more == "":
		line += told + fmt.Sprintf("at %d", a.NextLook)
	default:
		line += told + fmt.Sprintf("at %d draws: continue with %s %d", a.NextLook, more, a.NextLook)
	}
	lines = append(lines, line)
	for i := range a.Lists {
		if l := &a.Lists[i]; l == a.List(l.Promise) {
			lines = append(lines, standing(l))
		}
	}
	if a.Since > 0 {
		lines = append(lines, fmt.Sprintf("the audit is of the labels of %s; %s came since, and it does not speak of them",
			a.Started.Format(time.DateOnly), Count(a.Since, "label", "labels")))
	}
	return lines
}

// Behind says that the scores do not follow the newest look of an audit.
const Behind = "scores, threshold and suspects do not follow the last look of the audit yet: rescore"

// Overtaken refuses an answer to a draw that somebody else has decided on. It does not tell which label the draw had or
// has.
func Overtaken(id string) string { return "not saved: somebody has decided on " + id + " meanwhile" }

// AdviseAudit adds to an error of drawing what to do about it.
func AdviseAudit(err error) error {
	if errors.Is(err, kv.ErrNotFound) {
		return errors.New("audit: the store has no scores, by which it draws; run clean first")
	}
	return err
}
