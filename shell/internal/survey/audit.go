package survey

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// BlindOptions is how many classes a blind card offers at most.
const BlindOptions = 4

// BlindOptions are the label, which must be one of an audit, and the likeliest others. The order is the same whenever
// the node is shown, and says nothing.
func (d *Dossier) BlindOptions() []string {
	all := append([]string{d.Label, d.Suggestion}, d.Choices...)
	options := unique(slices.DeleteFunc(all, func(class string) bool { return class == "" }))
	options = slices.Sorted(slices.Values(options[:min(len(options), BlindOptions)]))
	random := rand.New(rand.NewPCG(uint64(d.Node), 0))
	random.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
	return options
}

// BlindNeighbors are the neighbours for and against the label, by id.
func (d *Dossier) BlindNeighbors() []Neighbor {
	all := slices.Concat(d.Against, d.For)
	slices.SortFunc(all, func(a, b Neighbor) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// A Vote is how many neighbours have a label, "" if they have none.
type Vote struct {
	Label string
	Count int
}

// Votes are those of all neighbours, the most first.
func (d *Dossier) Votes() (votes []Vote) {
	for class, count := range d.Ego.Votes {
		name := ""
		if class != picture.None {
			name = d.Ego.Classes[class]
		}
		votes = append(votes, Vote{name, count})
	}
	slices.SortFunc(votes, func(a, b Vote) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Label, b.Label)) })
	return votes
}

// An AuditReport is where an audit stands, for programs; null is not known.
type AuditReport struct {
	Drawn   int `json:"drawn"`
	Decided int `json:"decided"` // draws with an answer, also one that settles nothing
	Look    int `json:"look"`
	// of the first draws, so many as Look says; those neither right nor wrong are unsettled
	Right     int          `json:"right"`
	Wrong     int          `json:"wrong"`
	Rate      *float64     `json:"rate"`
	Low       *float64     `json:"low"`
	High      *float64     `json:"high"`
	Level     float64      `json:"level"`
	Estimator string       `json:"estimator"`
	Classes   []ClassAudit `json:"by_class"`
	Lists     []ListAudit  `json:"lists"` // the newest for each promise
}

// A ListAudit is where the draws of a list stand. Kept means that they show its promise.
type ListAudit struct {
	Promise  string `json:"promise"`
	Labels   int64  `json:"labels"`
	Drawn    int    `json:"drawn"`
	Good     int    `json:"good"`
	Wasted   int    `json:"wasted"`
	Open     int    `json:"open"`
	Forgiven int    `json:"forgiven"`
	Kept     bool   `json:"kept"`
}

// A ClassAudit has the results of an audit for a class.
type ClassAudit struct {
	Class   string   `json:"class"`
	Decided int      `json:"decided"` // draws that are right or wrong
	Wrong   int      `json:"wrong"`
	Rate    *float64 `json:"rate"`
	Low     *float64 `json:"low"`
	High    *float64 `json:"high"`
}

// ReportAudit reports where an audit stands; a is nil before the first draw.
func ReportAudit(a *cleaner.Audit) AuditReport {
	r := AuditReport{Level: cleaner.AuditLevel, Estimator: "stratified", Classes: []ClassAudit{}, Lists: []ListAudit{}}
	if a == nil {
		return r
	}
	known := func(x float64) *float64 {
		if math.IsNaN(x) {
			return nil
		}
		return &x
	}
	r.Drawn, r.Decided, r.Look, r.Right, r.Wrong = len(a.Draws), a.Decided, a.Look, a.Right, a.Wrong
	r.Rate, r.Low, r.High = known(a.Rate), known(a.Low), known(a.High)
	for _, of := range a.Classes {
		r.Classes = append(r.Classes,
			ClassAudit{of.Class, of.Right + of.Wrong, of.Wrong, known(of.Rate), known(of.Low), known(of.High)})
	}
	for i := range a.Lists {
		if l := &a.Lists[i]; l == a.List(l.Promise) {
			r.Lists = append(r.Lists,
				ListAudit{wording.Promise(l.Promise), l.Labels, len(l.Draws), l.Good, l.Wasted, l.Open, l.Forgiven, l.IsKept()})
		}
	}
	return r
}
