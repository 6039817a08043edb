package web

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A findings is what lists have found in one state of the store, so that another page of a list, and its count, are not looked for anew.
type findings struct {
	mu     sync.Mutex
	commit uint64
	lists  map[string]*found // by selection
	counts map[string]int64  // by selection, whatever its order
	kept   int               // nodes in lists

	stop     context.CancelFunc // of the count under way; nil if there is none
	counting string             // what it counts
}

// A selection says which nodes a list has, and in which order.
type selection struct {
	of        string // suspects or nodes
	order     string // a clause, or ""
	where     string // the condition as it was typed
	condition query.Condition
}

// statement is a statement about the nodes: a word before suspects or nodes, and clauses behind it.
func (l selection) statement(word, clauses string) (query.Statement, error) {
	statement, err := query.Parse(word + l.of + clauses)
	if err != nil {
		return statement, err
	}
	return statement.Where(l.condition), nil
}

// counted is what the count of the nodes is kept under, and listed what the list is kept under.
func (l selection) counted() string { return l.of + " where " + l.where }
func (l selection) listed() string  { return l.of + l.order + " where " + l.where }

// A found is the first part of a list, or all of it.
type found struct {
	nodes   []kv.NodeID
	all     bool
	notices []string
}

const (
	mostFound   = 1 << 20 // nodes that are kept: four bytes each
	mostEntries = 256     // lists and counts that are kept
)

// at drops what was found in another state of the store. The caller has f.mu.
func (f *findings) at(commit uint64) {
	if f.lists == nil || f.commit != commit || f.kept > mostFound || len(f.lists)+len(f.counts) >= mostEntries {
		f.commit, f.kept, f.lists, f.counts = commit, 0, map[string]*found{}, map[string]int64{}
	}
}

// page finds rows from one place of a list to another. So that the next pages are there too, it looks for twice as many as there were.
func (s *Server) page(ctx context.Context, tx *kv.Tx, commit uint64, l selection, first, end int) (nodes []kv.NodeID, notices []string, err error) {
	f := &s.found
	f.mu.Lock()
	f.at(commit)
	of := f.lists[l.listed()]
	f.mu.Unlock()
	if of == nil || !of.all && len(of.nodes) < end {
		limit := end
		for most := pageRows; most < end; most *= 2 {
			limit = 2 * most
		}
		skip := 0
		if limit > mostFound {
			limit, skip = end, first
		}
		statement, err := l.statement("", fmt.Sprintf("%s limit %d", l.order, limit))
		if err != nil {
			return nil, nil, err
		}
		of = &found{}
		if of.nodes, of.notices, err = statement.Find(ctx, tx, s.Query, skip); err != nil || skip > 0 {
			return of.nodes, of.notices, err
		}
		of.all = len(of.nodes) < limit
		f.mu.Lock()
		f.at(commit)
		f.lists[l.listed()] = of
		f.kept += len(of.nodes)
		f.mu.Unlock()
	}
	end = min(end, len(of.nodes))
	return of.nodes[min(first, end):end], of.notices, nil
}

// counted is how many nodes were counted under a key, if that is known.
func (f *findings) counted(commit uint64, text string) (n int64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at(commit)
	n, ok = f.counts[text]
	return n, ok
}

// countNow counts the nodes of a selection.
func (s *Server) countNow(ctx context.Context, tx *kv.Tx, commit uint64, l selection) (n int64, err error) {
	if n, ok := s.found.counted(commit, l.counted()); ok {
		return n, nil
	}
	statement, err := l.statement("count ", "")
	if err != nil {
		return 0, err
	}
	result, err := statement.Query(ctx, tx, s.Query)
	if err != nil {
		return 0, err
	}
	for row, err := range result.Rows() {
		if err != nil {
			return 0, err
		}
		n = row.Values[0].Int()
	}
	s.found.mu.Lock()
	defer s.found.mu.Unlock()
	s.found.at(commit)
	s.found.counts[l.counted()] = n
	return n, nil
}

// countSoon counts the nodes of a selection, and waits a moment for the count. If it takes longer, it goes on in the background, and pages
// are told when it is there. Only the last list is counted so: who types another condition does not look at the first one any more.
func (s *Server) countSoon(ctx context.Context, commit uint64, l selection) (n int64, ok bool) {
	text := l.counted()
	if n, ok := s.found.counted(commit, text); ok {
		return n, ok
	}
	f := &s.found
	done := make(chan struct{})
	f.mu.Lock()
	if f.stop != nil && f.counting == text {
		f.mu.Unlock()
		return 0, false
	}
	if f.stop != nil {
		f.stop()
	}
	within, stop := context.WithCancel(s.ctx)
	f.stop, f.counting = stop, text
	f.mu.Unlock()
	s.working.Go(func() {
		defer stop()
		err := s.snapshot(func(tx *kv.Tx) error {
			now, err := tx.LastCommit()
			if err == nil {
				_, err = s.countNow(within, tx, now, l)
			}
			return err
		})
		f.mu.Lock()
		if within.Err() == nil {
			f.stop = nil
		}
		f.mu.Unlock()
		close(done)
		if err == nil {
			s.events.send("count", struct{}{})
		}
	})
	select {
	case <-done:
	case <-ctx.Done():
	case <-time.After(quickEnough):
	}
	return f.counted(commit, text)
}
