package wording

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
)

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
		return Promise(p) + ": nothing is drawn yet; audit draw 50 draws labels to look at, of which the first 25 must be decided", nil
	}
	l := a.List(p)
	draw := fmt.Sprintf("audit draw for %s draws %d labels of", Promise(p), a.ListDraws(p))
	switch {
	case a.Look == 0:
		return fmt.Sprintf("%s: %d of the first %d draws of the audit are decided, and all must be", Promise(p), a.Decided, a.NextLook), nil
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
	return fmt.Sprintf("%s: at most %s%% of these labels are %s, with %s%% confidence, by %s, %d %s", list, share, wasted, level,
		Count(int64(draws), "draw", "draws"), l.Good, good)
}

// AdviseList adds to an error of drawing a list what to do about it.
func AdviseList(err error) error {
	if errors.Is(err, kv.ErrNotFound) {
		return errors.New("audit: nothing is drawn yet; draw 50 labels without for, and decide the first 25 of them, as lists are chosen after the first look")
	}
	return err
}
