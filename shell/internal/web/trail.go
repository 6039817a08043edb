package web

import (
	"context"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A trail has the nodes that a person has decided on since a moment. A node is in it while the newest entry about it is a decision of
// that person: then nobody has disagreed since, and it was not taken back. The history only grows, so each entry is read once.
type trail struct {
	who string

	mu    sync.Mutex
	seq   int64 // the last entry that was read
	nodes *roaring.Bitmap
}

// restart forgets all entries up to one.
func (t *trail) restart(seq int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq, t.nodes = seq, roaring.New()
}

// follow reads the entries since the last call, and returns the nodes.
func (t *trail) follow(ctx context.Context, tx *kv.Tx) (*roaring.Bitmap, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := readOn(ctx, tx, &t.seq, func(d *decide.Decision) {
		if d.Who == t.who && d.Undoes == 0 {
			t.nodes.Add(uint32(d.Node))
		} else {
			t.nodes.Remove(uint32(d.Node))
		}
	})
	return t.nodes.Clone(), err
}

// readOn hands over the entries of the history behind one, which moves on to the newest.
func readOn(ctx context.Context, tx *kv.Tx, seq *int64, take func(d *decide.Decision)) error {
	newest, err := decide.Newest(tx)
	if err != nil {
		return err
	}
	for d, err := range (decide.Entries{First: *seq + 1, Last: newest}).Read(ctx, tx) {
		if err != nil {
			return err
		}
		take(&d)
		*seq = d.Seq
	}
	return nil
}

// A pastReply is a reply that undo takes back: a decision, or that a node was skipped.
type pastReply struct {
	step int64  // of the decision; of a skip, -1 for the node 0, -2 for the node 1, and so on
	id   string // of a node that was skipped
}

func (r pastReply) isSkip() bool { return r.step < 0 }

// Bounds of the replies that undo takes back. The first are as many as are kept; the others are of the replies of an earlier page, which
// are found in the history.
const (
	mostPast     = 1000
	earlierSteps = 100     // at most
	earlierReads = 100_000 // entries that are looked at
)

// recall finds the last replies of the person, those of an earlier page.
func (s *Server) recall(ctx context.Context) error {
	return s.snapshot(func(tx *kv.Tx) error {
		newest, err := decide.Newest(tx)
		if err != nil {
			return err
		}
		s.mine.restart(newest)
		if s.ReadOnly {
			return nil
		}
		steps, err := decide.OwnSteps(ctx, tx, s.Query.Who, earlierSteps, earlierReads)
		if err != nil {
			return err
		}
		for i := range steps {
			s.past = append(s.past, pastReply{step: steps[len(steps)-1-i].Step})
		}
		return nil
	})
}

// remember keeps a reply for undo, and what it did. The caller has s.mu.
func (s *Server) remember(reply pastReply, said string) {
	s.past = append(s.past, reply)
	if len(s.past) > mostPast {
		s.past = s.past[len(s.past)-mostPast:]
	}
	s.said = said
}

// forget drops replies from those that undo takes back. The caller has s.mu.
func (s *Server) forget(which func(pastReply) bool) {
	kept := s.past[:0:0]
	for _, reply := range s.past {
		if !which(reply) {
			kept = append(kept, reply)
		}
	}
	s.past = kept
}

// lastReply is the reply that undo takes back next; its step is 0 if there is none. The caller has s.mu.
func (s *Server) lastReply() pastReply {
	if len(s.past) == 0 {
		return pastReply{}
	}
	return s.past[len(s.past)-1]
}

// lastStep is the last decision that undo can take back, 0 if there is none. The caller has s.mu.
func (s *Server) lastStep() int64 {
	for i := len(s.past) - 1; i >= 0; i-- {
		if !s.past[i].isSkip() {
			return s.past[i].step
		}
	}
	return 0
}

// startAnew brings skipped nodes and those of the person's decisions back into the queue: after a run each node is asked about anew.
func (s *Server) startAnew() error {
	return s.snapshot(func(tx *kv.Tx) error {
		newest, err := decide.Newest(tx)
		if err != nil {
			return err
		}
		s.mine.restart(newest)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.skipped.Clear()
		s.forget(pastReply.isSkip)
		s.said = "" // it is of before
		return nil
	})
}
