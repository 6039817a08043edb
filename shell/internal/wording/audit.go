package wording

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
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
		return fmt.Sprintf("%s to %s of %d labels were wrong (90%%), by %d draws; the scores do not follow them: %d "+
			"answers name a label, and half must", Percent(a.Low), Percent(a.High), a.Labels, a.Look, a.Right+a.Wrong)
	}
	line := fmt.Sprintf("%s of %d labels were wrong (90%%: %s to %s), by %d draws", Percent(a.Rate), a.Labels,
		Percent(a.Low),
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
			line += ", of which " + Count(missing, "waits", "wait") + " for an answer"
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

// Promise is how a statement asks for a promise.
func Promise(p cleaner.Promise) string {
	text := "fdr " + strconv.FormatFloat(p.Share, 'g', -1, 64)
	if p.Kind == cleaner.ListTrusted {
		return "trusted " + text
	}
	return text
}

// List says what the newest list for a promise promises and by which draws, and returns it. Without such a list, it
// returns nil and what there is to do. The audit is nil before the first draw.
func List(a *cleaner.Audit, p cleaner.Promise) (told string, kept *cleaner.AuditList) {
	if a == nil {
		return Promise(p) + ": nothing is drawn yet; audit draw 50 draws labels to look at, of which the first 25 must be " +
			"decided", nil
	}
	l := a.List(p)
	draw := fmt.Sprintf("audit draw for %s draws %d labels of", Promise(p), a.ListDraws(p))
	switch {
	case a.Look == 0:
		return fmt.Sprintf("%s: %d of the first %d draws of the audit are decided, and all must be", Promise(p), a.Decided,
			a.NextLook), nil
	case l == nil:
		return fmt.Sprintf("%s: nothing is drawn for it yet; %s a list to look at", Promise(p), draw), nil
	case l.HasFailed():
		return fmt.Sprintf("%s; %s another list to look at", standing(l), draw), nil
	case !l.IsKept():
		return standing(l) + "; graphcleaner audit shows the others", nil
	}
	return standing(l), l
}

// standing says where the draws of a list stand.
func standing(l *cleaner.AuditList) string {
	list, good, wasted := fmt.Sprintf("the first %s", Count(l.Labels, "suspect", "suspects")), "wrong", "right"
	if l.Kind == cleaner.ListTrusted {
		list, good, wasted = fmt.Sprintf("the %s with the lowest scores", Count(l.Labels, "label", "labels")), wasted, good
	}
	list += " of " + l.Drawn.Format(time.DateOnly)
	draws := l.Good + l.Wasted + l.Open
	share := strconv.FormatFloat(100*l.Share, 'g', 4, 64)
	level := strconv.FormatFloat(100*cleaner.AuditLevel, 'g', 2, 64)
	switch {
	case l.HasFailed():
		return fmt.Sprintf("%s: %s: of %d draws, %d not known to be %s, which is too many to show that at most %s%% are %s",
			Promise(l.Promise), list, draws, l.Wasted, good, share, wasted)
	case !l.IsKept():
		return fmt.Sprintf("%s: %s: %d of %s decided, %d of them not known to be %s; %d would be too many",
			Promise(l.Promise), list, draws-l.Open, Count(int64(draws), "draw", "draws"), l.Wasted, good, l.Forgiven+1)
	}
	return fmt.Sprintf("%s: at most %s%% of these labels are %s, with %s%% confidence, by %s, %d %s", list, share,
		wasted, level,
		Count(int64(draws), "draw", "draws"), l.Good, good)
}
