package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/figure"
	"github.com/graphcleaner/graphcleaner/shell/internal/picture"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// An Evaluation gathers the figures of a page while an evaluation runs. It holds a few numbers a method, and the scores of one repeat.
type Evaluation struct {
	classes  []string
	options  []Fact
	methods  map[string]*measuredMethod
	noise    map[classPair]int64 // nodes under test, of all repeats
	suspects [][]string          // of the first method in the first repeat
	first    string              // that method
}

// A classPair is the label of a node before and after the noise.
type classPair struct{ label, truth kv.Class }

// A measuredMethod is what a method says of the nodes under test, all repeats together.
type measuredMethod struct {
	scores      *figure.Histogram
	reliability reliability
	precision   [recallSteps + 1]float64 // at recall i/recallSteps, added up over repeats
	repeats     int                      // that had mislabels
}

const (
	recallSteps     = 100
	reliabilityBins = 10
)

// A reliability compares scores in bins of equal width with the share of mislabelled nodes.
type reliability struct {
	sums         [reliabilityBins]float64 // of scores
	nodes, wrong [reliabilityBins]int64
	improper     bool // a score was no probability
}

// add counts a score; NaN counts as 0, as for cleaner.Metrics.ECE.
func (r *reliability) add(score float64, wrong bool) {
	if math.IsNaN(score) {
		score = 0
	}
	if !(score >= 0 && score <= 1) {
		r.improper = true
		return
	}
	bin := min(int(score*reliabilityBins), reliabilityBins-1)
	r.sums[bin] += score
	r.nodes[bin]++
	if wrong {
		r.wrong[bin]++
	}
}

func (r *reliability) chart() template.HTML {
	c := figure.NewChart("Reliability of the score as a probability", "mean score", "share mislabelled")
	c.Line([][2]float64{{0, 0}, {1, 1}}, figure.Grey, true)
	var points [][2]float64
	for bin, nodes := range r.nodes {
		if nodes == 0 {
			continue
		}
		mean, share := r.sums[bin]/float64(nodes), float64(r.wrong[bin])/float64(nodes)
		points = append(points, [2]float64{mean, share})
		c.Dot(mean, share, figure.Blue, fmt.Sprintf("mean score %.3f, nodes: %d, of them mislabelled: %s", mean, nodes, wording.Percent(share)))
	}
	c.Line(points, figure.Blue, false)
	return template.HTML(c.HTML())
}

// NewEvaluation is of a store with some classes, and of an evaluation with some options.
func NewEvaluation(classes []string, options []Fact) *Evaluation {
	return &Evaluation{
		classes: slices.Clone(classes), options: options,
		methods: make(map[string]*measuredMethod), noise: make(map[classPair]int64),
	}
}

// Watch gathers what an evaluation with these options measures, beside those who watch already.
func (r *Evaluation) Watch(tx *kv.Tx, opt *cleaner.EvalOptions) {
	others := opt.OnMeasurement
	opt.OnMeasurement = func(m cleaner.Measurement) error {
		if others != nil {
			if err := others(m); err != nil {
				return err
			}
		}
		return r.add(tx, m)
	}
}

func (r *Evaluation) add(tx *kv.Tx, m cleaner.Measurement) error {
	if r.first == "" {
		r.first = m.Method
	}
	scores, wrong := make([]float64, len(m.Nodes)), make([]bool, len(m.Nodes))
	for i, v := range m.Nodes {
		scores[i], wrong[i] = m.Scores[v], m.Truth[v] != m.Labels[v]
		if m.Method == r.first {
			r.noise[classPair{label: m.Labels[v], truth: m.Truth[v]}]++
		}
	}
	method := r.methods[m.Method]
	if method == nil {
		method = &measuredMethod{scores: figure.NewHistogram()}
		r.methods[m.Method] = method
	}
	for i, score := range scores {
		mislabels := int64(0)
		if wrong[i] {
			mislabels = 1
		}
		method.scores.Add(score, 1, mislabels)
		method.reliability.add(score, wrong[i])
	}
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	method.addPrecision(scores, wrong, order)
	if m.Method == r.first && m.Repeat == 0 && len(r.suspects) == 0 {
		return r.addSuspects(tx, m, order)
	}
	return nil
}

// addPrecision adds the precision of the fewest highest scores, equal ones together, that reach each recall; order sorts
// scores downwards.
func (m *measuredMethod) addPrecision(scores []float64, wrong []bool, order []int) {
	all := 0
	for _, is := range wrong {
		if is {
			all++
		}
	}
	if all == 0 {
		return
	}
	m.repeats++
	hits, next := 0, 1
	for i, at := range order {
		if wrong[at] {
			hits++
		}
		if i+1 < len(order) && cmp.Compare(scores[order[i+1]], scores[at]) == 0 {
			continue
		}
		for ; next <= recallSteps && next*all <= hits*recallSteps; next++ {
			m.precision[next] += float64(hits) / float64(i+1)
		}
	}
}

// addSuspects lists the highest scores among the flagged nodes.
func (r *Evaluation) addSuspects(tx *kv.Tx, m cleaner.Measurement, order []int) error {
	for _, i := range order {
		v := m.Nodes[i]
		if !m.Flagged[v] {
			continue
		}
		if len(r.suspects) == listedSuspects {
			break
		}
		id, err := tx.ID(v)
		if err != nil {
			return err
		}
		verdict := "no"
		if m.Truth[v] != m.Labels[v] {
			verdict = "yes"
		}
		r.suspects = append(r.suspects, []string{
			strconv.Itoa(len(r.suspects) + 1), id, r.classes[m.Labels[v]], r.classes[m.Truth[v]],
			strconv.FormatFloat(m.Scores[v], 'f', 4, 64), verdict,
		})
	}
	return nil
}

// Page is the page of a finished evaluation, with a table of its metrics.
func (r *Evaluation) Page(title string, evaluation *cleaner.Evaluation, metrics *Table) *Page {
	best := evaluation.Methods[0]
	p := &Page{
		Title: title,
		Headline: []Fact{
			{"F1 of " + best.Name, fmt.Sprintf("%.3f", best.Mean.F1)},
			{"MCC", fmt.Sprintf("%.3f", best.Mean.MCC)},
			{"P@T", fmt.Sprintf("%.3f", best.Mean.PAtT)},
			{"precision of the flags", fmt.Sprintf("%.3f", best.Mean.Precision)},
			{"mislabels found", fmt.Sprintf("%.3f", best.Mean.Recall)},
			{"repeats", strconv.Itoa(len(best.Repeats))},
		},
		Options: slices.Clone(r.options),
	}
	p.Sections = append(p.Sections, section{
		Title: "Metrics",
		Note: "Mean and standard deviation over the repeats, of the nodes under test; estimated_rate and true_rate of all labelled nodes. " +
			"p is that of a paired t-test against the first method.",
		Table: metrics,
	}, r.precisionSection(evaluation))
	for _, method := range evaluation.Methods {
		p.Options = append(p.Options, Fact{"method", method.Name})
		if results := r.methods[method.Name]; results != nil {
			p.Sections = append(p.Sections, results.section(method))
		}
	}
	p.Sections = append(p.Sections, r.noiseSection())
	suspects := section{Title: "Top suspects", Note: "Flagged by " + r.first + " in the first repeat."}
	if len(r.suspects) == 0 {
		suspects.Note = "No node was flagged by " + r.first + " in the first repeat."
	} else {
		suspects.Table = &Table{
			Header: []string{"", "id", "given label", "true label", "score", "mislabelled"}, Rows: r.suspects,
		}
	}
	p.Sections = append(p.Sections, suspects)
	return p
}

func (r *Evaluation) precisionSection(evaluation *cleaner.Evaluation) section {
	c := figure.NewChart("Precision and recall", "recall", "precision")
	for i, method := range evaluation.Methods {
		results := r.methods[method.Name]
		if results == nil || results.repeats == 0 {
			continue
		}
		color, dashed := picture.Colors[i%len(picture.Colors)], i >= len(picture.Colors)
		var points [][2]float64
		for step := 1; step <= recallSteps; step++ {
			points = append(points, [2]float64{float64(step) / recallSteps, results.precision[step] / float64(results.repeats)})
		}
		c.Line(points, color, dashed)
		c.Dot(method.Mean.Recall, method.Mean.Precision, color,
			fmt.Sprintf("flags of %s: precision %.3f, recall %.3f", method.Name, method.Mean.Precision, method.Mean.Recall))
		c.Legend(color, fmt.Sprintf("%s, average precision %.3f", method.Name, method.Mean.AveragePrecision), dashed)
	}
	return section{
		Title:  "Precision and recall",
		Note:   "Lines: the highest scores, mean precision over the repeats at each recall. Dots: what the methods flag.",
		Charts: []template.HTML{template.HTML(c.HTML())},
	}
}

// section shows the scores of a method.
func (m *measuredMethod) section(result cleaner.MethodResult) section {
	s := section{Title: "Scores of " + result.Name, Charts: []template.HTML{template.HTML(m.scores.Chart("Scores", math.NaN()))}}
	if m.reliability.improper {
		s.Note = "These scores are no probabilities."
		return s
	}
	s.Note = fmt.Sprintf("As probabilities: expected calibration error %.3f, Brier score %.3f.", result.Mean.ECE, result.Mean.Brier)
	s.Charts = append(s.Charts, m.reliability.chart())
	return s
}

// noiseSection shows which labels the noise gave.
func (r *Evaluation) noiseSection() section {
	totals, confused := make([]float64, len(r.classes)), make([]float64, len(r.classes))
	for pair, count := range r.noise {
		totals[pair.truth] += float64(count)
		if pair.label != pair.truth {
			confused[pair.label] += float64(count)
			confused[pair.truth] += float64(count)
		}
	}
	heat := figure.HeatMap("P(given label | true class), true classes across", r.classes, confused, func(label, truth int) float64 {
		if totals[truth] == 0 {
			return math.NaN()
		}
		return float64(r.noise[classPair{label: kv.Class(label), truth: kv.Class(truth)}]) / totals[truth]
	})
	return section{
		Title: "Transition matrix",
		Note:  "Of the noise that was injected, among the nodes under test of all repeats.",
		Heat:  template.HTML(heat),
	}
}
