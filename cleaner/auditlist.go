package cleaner

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/audit"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A ListKind is the use of the labels of a list.
type ListKind string

// The kinds of lists.
const (
	ListSuspects ListKind = "suspects" // the first suspects: it is wasted to look at one whose label is right
	ListTrusted  ListKind = "trusted"  // the labels with the lowest scores, to train on: a wrong one is wasted
)

// A Promise is that at most a share of the labels of a list is wasted.
type Promise struct {
	Kind  ListKind
	Share float64 // from LeastListShare to MostListShare
}

// The shares that a list may promise.
const (
	LeastListShare = 0.01
	MostListShare  = 0.5
)

// MostListDraws is how many labels of a list are drawn at most.
const MostListDraws = audit.MostListDraws

// An AuditList is labels of which chance has drawn some to show that it keeps a promise.
type AuditList struct {
	Promise
	Drawn  time.Time // to the second, UTC
	Labels int64     // in the list when it was drawn; nobody had decided on one
	Draws  []AuditDraw

	// Good, Wasted and Open count the draws. A draw that is unsettled, or whose label something other than a decision
	// has changed, is wasted. At most Forgiven may be wasted.
	Good, Wasted, Open, Forgiven int

	number int
	run    int64
}

// IsKept reports whether the draws show that the list keeps its promise, whatever is said of those that are open. A
// list that breaks its promise passes with a chance of at most 1−AuditLevel. That chance covers all lists drawn since
// the last one that passed.
func (l *AuditList) IsKept() bool { return l.Wasted+l.Open <= l.Forgiven }

// HasFailed reports whether too many draws are wasted.
func (l *AuditList) HasFailed() bool { return l.Wasted > l.Forgiven }

// List is the newest list of an audit that was drawn for a promise, nil if none was.
func (a *Audit) List(p Promise) *AuditList {
	for i := range slices.Backward(a.Lists) {
		if a.Lists[i].Promise == p {
			return &a.Lists[i]
		}
	}
	return nil
}

// ListDraws is how many draws the next list for a promise wants.
func (a *Audit) ListDraws(p Promise) int { return int(audit.ListDraws(p.Share, a.listError(p))) }

// listError is the error of the next list for a promise. Each list after one that failed has less.
func (a *Audit) listError(p Promise) float64 {
	failed := 0
	for i := range a.Lists {
		if l := &a.Lists[i]; l.Promise != p {
			continue
		} else if l.HasFailed() {
			failed++
		} else {
			failed = 0
		}
	}
	return audit.AttemptError(failed)
}

// A listRecord is a list on disk; the nodes are in a document of their own.
type listRecord struct {
	Promise
	Drawn    int64 // Unix seconds
	Run, Seq int64 // newest run and entry of the history then
	Size     int64
	Forgiven int
	Draws    []uint32
	Labels   []kv.Class // numbers in auditRecord.Classes
}

func listKey(number int) string { return fmt.Sprintf("list %d", number) }

// DrawList chooses a list for a promise by the scores as they are, and asks people for so many of its labels, 0 for
// Audit.ListDraws. Only labels that nobody has decided on are in it. It does nothing while the newest list for the
// promise has not failed, unless all its labels are decided, or a run has scored anew since it was drawn. It returns
// ErrAudit before the first look, if Audit.Behind, if there is no list that draws could show to keep the promise, or
// the share or draws are none that a list can have.
func DrawList(ctx context.Context, s *kv.Store, p Promise, draws int) error {
	if !(p.Share >= LeastListShare && p.Share <= MostListShare) {
		return fmt.Errorf("%w: a share of %v, want from %v to %v", ErrAudit, p.Share, LeastListShare, MostListShare)
	}
	if draws < 0 || draws > MostListDraws {
		return fmt.Errorf("%w: %d of a list, want at most %d", ErrAudit, draws, MostListDraws)
	}
	return s.Update(func(tx *kv.Tx) error {
		a, err := ReadAudit(ctx, tx)
		if err != nil {
			return err
		}
		if a == nil || a.Look == 0 {
			return fmt.Errorf("%w for a list before the first look of the audit: draw labels without for, and decide the "+
				"first 25 of them, or all", ErrAudit)
		}
		record, err := readAuditRecord(tx)
		if err != nil {
			return err
		}
		if a.Behind {
			return fmt.Errorf("%w for a list while scores do not follow the last look: rescore first", ErrAudit)
		}
		run, err := lastRun(tx)
		if err != nil {
			return err
		}
		if before := a.List(p); before != nil && !before.HasFailed() {
			if !before.IsKept() {
				return nil
			}
			isOpen, err := hasUndecided(ctx, tx, before)
			if err != nil || isOpen && before.run == run.ID {
				return err
			}
		}
		if draws == 0 {
			draws = a.ListDraws(p)
		}
		l, nodes, err := newListRecord(ctx, tx, record, p, draws, a.listError(p))
		if err != nil {
			return err
		}
		l.Run = run.ID
		if err := tx.Documents(auditSpace).Put(listKey(len(record.Lists)), nodes); err != nil {
			return err
		}
		record.Lists = append(record.Lists, *l)
		return tx.Documents(auditSpace).Put(auditKey, record)
	})
}

// newListRecord draws a list; nodes are its labels as a bitmap.
func newListRecord(
	ctx context.Context, tx *kv.Tx, of *auditRecord, p Promise, draws int, chance float64,
) (*listRecord, []byte, error) {
	var where index.Predicate = isUndecided
	if p.Kind == ListSuspects {
		where = Suspects(math.Inf(-1))
	}
	candidates, err := nodesWhere(ctx, tx, where)
	if err != nil {
		return nil, nil, err
	}
	each := func(do func(node uint32, waste float64)) error {
		return eachStored(ctx, tx, func(v kv.NodeID, label kv.Class, score float64) error {
			if p.Kind == ListSuspects {
				score = 1 - score
			}
			if candidates.Has(v) && label != kv.NoClass {
				do(uint32(v), score)
			}
			return nil
		})
	}
	found, err := audit.NewList(of.Seed, len(of.Lists), int64(draws), p.Share, chance, each)
	if err != nil {
		return nil, nil, err
	}
	if len(found.Nodes) == 0 {
		return nil, nil, fmt.Errorf("%w: %d draws can show no list of labels that nobody has decided on, and of which at "+
			"most %v are wasted; if there are such labels, ask for more draws, or for a larger share", ErrAudit, draws, p.Share)
	}
	l := &listRecord{Promise: p, Drawn: time.Now().Unix(), Size: int64(len(found.Nodes)), Draws: found.Draws}
	l.Forgiven = int(audit.Forgiven(l.Size, int64(len(l.Draws)), p.Share, chance))
	if l.Seq, err = decide.Newest(tx); err != nil {
		return nil, nil, err
	}
	for _, v := range l.Draws {
		label, err := tx.Label(kv.NodeID(v))
		if err != nil {
			return nil, nil, err
		}
		l.Labels = append(l.Labels, of.class(tx.Classes()[label]))
	}
	nodes, err := roaring.BitmapOf(found.Nodes...).ToBytes()
	return l, nodes, err
}

// class is the number of a class in the record, which has it from now on.
func (r *auditRecord) class(name string) kv.Class {
	k := slices.Index(r.Classes, name)
	if k < 0 {
		k = len(r.Classes)
		r.Classes = append(r.Classes, name)
	}
	return kv.Class(k)
}

// readLists reads people's answers to the draws of lists.
func (r *auditRecord) readLists(ctx context.Context, tx *kv.Tx) (lists []AuditList, err error) {
	for number, of := range r.Lists {
		l := AuditList{
			Promise: of.Promise, Drawn: time.Unix(of.Drawn, 0).UTC(), Labels: of.Size, Forgiven: of.Forgiven, number: number,
			run: of.Run,
		}
		good := decide.Wrong
		if of.Kind == ListTrusted {
			good = decide.Right
		}
		for i, v := range of.Draws {
			d, err := r.judge(ctx, tx, v, of.Labels[i], of.Seq)
			switch {
			case err != nil:
				return nil, err
			case d == nil:
				l.Wasted++
				continue
			case d.Judgement == decide.Unjudged:
				l.Open++
			case d.Judgement == good:
				l.Good++
			default:
				l.Wasted++
			}
			l.Draws = append(l.Draws, *d)
		}
		lists = append(lists, l)
	}
	return lists, nil
}

// Nodes reads which nodes are in a list, whatever has become of them since.
func (l *AuditList) Nodes(tx *kv.Tx) (kv.NodeSet, error) {
	var packed []byte
	if err := tx.Documents(auditSpace).Get(listKey(l.number), &packed); err != nil {
		return nil, err
	}
	nodes := roaring.New()
	if err := nodes.UnmarshalBinary(packed); err != nil {
		return nil, fmt.Errorf("audit: %w: %w", kv.ErrCorrupt, err)
	}
	set := bitset.New[kv.NodeID](tx.NumNodes())
	for i := nodes.Iterator(); i.HasNext(); {
		if v := i.Next(); int(v) < tx.NumNodes() {
			set.Add(kv.NodeID(v))
		}
	}
	return set, nil
}

// isUndecided is true of a node that nobody has decided on.
var isUndecided = index.IsNull{Property: decide.Column}

// hasUndecided reports whether at least one node of a list is undecided.
func hasUndecided(ctx context.Context, tx *kv.Tx, l *AuditList) (bool, error) {
	nodes, err := l.Nodes(tx)
	if err != nil {
		return false, err
	}
	undecided, err := nodesWhere(ctx, tx, isUndecided)
	if err != nil {
		return false, err
	}
	for v := range nodes.All() {
		if undecided.Has(v) {
			return true, nil
		}
	}
	return false, nil
}

// countLabelledFrom counts the labelled nodes from a node on.
func countLabelledFrom(tx *kv.Tx, first kv.NodeID) (int64, error) {
	if int(first) >= tx.NumNodes() {
		return 0, nil
	}
	labels := make([]kv.Class, tx.NumNodes()-int(first))
	err := tx.ReadClasses(kv.LabelColumn, kv.Range{First: first, End: kv.NodeID(tx.NumNodes())}, labels)
	return int64(countLabelled(labels)), err
}
