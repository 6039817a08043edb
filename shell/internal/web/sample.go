package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A sample is nodes that were drawn at random, with what people have said of them since. What clean and rescore make of them does not
// matter: the sample is of the suspects at the time of the draw.
type sample struct {
	drawn

	mu  sync.Mutex
	seq int64 // the last entry of the history that was read
	of  map[kv.NodeID]*sampledNode
}

// A drawn is what the store keeps of a sample.
type drawn struct {
	Nodes []kv.NodeID
	Since int64 // the newest entry of the history at the draw
}

// A sampledNode is a node with the decisions since the draw.
type sampledNode struct {
	entries   int64 // decisions that were not taken back
	isSeen    bool  // there were any
	was, is   string
	isTrusted bool // people are sure of the label, and agree
	isUnsure  bool // it was put aside
}

func newSample(of drawn) *sample {
	s := &sample{drawn: of, seq: of.Since, of: make(map[kv.NodeID]*sampledNode, len(of.Nodes))}
	for _, v := range of.Nodes {
		s.of[v] = new(sampledNode)
	}
	return s
}

// follow reads the history on, and calls each with the nodes that are there, in the order of the queue.
func (s *sample) follow(ctx context.Context, tx *kv.Tx, each func(v kv.NodeID, n *sampledNode)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := readOn(ctx, tx, &s.seq, func(d *decide.Decision) {
		n := s.of[d.Node]
		if n == nil {
			return
		}
		switch {
		case d.Undoes == 0:
			n.entries++
		case d.Undoes > s.Since:
			n.entries--
		}
		if !n.isSeen {
			n.isSeen, n.was = true, d.From
		}
		n.is, n.isTrusted = d.Label, d.After != decide.None && d.After != decide.Unsure && !d.Disputed
		n.isUnsure = d.After == decide.Unsure
	})
	if err != nil {
		return err
	}
	removed, err := tx.Removed()
	if err != nil {
		return err
	}
	for _, v := range s.Nodes {
		if !removed.Has(v) {
			each(v, s.of[v])
		}
	}
	return nil
}

// count says how far the sample is.
func (s *sample) count(ctx context.Context, tx *kv.Tx) (*sampled, error) {
	c := new(sampled)
	err := s.follow(ctx, tx, func(_ kv.NodeID, n *sampledNode) {
		c.Nodes++
		if n.entries <= 0 {
			return
		}
		if n.isUnsure {
			c.Unsure++
			return
		}
		c.Decided++
		switch {
		case !n.isTrusted || n.was == "":
		case n.is != n.was:
			c.Wrong++
		default:
			c.Right++
		}
	})
	c.Precision, c.Low, c.High = shareOf(c.Wrong, c.Right)
	return c, err
}

// open are the nodes that nobody has decided on since the draw.
func (s *sample) open(ctx context.Context, tx *kv.Tx) (nodes []kv.NodeID, err error) {
	err = s.follow(ctx, tx, func(v kv.NodeID, n *sampledNode) {
		if n.entries <= 0 {
			nodes = append(nodes, v)
		}
	})
	return nodes, err
}

// currentSample is the sample, nil if none was drawn.
func (s *Server) currentSample() *sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sample
}

// sampleKey is the key of the document with the sample of the person.
func (s *Server) sampleKey() string {
	sum := sha256.Sum256([]byte(s.Query.Who)) // a name may have what no key has
	return "sample " + hex.EncodeToString(sum[:8])
}

// readSample reads the sample that the person has drawn on an earlier page.
func (s *Server) readSample() error {
	return s.snapshot(func(tx *kv.Tx) error {
		var of drawn
		err := tx.Document(documentSpace, s.sampleKey(), &of)
		if errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		if err == nil {
			s.sample = newSample(of)
		}
		return err
	})
}

// keepSample keeps the sample for the next page of the person, or removes it.
func (s *Server) keepSample(of *sample) error {
	if s.ReadOnly {
		return nil
	}
	return s.Store.Update(func(tx *kv.Tx) error {
		if of != nil {
			return tx.PutDocument(documentSpace, s.sampleKey(), of.drawn)
		}
		return tx.DeleteDocument(documentSpace, s.sampleKey())
	})
}

// A sampling says what a sample is drawn of.
type sampling struct {
	Where string `json:"where,omitempty"`
	Nodes *whole `json:"nodes"`          // 0 forgets the sample
	Seed  whole  `json:"seed,omitempty"` // 0: any

	place
}

// mostSampled bounds a sample.
const mostSampled = 10_000

// drawSample draws a random sample, which becomes a queue of its own. A sample tells the share of wrong labels among all suspects, where
// those of the highest scores would not.
func (s *Server) drawSample(r *http.Request) (answer, error) {
	var p sampling
	err := bring(r, &p, func() {
		p.place.form(r)
		p.Where = r.PostFormValue("where")
		if nodes := new(whole); nodes.UnmarshalJSON([]byte(r.PostFormValue("nodes"))) == nil {
			p.Nodes = nodes
		}
	})
	if err != nil {
		return answer{}, err
	}
	if p.Nodes == nil || *p.Nodes < 0 || *p.Nodes > mostSampled {
		return answer{}, badRequest("The nodes of the sample: want a number from 1 to %d, or 0 to forget the sample.",
			mostSampled)
	}
	if p.Seed < 0 {
		return answer{}, badRequest("The seed is %d: want a number from 0.", p.Seed)
	}
	if p.Seed == 0 {
		p.Seed = 1 + whole(rand.Uint32())
	}
	condition, err := query.ParseCondition(p.Where)
	if err != nil {
		return answer{}, err
	}
	said, next := "The sample is forgotten.", "list"
	var of *sample
	if *p.Nodes > 0 {
		if of, err = s.draw(r.Context(), condition, p); err != nil {
			return answer{}, err
		}
		said, next = fmt.Sprintf("A random sample of %d suspects is drawn.", len(of.Nodes)), "review?sample=1"
	}
	if err := s.keepSample(of); err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	s.sample, s.said = of, said
	view := reply{Said: said, Undo: s.lastReply().step}
	s.mu.Unlock()
	s.progress.forget()
	return answer{view: view, seeOther: next}, nil
}

// draw draws a sample of suspects.
func (s *Server) draw(ctx context.Context, where query.Condition, p sampling) (*sample, error) {
	statement, err := query.Parse(fmt.Sprintf("suspects sample %d seed %d", *p.Nodes, p.Seed))
	if err != nil {
		return nil, err
	}
	var of drawn
	err = s.snapshot(func(tx *kv.Tx) (err error) {
		if of.Since, err = decide.Newest(tx); err != nil {
			return err
		}
		of.Nodes, _, err = statement.Where(where).Find(ctx, tx, s.Query, 0)
		return err
	})
	return newSample(of), err
}
