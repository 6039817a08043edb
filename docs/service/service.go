package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

const (
	usualSuspects = 100  // of an answer
	mostSuspects  = 1000 // of an answer
	mostStale     = 1000 // that the metrics count
)

// errDecided is the error of a label that would replace a decision without a trace in the history.
var errDecided = errors.New("somebody has decided about the label of this node")

// A service answers requests about one store.
type service struct {
	store   *kv.Store
	metrics *metrics
	changed chan struct{} // has an element if something has changed since the last rescore began
}

func newService(store *kv.Store, m *metrics) *service {
	s := &service{store: store, metrics: m, changed: make(chan struct{}, 1)}
	s.wake() // an earlier process may have left changes
	return s
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	s.handle(mux, "POST /changes", s.change)
	s.handle(mux, "GET /suspects", s.suspects)
	s.handle(mux, "POST /decisions", s.decide)
	mux.HandleFunc("GET /metrics", s.measure)
	return http.NewCrossOriginProtection().Handler(mux) // pages of other sites cannot write
}

// localOnly refuses requests whose Host is another name than this machine's own. Else a page of a site whose name is
// made to lead here would be of the same origin, and could read and write. A proxy has to send localhost as Host.
func localOnly(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := (&url.URL{Host: r.Host}).Hostname()
		if name != "localhost" && !net.ParseIP(name).IsLoopback() {
			http.Error(w, fmt.Sprintf("got Host %q, want localhost or 127.0.0.1", r.Host), http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// changes are one transaction.
type changes struct {
	Nodes []struct {
		ID, Label string    // no label: ""
		Features  []float32 // none, or as many as the store has
	} `json:"nodes"`
	Edges  []struct{ From, To string }  `json:"edges"`
	Labels []struct{ ID, Label string } `json:"labels"` // of nodes that are there

	NewClasses bool `json:"new_classes"` // labels may be classes that the store does not have
}

// A verdict says what the model makes of a label. Score and Confidence are null if it has nothing to say; then Lack may say why.
type verdict struct {
	ID         string   `json:"id"`
	Label      string   `json:"label"`
	Score      *float64 `json:"score"`
	Suspect    bool     `json:"suspect"`
	Suggested  string   `json:"suggested,omitempty"`
	Confidence *float64 `json:"confidence"`
	Lack       string   `json:"lack,omitempty"`
}

// change makes changes and judges their labels in the same transaction: if a label cannot be judged because of an error, nothing is written.
func (s *service) change(ctx context.Context, r *http.Request) (any, error) {
	var c changes
	if err := readJSON(r, &c); err != nil {
		return nil, err
	}
	verdicts := []verdict{}
	err := s.store.UpdateContext(ctx, func(tx *kv.Tx) error {
		labelled, err := c.apply(tx)
		if err != nil {
			return err
		}
		verdicts, err = judge(ctx, tx, labelled)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.wake()
	for _, v := range verdicts {
		s.metrics.add("graphcleaner_labels_total", fmt.Sprintf(`suspect="%t"`, v.Suspect), 1)
	}
	return map[string]any{"labels": verdicts}, nil
}

// apply returns the nodes that it gave labels.
func (c *changes) apply(tx *kv.Tx) (labelled []kv.NodeID, err error) {
	label := func(v kv.NodeID, class, list string, i int) error {
		labelled = append(labelled, v)
		if class != "" && !c.NewClasses && !slices.Contains(tx.Classes(), class) {
			return badField(fmt.Sprintf("%s[%d].label", list, i), "the store has no class %q; new_classes: true makes it", class)
		}
		return inField(tx.SetLabel(v, class), "%s[%d].label", list, i)
	}
	for i, n := range c.Nodes {
		v, err := tx.AddNode(kv.Node{ID: n.ID})
		if err != nil {
			return nil, inField(err, "nodes[%d].id", i)
		}
		if n.Features != nil {
			if err := tx.SetRow(cleaner.FeaturesMatrix, v, n.Features); err != nil {
				return nil, inField(err, "nodes[%d].features", i)
			}
		}
		if n.Label != "" {
			if err := label(v, n.Label, "nodes", i); err != nil {
				return nil, err
			}
		}
	}
	for i, e := range c.Edges {
		u, err := tx.Node(e.From)
		if err != nil {
			return nil, inField(err, "edges[%d].from", i)
		}
		v, err := tx.Node(e.To)
		if err != nil {
			return nil, inField(err, "edges[%d].to", i)
		}
		if err := tx.AddEdge(u, v); err != nil {
			return nil, inField(err, "edges[%d]", i)
		}
	}
	for i, l := range c.Labels {
		v, err := tx.Node(l.ID)
		if err != nil {
			return nil, inField(err, "labels[%d].id", i)
		}
		decision, err := tx.Value(v, decide.Column)
		if err == nil && !decision.IsNull() {
			err = errDecided
		}
		if err != nil && !errors.Is(err, kv.ErrNoColumn) { // before the first decision there is no column
			return nil, inField(err, "labels[%d].id", i)
		}
		if err := label(v, l.Label, "labels", i); err != nil {
			return nil, err
		}
	}
	return labelled, nil
}

// judge scores labels as the graph is in tx.
func judge(ctx context.Context, tx *kv.Tx, nodes []kv.NodeID) ([]verdict, error) {
	verdicts := make([]verdict, 0, len(nodes))
	if len(nodes) == 0 {
		return verdicts, nil
	}
	run, err := cleaner.LastRun(tx)
	if err != nil {
		return nil, err
	}
	scores, err := cleaner.Score(ctx, tx, nodes, ops.Options{})
	for _, s := range scores {
		verdicts = append(verdicts, verdict{
			ID: s.ID, Label: s.Label, Score: number(s.Score), Suspect: s.IsSuspect(run.Threshold),
			Suggested: s.Suggestion, Confidence: number(s.Confidence), Lack: s.Lack,
		})
	}
	return verdicts, err
}

// number is null for NaN, which JSON does not have.
func number(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

// A suspect has its values as of the last rescore.
type suspect struct {
	ID         string   `json:"id"`
	Label      *string  `json:"label"`
	Suggested  *string  `json:"suggested"`
	Score      *float64 `json:"score"`
	Confidence *float64 `json:"confidence"`
}

func (s *service) suspects(ctx context.Context, r *http.Request) (any, error) {
	where, limit := r.FormValue("where"), usualSuspects
	if text := r.FormValue("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > mostSuspects {
			return nil, badField("limit", "got %q, want a number from 1 to %d", text, mostSuspects)
		}
	}
	text := fmt.Sprintf("suspects limit %d return id, label, suggested, score, confidence", limit)
	if where != "" {
		// Where the text is a condition and no more, it can follow.
		if _, err := query.ParseCondition(where); err != nil {
			return nil, inField(err, "where")
		}
		text += " where " + where
	}
	found := []suspect{}
	err := s.store.View(func(tx *kv.Tx) error {
		for row, err := range query.Rows[suspect](query.Query(ctx, tx, query.Options{}, text)) {
			if err != nil {
				return inField(err, "where")
			}
			found = append(found, row)
		}
		return nil
	})
	return map[string]any{"suspects": found}, err
}

// A decision is about a label and a suggestion as somebody saw them, before anybody had decided.
type decision struct {
	ID        string `json:"id"`
	Decision  string `json:"decision"`
	Label     string `json:"label"`
	Suggested string `json:"suggested"`
	Who       string `json:"who"`
	Why       string `json:"why,omitempty"`
}

func (s *service) decide(ctx context.Context, r *http.Request) (any, error) {
	var d decision
	if err := readJSON(r, &d); err != nil {
		return nil, err
	}
	if d.Decision != "accept" && d.Decision != "reject" && d.Decision != "unsure" {
		return nil, badField("decision", "got %q, want accept, reject or unsure", d.Decision)
	}
	for _, f := range [][2]string{{"id", d.ID}, {"label", d.Label}, {"suggested", d.Suggested}, {"who", d.Who}} {
		if f[1] == "" {
			return nil, badField(f[0], "got nothing, want a text")
		}
	}
	text := d.Decision + " $1 if label = $2 and suggested = $3 and decision is null"
	args := []any{d.ID, d.Label, d.Suggested}
	if d.Why != "" {
		text, args = text+" because $4", append(args, d.Why)
	}
	if _, err := query.Exec(ctx, s.store, query.Options{Who: d.Who}, text, args...); err != nil {
		if errors.Is(err, kv.ErrNotFound) {
			err = inField(err, "id")
		}
		return nil, err
	}
	s.wake()
	s.metrics.add("graphcleaner_decisions_total", fmt.Sprintf("decision=%q", d.Decision), 1)
	return d, nil
}

// wake says that scores may be stale.
func (s *service) wake() {
	select {
	case s.changed <- struct{}{}:
	default: // it is said already
	}
}

// rescore brings the stored scores up to date after changes, until ctx ends. A change waits for others, so that many changes cost as much
// as a few; but not longer than the pause, so that steady changes do not put it off for ever. What fails is tried again after the next change.
func (s *service) rescore(ctx context.Context, pause time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		select { // what has changed since then is in this rescore
		case <-s.changed:
		default:
		}
		began := time.Now()
		_, err := cleaner.Rescore(ctx, s.store, cleaner.RescoreOptions{})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			log.Print("rescore: ", err)
		}
		s.metrics.time("graphcleaner_rescore_seconds", fmt.Sprintf(`ok="%t"`, err == nil), time.Since(began))
	}
}
