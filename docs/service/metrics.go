package main

import (
	"bytes"
	"fmt"
	"log"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
)

// metrics are counts and sums of times since the start of the process, by name and labels.
type metrics struct {
	mu     sync.Mutex
	values map[string]float64
}

func newMetrics() *metrics { return &metrics{values: map[string]float64{}} }

func (m *metrics) add(name, labels string, value float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[name+"{"+labels+"}"] += value
}

func (m *metrics) time(name, labels string, took time.Duration) {
	m.add(name+"_count", labels, 1)
	m.add(name+"_sum", labels, took.Seconds())
}

// observe receives what the store does.
func (m *metrics) observe(e kv.Event) {
	m.time("graphcleaner_store_seconds", fmt.Sprintf(`event="%s",ok="%t"`, e.Kind, e.Err == nil), e.Duration)
}

// measure answers with the metrics in the text format of Prometheus, and with gauges of the store as it is.
func (s *service) measure(w http.ResponseWriter, r *http.Request) {
	var out bytes.Buffer
	err := s.store.View(func(tx *kv.Tx) error {
		run, err := cleaner.LastRun(tx)
		if err != nil {
			return err
		}
		stale, err := cleaner.CountStale(r.Context(), tx, run, mostStale)
		text := fmt.Sprint(stale)
		if stale < 0 { // more than mostStale
			text = "+Inf"
		}
		fmt.Fprintf(&out, "graphcleaner_nodes %d\ngraphcleaner_edges %d\n", tx.NumPresent(), tx.NumEdges())
		fmt.Fprintf(&out, "graphcleaner_mislabel_rate %g\ngraphcleaner_stale_scores %s\n", run.MislabelRate, text)
		return err
	})
	if err != nil {
		log.Print("metrics: ", err)
		http.Error(w, err.Error(), status(err))
		return
	}
	s.metrics.mu.Lock()
	for _, series := range slices.Sorted(maps.Keys(s.metrics.values)) {
		fmt.Fprintf(&out, "%s %g\n", series, s.metrics.values[series])
	}
	s.metrics.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if _, err := out.WriteTo(w); err != nil {
		log.Print("metrics: ", err)
	}
}
