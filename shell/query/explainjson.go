package query

import (
	"encoding/json"
	"math"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A jsonFloat is null in JSON where it is no finite number.
type jsonFloat float64

// MarshalJSON writes the number or null.
func (f jsonFloat) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
		return []byte("null"), nil
	}
	return []byte(Exact(kv.FloatValue(float64(f)), kv.KindNull)), nil
}

type jsonShare struct {
	Class string    `json:"class"`
	Share jsonFloat `json:"share"`
}

type jsonVote struct {
	Class string    `json:"class"`
	Count int64     `json:"count"`
	Share jsonFloat `json:"share"`
}

type jsonFeature struct {
	Name  string    `json:"name"`
	Value jsonFloat `json:"value"`
	Error float64   `json:"error,omitempty"` // standard error, where diagonals were sampled

	// Where the value lies among rightly and wrongly labelled fitting nodes, in percent; without a run there are none.
	AmongRight *float64 `json:"percentile_among_right,omitempty"`
	AmongWrong *float64 `json:"percentile_among_wrong,omitempty"`
}

type jsonScore struct {
	Class string    `json:"class"`
	Score jsonFloat `json:"score"`
}

// A jsonHop is what the nodes at the end of walks of one length say.
type jsonHop struct {
	Hop     int            `json:"hop"`
	Classes []jsonHopClass `json:"classes"`
}

type jsonHopClass struct {
	Class       string    `json:"class"`
	Nodes       int64     `json:"nodes"`
	Labels      jsonFloat `json:"labels"`
	Predictions jsonFloat `json:"predictions"`
}

type jsonOpponent struct {
	ID         any       `json:"id"`
	Label      *string   `json:"label"`
	Predicted  *string   `json:"predicted"`
	Confidence jsonFloat `json:"confidence"`
	OfGiven    jsonFloat `json:"of_given"` // predicted probability of the label that it speaks against
	Score      jsonFloat `json:"score"`
	Weight     jsonFloat `json:"weight"`
	Against    jsonFloat `json:"against"`
}

type jsonDecision struct {
	Seq      int64     `json:"seq"`
	Step     int64     `json:"step"`
	Time     time.Time `json:"time"`
	Decision string    `json:"decision"`
	From     *string   `json:"from"`
	To       *string   `json:"to"`
	Who      *string   `json:"who"`
	Why      *string   `json:"why"`
	Run      *int64    `json:"run"`
	Score    jsonFloat `json:"score"`
	Undoes   *int64    `json:"undoes"`
}

type jsonExplanation struct {
	ID             any           `json:"id"` // as elsewhere: a number where all ids are integers
	Label          *string       `json:"label"`
	Suggested      *string       `json:"suggested"`
	Score          jsonFloat     `json:"score"`
	ScoredAs       *string       `json:"scored_as"` // the label that score is of
	Confidence     jsonFloat     `json:"confidence"`
	Degree         int           `json:"degree"`
	Split          *string       `json:"split"`
	Run            *int64        `json:"run"`
	Decision       *string       `json:"decision"`
	Predictions    []jsonShare   `json:"predictions"`
	Features       []jsonFeature `json:"features"`
	Direction      string        `json:"direction,omitempty"` // of neighbors and features, where it is one
	Neighbors      []jsonVote    `json:"neighbors"`
	Counterfactual []jsonScore   `json:"counterfactual"`

	// What walks around the node end at, the neighbours that speak most against the label, and what was decided on the node.
	Hops      []jsonHop      `json:"hops"`
	Opponents []jsonOpponent `json:"opponents"`
	History   []jsonDecision `json:"history"`

	Incomplete string `json:"incomplete,omitempty"` // why features or counterfactual are missing
}

// explanationObject lays an explanation out for JSON.
func explanationObject(e *cleaner.Explanation, integerIDs bool) jsonExplanation {
	id := func(id string) any {
		if integerIDs {
			return json.Number(id)
		}
		return id
	}
	o := jsonExplanation{
		ID: id(e.ID), Label: present(e.Given), Suggested: present(e.Suggested), Score: jsonFloat(e.Score),
		ScoredAs:   present(e.ScoredAs),
		Confidence: jsonFloat(e.Confidence), Degree: e.Degree, Split: present(e.Split), Run: present(e.Run),
		Decision:    present(e.Decision.String()),
		Predictions: []jsonShare{}, Features: []jsonFeature{}, Neighbors: []jsonVote{}, Counterfactual: []jsonScore{},
		Hops: []jsonHop{}, Opponents: []jsonOpponent{}, History: []jsonDecision{},
		Incomplete: e.Incomplete,
	}
	if e.Direction != kv.Both {
		o.Direction = e.Direction.String()
	}
	for _, c := range e.TopClasses {
		o.Predictions = append(o.Predictions, jsonShare{c.Class, jsonFloat(c.Share)})
	}
	for _, f := range e.Features {
		feature := jsonFeature{Name: f.Name, Value: jsonFloat(f.Value), Error: f.StandardError}
		if right := percentile(f.RankRight); !right.IsNull() {
			feature.AmongRight = new(right.Float())
		}
		if wrong := percentile(f.RankWrong); !wrong.IsNull() {
			feature.AmongWrong = new(wrong.Float())
		}
		o.Features = append(o.Features, feature)
	}
	for _, c := range e.Votes {
		o.Neighbors = append(o.Neighbors, jsonVote{c.Class, c.Count, jsonFloat(c.Share)})
	}
	for _, c := range e.Counterfactual {
		o.Counterfactual = append(o.Counterfactual, jsonScore{c.Class, jsonFloat(c.Share)})
	}
	for _, h := range e.Hops {
		if n := len(o.Hops); n == 0 || o.Hops[n-1].Hop != h.Hop {
			o.Hops = append(o.Hops, jsonHop{Hop: h.Hop})
		}
		hop := &o.Hops[len(o.Hops)-1]
		hop.Classes = append(hop.Classes, jsonHopClass{h.Class, h.Nodes, jsonFloat(h.Labels), jsonFloat(h.Predictions)})
	}
	for _, n := range e.Opponents {
		o.Opponents = append(o.Opponents, jsonOpponent{
			ID: id(n.ID), Label: present(n.Label), Predicted: present(n.Predicted), Confidence: jsonFloat(n.Confidence),
			OfGiven: jsonFloat(n.Prediction), Score: jsonFloat(n.Score), Weight: jsonFloat(n.Weight), Against: jsonFloat(n.Against),
		})
	}
	for _, d := range e.History {
		o.History = append(o.History, jsonDecision{
			Seq: d.Seq, Step: d.Step, Time: d.Time, Decision: d.Kind.String(), From: present(d.From), To: present(d.To),
			Who: present(d.Who), Why: present(d.Why), Run: present(d.Run), Score: jsonFloat(d.Score), Undoes: present(d.Undoes),
		})
	}
	return o
}

// present is nil for what is not there.
func present[T string | int64](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}
