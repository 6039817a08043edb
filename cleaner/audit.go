package cleaner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/audit"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// An Audit is labels that chance chose for people to look at, and what their answers say of all labels. The answers are
// decisions, made anywhere. See DrawAudit and ReadAudit.
type Audit struct {
	Started time.Time // to the second, UTC
	Labels  int64     // that the rate is of: those with a score at the first draw, and those that people had judged before
	Since   int64     // labelled nodes that came later: the rate is not of them

	Draws []AuditDraw // in the order in which they are looked at

	// Decided counts the draws with an answer, also one that settles nothing. The rate rests on the first Look draws:
	// 0 before the first look. Right and Wrong count the answers among them, the others are unsettled.
	Decided, Look, Right, Wrong int
	NextLook                    int // how many draws with an answer the next look needs; Look if there is no more

	// Rate is the share of wrong labels as they came, and Low and High are an interval for it. In at least AuditLevel
	// of audits, the intervals of all looks contain the true share. NaN before the first look. Rate is NaN also if less
	// than half of the Look draws are Right or Wrong: scores do not follow such a look.
	Rate, Low, High float64

	// Found counts the labels that people have found wrong, drawn or not.
	Found int64

	// Behind says that the scores of the last run do not follow the look yet, as they do after Rescore.
	Behind bool

	nodes kv.NodeID // of the store at the first draw
	look  string    // names the answers of the look; "" if there is no Rate

	Classes []AuditedClass // of the first Look draws, those with answers, in the order of the store

	Lists []AuditList // in the order in which they were drawn; Rate is not of their draws
}

// AuditLevel is the chance that the intervals of all looks of an audit contain the true share.
const AuditLevel = audit.Level

// MostAuditDraws is how many labels an audit draws at most.
const MostAuditDraws = audit.MostDraws

// An AuditDraw is a drawn label.
type AuditDraw struct {
	Node      kv.NodeID
	Label     string // at the first draw
	Judgement decide.Judgement
}

// An AuditedClass holds the results of an audit for the labels of a class.
type AuditedClass struct {
	Class           string
	Right, Wrong    int
	Rate, Low, High float64 // of this class alone, with AuditLevel; NaN if too few draws have this label
}

// Missing counts the draws that the next look needs and nobody has answered.
func (a *Audit) Missing() (count int) {
	for _, d := range a.Draws[:min(a.NextLook, len(a.Draws))] {
		if d.Judgement == decide.Unjudged {
			count++
		}
	}
	return count
}

// Open returns the draws that nobody has answered, in the order in which a person is asked for them: those of the lists
// that are neither kept nor failed, and then those that each look needs. Among the draws of a list or a look, each
// person has an order of their own, so that two seldom see the same draw at once.
func (a *Audit) Open(who string) (open []AuditDraw) {
	seed := fnv.New64a()
	fmt.Fprint(seed, who)
	place := func(d AuditDraw) uint64 { return rand.NewPCG(seed.Sum64(), uint64(d.Node)).Uint64() }
	seen := map[kv.NodeID]bool{}
	add := func(draws []AuditDraw) {
		from := len(open)
		for _, d := range draws {
			if d.Judgement == decide.Unjudged && !seen[d.Node] {
				seen[d.Node] = true
				open = append(open, d)
			}
		}
		slices.SortFunc(open[from:], func(d, e AuditDraw) int { return cmp.Compare(place(d), place(e)) })
	}
	for i := range a.Lists {
		if l := &a.Lists[i]; !l.IsKept() && !l.HasFailed() {
			add(l.Draws)
		}
	}
	for from, look := 0, a.NextLook; from < len(a.Draws); from, look = look, 2*look {
		add(a.Draws[from:min(look, len(a.Draws))])
	}
	return open
}

// Left is how many wrong labels are left by the rate: those that people have found are not. It is NaN without a Rate.
func (a *Audit) Left() float64 { return max(0, float64(a.Rate*float64(a.Labels))-float64(a.Found)) }

// Where an audit is kept.
const (
	auditSpace = "audits"
	auditKey   = "last"
)

// An auditRecord is an audit on disk.
type auditRecord struct {
	Started           int64 // Unix seconds
	Seed              uint64
	Nodes             uint32 // nodes of the store at the first draw
	Seq               int64  // newest entry of the history then
	Known, KnownWrong int64  // labels that people had judged, which are not drawn
	Classes           []string
	Open              int // draws that people are asked for

	// The order of draws, and the facts about each.
	audit.Sample
	Labels []kv.Class // numbers in Classes

	Lists []listRecord
}

// ErrAudit is returned for a draw that cannot be.
var ErrAudit = errors.New("cleaner: no labels to draw")

// DrawAudit asks people for the first size labels of an order that chance fixes. The first call makes the order by
// seed, from the labels that have a score and no judgement by people; later calls ask for more of it, never for fewer.
// Labels that ReadAudit leaves out do not count in size. Every label has the same chance, in strata of equal size by
// score. It returns ErrNotCleaned if the store was never cleaned, and ErrAudit if there is no such label, or size is
// not from 1 to MostAuditDraws.
func DrawAudit(ctx context.Context, s *kv.Store, size int, seed uint64) error {
	if size < 1 || size > MostAuditDraws {
		return fmt.Errorf("%w: a sample of %d, want from 1 to %d", ErrAudit, size, MostAuditDraws)
	}
	return s.Update(func(tx *kv.Tx) error {
		if _, err := lastRun(tx); err != nil {
			return err
		}
		record, err := readAuditRecord(tx)
		if errors.Is(err, kv.ErrNotFound) {
			record, err = newAuditRecord(ctx, tx, seed)
		}
		if err != nil {
			return err
		}
		open := 0
		for asked := 0; asked < size && open < len(record.Draws); open++ {
			d, err := record.judge(ctx, tx, record.Draws[open].Node, record.Labels[open], record.Seq)
			if err != nil {
				return err
			}
			if d != nil {
				asked++
			}
		}
		if open <= record.Open {
			return nil
		}
		record.Open = open
		return tx.Documents(auditSpace).Put(auditKey, record)
	})
}

func readAuditRecord(tx *kv.Tx) (*auditRecord, error) {
	r := new(auditRecord)
	err := tx.Documents(auditSpace).Get(auditKey, r)
	return r, err
}

// newAuditRecord draws the order.
func newAuditRecord(ctx context.Context, tx *kv.Tx, seed uint64) (r *auditRecord, err error) {
	if _, err := lastRun(tx); err != nil {
		return nil, err
	}
	r = &auditRecord{
		Started: time.Now().Unix(), Seed: seed, Nodes: uint32(tx.NumNodes()), Classes: slices.Clone(tx.Classes()),
	}
	if r.Seq, err = decide.Newest(tx); err != nil {
		return nil, err
	}
	right, wrong, err := countJudgements(ctx, tx, kv.NodeID(r.Nodes))
	if err != nil {
		return nil, err
	}
	r.Known, r.KnownWrong = right+wrong, wrong
	settled, err := nodesWhere(ctx, tx, index.And{Terms: []index.Predicate{
		index.Not{Term: index.IsNull{Property: decide.Column}},
		index.Compare{Property: decide.Column, Op: index.Ne, Value: kv.ValueOf(decide.Unsure.String())},
		index.IsNull{Property: decide.DisputedColumn},
	}})
	if err != nil {
		return nil, err
	}
	each := func(do func(node uint32, score float64)) error {
		return eachStored(ctx, tx, func(v kv.NodeID, label kv.Class, score float64) error {
			if !settled.Has(v) && label != kv.NoClass {
				do(uint32(v), score)
			}
			return nil
		})
	}
	sample, err := audit.New(seed, each)
	if err != nil {
		return nil, err
	}
	if r.Sample = *sample; len(r.Draws) == 0 {
		return nil, fmt.Errorf("%w: every label with a score is judged by people, or there is none", ErrAudit)
	}
	for _, d := range r.Draws {
		label, err := tx.Label(kv.NodeID(d.Node))
		if err != nil {
			return nil, err
		}
		r.Labels = append(r.Labels, label)
	}
	return r, nil
}

// countJudgements counts the nodes, of the first so many, whose labels from before all decisions people have found
// right or wrong.
func countJudgements(ctx context.Context, tx *kv.Tx, nodes kv.NodeID) (right, wrong int64, err error) {
	changes, err := decide.ChangesAfter(ctx, tx, 0)
	for v, c := range changes {
		switch {
		case v >= nodes || c.Was.Label == "" || c.Is.Label == "" || !c.Is.IsTrusted():
		case c.Is.Label == c.Was.Label:
			right++
		default:
			wrong++
		}
	}
	return right, wrong, err
}

// ReadAudit tells where the audit of a store stands; nil before the first draw, and without a run. Draws whose node was
// removed, or whose label something other than a decision has changed, are left out.
func ReadAudit(ctx context.Context, tx *kv.Tx) (*Audit, error) {
	r, of, err := readAnswered(ctx, tx)
	if of == nil || err != nil {
		return nil, err
	}
	a, sample := of.Audit, of.sample
	a.Labels = sample.Labels() + r.Known
	right, found, err := countJudgements(ctx, tx, a.nodes)
	if err != nil {
		return nil, err
	}
	a.Found, a.Rate, a.Low, a.High = found, math.NaN(), math.NaN(), math.NaN()
	if a.Look > 0 {
		e := of.estimate
		all := float64(a.Labels)
		ofAll := func(rate float64) float64 {
			return (float64(rate*float64(sample.Labels())) + float64(r.KnownWrong)) / all
		}
		least, most := float64(a.Found)/all, 1-float64(right)/all // the seen labels are certain
		within := func(rate float64) float64 { return min(max(rate, least), most) }
		a.Rate, a.Low, a.High = within(ofAll(e.Rate)), within(ofAll(e.Low)), within(ofAll(e.High))
		for k, g := range sample.ByGroup(of.answers, of.labels, a.Look, len(r.Classes)) {
			if g.Answered > 0 {
				a.Classes = append(a.Classes, AuditedClass{
					Class: r.Classes[k], Right: g.Answered - g.Wrong, Wrong: g.Wrong, Rate: g.Rate, Low: g.Low, High: g.High,
				})
			}
		}
	}
	if a.Lists, err = r.readLists(ctx, tx); err != nil {
		return nil, err
	}
	a.Since, err = countLabelledFrom(tx, kv.NodeID(r.Nodes))
	return a, err
}

// readAnswered reads the audit of a store; nil before the first draw, or if the runs were lost.
func readAnswered(ctx context.Context, tx *kv.Tx) (r *auditRecord, of *answeredAudit, err error) {
	if r, err = readAuditRecord(tx); err == nil {
		of, err = r.answered(ctx, tx)
	}
	if errors.Is(err, kv.ErrNotFound) || errors.Is(err, ErrNotCleaned) {
		return nil, nil, nil
	}
	return r, of, err
}

// ReadLook returns Audit.Look and Audit.Behind, 0 and false before the first draw. It reads the draws alone, as it is
// asked around every decision.
func ReadLook(ctx context.Context, tx *kv.Tx) (look int, behind bool, err error) {
	_, of, err := readAnswered(ctx, tx)
	if of == nil || err != nil {
		return 0, false, err
	}
	return of.Look, of.Behind, nil
}

// An answeredAudit is an audit without the results of its answers, and these.
type answeredAudit struct {
	*Audit
	sample   *audit.Sample      // without the draws that left
	answers  []decide.Judgement // of Draws
	labels   []int              // of Draws, numbers in auditRecord.Classes
	estimate audit.Estimate     // of the look, if there is one
}

// answered reads what people say of the draws that are asked for, and how far they are looked at.
func (r *auditRecord) answered(ctx context.Context, tx *kv.Tx) (*answeredAudit, error) {
	run, err := lastRun(tx)
	if err != nil {
		return nil, err
	}
	removed, err := tx.Removed()
	if err != nil {
		return nil, err
	}
	a := &answeredAudit{
		Audit:  &Audit{Started: time.Unix(r.Started, 0).UTC(), nodes: kv.NodeID(r.Nodes)},
		sample: &audit.Sample{Sizes: r.Sizes},
	}
	for i, d := range r.Draws {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if i >= r.Open && !removed.Has(kv.NodeID(d.Node)) { // nobody is asked for it yet
			a.sample.Draws = append(a.sample.Draws, d)
			continue
		}
		asked, err := r.judge(ctx, tx, d.Node, r.Labels[i], r.Seq)
		if err != nil {
			return nil, err
		}
		if asked == nil {
			continue
		}
		if asked.Judgement != decide.Unjudged {
			a.Decided++
		}
		a.Draws = append(a.Draws, *asked)
		a.sample.Draws = append(a.sample.Draws, d)
		a.answers = append(a.answers, asked.Judgement)
		a.labels = append(a.labels, int(r.Labels[i]))
	}
	a.Look = a.sample.Look(a.answers)
	if a.NextLook = a.sample.NextLook(a.Look); a.Look > 0 {
		a.estimate = a.sample.Estimate(a.answers, a.Look)
		a.Right, a.Wrong = a.estimate.Right, a.estimate.Wrong
	}
	if 2*(a.Right+a.Wrong) >= a.Look && a.Look > 0 {
		a.look = nameOfLook(r.Started, r.Seed, a.Draws[:a.Look])
	}
	a.Behind = !run.follows(a.look)
	return a, nil
}

// nameOfLook is a short name that changes with the answers.
func nameOfLook(started int64, seed uint64, draws []AuditDraw) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v", []any{started, seed, draws}))
	return hex.EncodeToString(sum[:12])
}

// judge reads what people say of the label that a node had when entry seq of the history was the newest. It returns nil
// of a node that was removed, or whose label something other than a decision has changed.
func (r *auditRecord) judge(
	ctx context.Context, tx *kv.Tx, node uint32, label kv.Class, seq int64,
) (*AuditDraw, error) {
	removed, err := tx.Removed()
	if err != nil || removed.Has(kv.NodeID(node)) {
		return nil, err
	}
	d := &AuditDraw{Node: kv.NodeID(node), Label: r.Classes[label]}
	if d.Judgement, err = decide.JudgementAfter(ctx, tx, d.Node, d.Label, seq); err != nil ||
		d.Judgement != decide.Unjudged {
		return d, err
	}
	now, err := tx.Label(d.Node)
	if err != nil || now == kv.NoClass || tx.Classes()[now] != d.Label {
		return nil, err
	}
	return d, nil
}
