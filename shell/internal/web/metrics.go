package web

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/metrics"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// metricsPath is where the metrics are. They are numbers, and name no node, label or person.
const metricsPath = "/metrics"

// countEvery is the least time between two counts for metrics, where a count takes long.
const countEvery = time.Minute

// began is about when the process began.
var began = time.Now()

// measure answers with the metrics. What takes long to count is as of the last count.
func (s *Server) measure(w http.ResponseWriter, r *http.Request) {
	page := new(metrics.Page)
	if err := guard(func() error { return s.writeMetrics(r, page) }); err != nil {
		http.Error(w, sentence(err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", metrics.ContentType)
	if _, err := w.Write(page.Bytes()); err != nil {
		return // the client is gone
	}
}

func (s *Server) writeMetrics(r *http.Request, page *metrics.Page) error {
	size, err := query.DiskBytes(s.Store.Dir())
	if err != nil {
		return err
	}
	page.Gauge("graphcleaner_store_bytes", "Bytes of the store on disk.", float64(size))
	if err := s.snapshot(func(tx *kv.Tx) error {
		page.Gauge("graphcleaner_nodes", "Nodes of the store.", float64(tx.NumPresent()))
		page.Gauge("graphcleaner_edges", "Edges of the store.", float64(tx.NumEdges()))
		return nil
	}); err != nil {
		return err
	}
	latest, when, err := s.progress.lately(r.Context(), s.Store, countEvery, s.progressOf)
	if err != nil {
		return err
	}
	if latest != nil && latest.Problem == "" {
		writeProgress(page, latest, when)
	}
	page.Durations("graphcleaner_request_duration_seconds", "Requests to the page, by path and status.", s.requests)
	if s.Commands != nil {
		page.Durations("graphcleaner_command_duration_seconds", "Commands and statements that were run for other processes, by exit code.", s.Commands)
	}
	if resident, ok := metrics.Resident(); ok {
		page.Gauge("process_resident_memory_bytes", "Memory that the process holds.", resident)
	}
	page.Gauge("process_start_time_seconds", "When the process began, in seconds since 1970.", float64(began.UnixMilli())/1e3)
	page.Info("graphcleaner_build_info", "The version of the program.", "version", s.Version)
	return nil
}

// writeProgress writes what was counted.
func writeProgress(page *metrics.Page, p *progress, when time.Time) {
	page.Gauge("graphcleaner_counted_timestamp_seconds", "When the numbers of suspects, decisions and stale scores were counted, in seconds since 1970.", float64(when.UnixMilli())/1e3)
	if p.Run == 0 {
		return
	}
	stale := float64(p.OldScores)
	if p.OldScores < 0 {
		stale = math.Inf(1)
	}
	page.Gauge("graphcleaner_last_run_timestamp_seconds", "When the last clean began, in seconds since 1970.", float64(p.started.Unix()))
	page.Gauge("graphcleaner_threshold", "Suspects score above it.", p.Threshold)
	page.Gauge("graphcleaner_suspects", "Suspects that nobody has decided on.", float64(p.Left))
	page.Gauge("graphcleaner_stale_scores", "Scores that are older than changes around them. Too many to count: +Inf.", stale)
	page.Gauge("graphcleaner_decided_nodes", "Nodes with a decision in force, other than unsure.", float64(p.Decided))
	page.Gauge("graphcleaner_disputed_nodes", "Decided nodes that people disagree about.", float64(p.Disputed))
	page.Gauge("graphcleaner_unsure_nodes", "Nodes that were put aside as unsure.", float64(p.Unsure))
	if p.Expected != nil {
		page.Gauge("graphcleaner_expected_mislabels", "Wrong labels that are expected to be left.", *p.Expected)
	}
}

// timed counts how long requests take. A stream of events ends when its page is closed, and is not counted.
func (s *Server) timed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		status := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(status, r)
		// The pattern of a route is none of the words of the client.
		_, path, found := strings.Cut(r.Pattern, " ")
		if !found {
			path = "other"
		}
		if path = strings.TrimSuffix(path, "{$}"); path != eventsPath {
			s.requests.Add(time.Since(began), path, strconv.Itoa(status.status))
		}
	})
}

// A statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
