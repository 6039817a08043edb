package web

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/figure"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// An overview is the store at a glance.
type overview struct {
	Nodes    int64 `json:"nodes"`
	Edges    int64 `json:"edges"`
	Labelled int64 `json:"labelled"`

	// Counting says that the numbers are those before the last changes, or not there yet: they are being counted.
	Counting bool `json:"counting,omitempty"`

	Classes   []class     `json:"classes"`
	Confused  []confused  `json:"confused"` // the most frequent first
	Pairs     int         `json:"pairs"`    // of confused classes in all
	Runs      []pastRun   `json:"runs"`     // the last one first
	Agreement []agreement `json:"agreement"`
	People    []person    `json:"people"`
	Histogram []bin       `json:"histogram"`
	Threshold cut         `json:"threshold"`
	Expected  float64     `json:"expected_wrong"` // of all scored nodes; 0 where scores are no chances
	Notices   []string    `json:"notices,omitempty"`

	Heat    string   `json:"-"`
	Chart   string   `json:"-"`
	LeftOut []string `json:"-"` // classes that the heat map has no room for

	ReadOnly bool `json:"-"` // nobody can start anything

	run *cleaner.Run // that the numbers are of, nil without one
}

// A class is what is known of a class. Null is unknown.
type class struct {
	Class        string   `json:"class"`
	Nodes        int64    `json:"nodes"`
	Share        *float64 `json:"share"`           // of all labels
	Homophily    *float64 `json:"homophily"`       // the share of the labelled neighbours of its nodes that have the same label
	Confidence   *float64 `json:"self_confidence"` // the mean predicted probability of the label
	Suspects     int64    `json:"suspects"`
	SuspectShare *float64 `json:"suspect_share"`
	Wrong        *float64 `json:"mislabel_rate"` // as the last run estimates

	Color int `json:"-"`
}

// A confused is a pair of classes, of which one is given in place of the other.
type confused struct {
	Given       string   `json:"given"`
	True        string   `json:"true"`
	Probability *float64 `json:"probability"` // of the given label, where the other one is true
	Nodes       int64    `json:"count"`

	Colors [2]int `json:"-"`
}

// A pastRun is a run of clean.
type pastRun struct {
	Run       int64    `json:"run"`
	Started   string   `json:"started"`
	Preset    string   `json:"preset"`
	Hops      int      `json:"hops"`
	Scored    int64    `json:"scored"`
	Suspects  int64    `json:"suspects"`
	Threshold float64  `json:"threshold"`
	Wrong     *float64 `json:"mislabel_rate"`
	Low       *float64 `json:"rate_low"`
	High      *float64 `json:"rate_high"`
}

// An agreement says how often two people say the same of a node.
type agreement struct {
	A     string   `json:"a"`
	B     string   `json:"b"`
	About string   `json:"about"` // verdict, or label
	Nodes int64    `json:"nodes"` // that both have judged
	Same  int64    `json:"same"`
	Kappa *float64 `json:"kappa"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

// A person has decided.
type person struct {
	Who     string `json:"who"`
	Entries int64  `json:"decisions"`
	Undone  int64  `json:"taken_back"`
	Accept  int64  `json:"accept"`
	Reject  int64  `json:"reject"`
	Relabel int64  `json:"relabel"`
	Unlabel int64  `json:"unlabel"`
	Unsure  int64  `json:"unsure"`
}

// mostPairs bounds the pairs of classes that are shown: the statement noise has all.
const mostPairs = 50

// overview shows the store. Programs wait until it is counted.
func (s *Server) overview(r *http.Request) (answer, error) {
	ctx := r.Context()
	threshold := math.NaN()
	if text := r.FormValue("threshold"); r.Form.Has("threshold") {
		var err error
		if threshold, err = strconv.ParseFloat(text, 64); err != nil || !(threshold >= 0 && threshold <= 1) {
			return answer{}, badRequest("The threshold is %q: want a number from 0 to 1.", text)
		}
	}
	latest, stale, err := s.glance.at(ctx, s.Store, wantsJSON(r), s.countOverview)
	if err != nil {
		return answer{}, err
	}
	var view overview
	if latest != nil {
		view = *latest
	}
	view.Counting, view.ReadOnly = stale, s.ReadOnly
	err = s.snapshot(func(tx *kv.Tx) (err error) {
		view.Nodes, view.Edges = int64(tx.NumPresent()), tx.NumEdges()
		if view.People, err = s.people.read(ctx, tx); err != nil {
			return err
		}
		if view.Runs, err = runsOf(ctx, tx); err != nil || view.run == nil || math.IsNaN(threshold) {
			return err
		}
		view.Threshold, err = view.cutAt(ctx, tx, threshold)
		view.Chart = chartOf(view.Histogram, threshold)
		return err
	})
	return answer{page: "overview", title: "Overview", view: view}, err
}

// keepOverview counts the overview when somebody has asked for it, until ctx ends.
func (s *Server) keepOverview(ctx context.Context) {
	var told *overview // a request may have counted before
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.glance.wanted:
		}
		if s.glance.last() != nil {
			s.activity.wait(ctx)
		}
		if now, err := s.glance.count(ctx, s.Store, s.countOverview); err == nil && now != told {
			told = now
			s.events.send("overview", struct{}{})
		}
	}
}

// countOverview reads all of the store.
func (s *Server) countOverview(ctx context.Context, tx *kv.Tx) (*overview, error) {
	view := &overview{Confused: []confused{}, Agreement: []agreement{}, Classes: []class{}, Histogram: []bin{}}
	run, err := query.LastRun(tx)
	if err != nil && !errors.Is(err, query.ErrNotCleaned) {
		return nil, err
	}
	view.run = run
	about := survey.New(tx, kv.Both, s.Columns)
	if err := view.countClasses(ctx, tx, about); err != nil {
		return nil, err
	}
	if err := view.compare(ctx, tx); err != nil {
		return nil, err
	}
	if run == nil {
		return view, nil
	}
	if err := view.countScores(ctx, tx); err != nil {
		return nil, err
	}
	view.Chart = chartOf(view.Histogram, view.Threshold.Threshold)
	if err := cleaner.CheckTransition(tx, s.Query.MemoryBudget); err != nil {
		view.Notices = append(view.Notices, "The transition matrix is not shown: "+err.Error()+".")
		return view, nil
	}
	result, err := query.Query(ctx, tx, s.Query, "noise")
	if err != nil {
		return nil, err
	}
	for row, err := range result.Rows() {
		if err != nil {
			return nil, err
		}
		if view.Pairs++; view.Pairs <= mostPairs {
			given, truth := row.Values[0].String(), row.Values[1].String()
			view.Confused = append(view.Confused, confused{
				Given: given, True: truth, Probability: known(row.Values[2]), Nodes: row.Values[4].Int(),
				Colors: [2]int{about.ClassPlace(given), about.ClassPlace(truth)},
			})
		}
	}
	view.drawHeat()
	return view, nil
}

// known is a number, nil if it is null.
func known(value kv.Value) *float64 {
	if value.IsNull() {
		return nil
	}
	return finite(value.Float())
}

// countClasses counts what each class has.
func (o *overview) countClasses(ctx context.Context, tx *kv.Tx, about *survey.Surveyor) error {
	counted, err := cleaner.Statistics(ctx, tx)
	if err != nil {
		return err
	}
	o.Labelled = counted.Labels
	for _, remark := range []string{counted.NoConfidence, counted.Warning()} {
		if remark != "" {
			o.Notices = append(o.Notices, wording.Sentence(remark)+".")
		}
	}
	for _, i := range query.ClassOrder(tx.Classes()) {
		c := counted.Classes[i]
		o.Classes = append(o.Classes, class{
			Class: c.Class, Nodes: c.Nodes, Share: finite(float64(c.Nodes) / float64(counted.Labels)), Homophily: finite(c.Homophily),
			Confidence: finite(c.SelfConfidence), Suspects: c.Suspects, SuspectShare: finite(float64(c.Suspects) / float64(c.Nodes)),
			Wrong: finite(c.MislabelRate), Color: about.ClassPlace(c.Class),
		})
	}
	return nil
}

// compare compares what people say.
func (o *overview) compare(ctx context.Context, tx *kv.Tx) error {
	pairs, err := decide.Agreement(ctx, tx)
	for _, p := range pairs {
		for _, k := range []struct {
			about string
			decide.Kappa
		}{{"verdict", p.Verdicts}, {"label", p.Labels}} {
			o.Agreement = append(o.Agreement, agreement{p.A, p.B, k.about, k.Nodes, k.Same, finite(k.Value), finite(k.Low), finite(k.High)})
		}
	}
	return err
}

// runsOf are the runs, the last one first.
func runsOf(ctx context.Context, tx *kv.Tx) ([]pastRun, error) {
	runs, err := query.CountedRuns(ctx, tx)
	shown := []pastRun{}
	for _, run := range slices.Backward(runs) {
		of := pastRun{
			Run: run.ID, Started: run.Started.UTC().Format(time.RFC3339), Preset: string(run.Preset), Hops: run.Hops, Scored: run.Scored,
			Suspects: run.Suspects, Threshold: run.Threshold, Wrong: finite(run.MislabelRate),
		}
		if run.HasInterval() {
			of.Low, of.High = finite(run.RateLow), finite(run.RateHigh)
		}
		shown = append(shown, of)
	}
	return shown, err
}

// A tally counts the decisions of each person. The history only grows: what was counted stays counted.
type tally struct {
	mu     sync.Mutex
	seq    int64 // the last entry that was counted
	people map[string]*person
}

// read counts the entries since the last call, and returns all people, those with most decisions first.
func (t *tally) read(ctx context.Context, tx *kv.Tx) ([]person, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	newest, err := decide.Newest(tx)
	if err != nil {
		return nil, err
	}
	if t.people == nil {
		t.people = map[string]*person{}
	}
	for d, err := range (decide.Entries{First: t.seq + 1, Last: newest}).Read(ctx, tx) {
		if err != nil {
			return nil, err
		}
		t.add(d)
		t.seq = d.Seq
	}
	people := []person{}
	for _, p := range t.people {
		people = append(people, *p)
	}
	slices.SortFunc(people, func(a, b person) int {
		if a.Entries != b.Entries {
			return int(b.Entries - a.Entries)
		}
		return strings.Compare(a.Who, b.Who)
	})
	return people, nil
}

func (t *tally) add(d decide.Decision) {
	p := t.people[d.Who]
	if p == nil {
		p = &person{Who: d.Who}
		t.people[d.Who] = p
	}
	if d.Undoes != 0 {
		p.Undone++
		return
	}
	p.Entries++
	switch d.Kind {
	case decide.Accept:
		p.Accept++
	case decide.Reject:
		p.Reject++
	case decide.Relabel:
		p.Relabel++
	case decide.Unlabel:
		p.Unlabel++
	case decide.Unsure:
		p.Unsure++
	}
}

// drawHeat draws the transition matrix.
func (o *overview) drawHeat() {
	run := o.run
	weight := make([]float64, len(run.Classes))
	for _, cell := range run.Joint.Cells {
		if cell.Row != cell.Column {
			weight[cell.Row] += cell.Value
			weight[cell.Column] += cell.Value
		}
	}
	o.Heat = figure.HeatMap("Each row is a given label, each column a true class", run.Classes, weight, run.Transition.At)
	drawn := figure.HeatMapClasses(run.Classes, weight)
	for _, i := range query.ClassOrder(run.Classes) {
		if !slices.Contains(drawn, i) {
			o.LeftOut = append(o.LeftOut, run.Classes[i])
		}
	}
}
