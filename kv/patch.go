package kv

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// A Patch adds, changes and removes nodes and edges of a store, any number of them, in one step. What it is given waits
// in temporary files of the store, without a lock. Commit looks up the ids, and writes all of it or nothing: a few
// changes in one transaction, many by writing the graph and the changed columns again, as Compact does. Nodes are named
// by their external ids. A Patch is for one goroutine, and must end in Commit or Abort.
type Patch struct {
	s      *Store
	opt    PatchOptions
	nodes  *spill.Sorter // rows of nodes, in their order
	edges  *spill.Sorter // rows of edges, by the id of the first end
	failed error         // of the first row that was refused
	ended  bool

	weighted bool // edges of the store have weights
}

// PatchOptions describe the rows of a Patch. The zero value is ready to use.
type PatchOptions struct {
	// Labels says that Node.Label is the label of a node. Otherwise labels stay as they are.
	Labels bool

	// Properties are the columns of Node.Values. A column that the store does not have is added.
	Properties []Column

	// Known, if not nil, is called in Commit with each row of a node that is there, before it is changed. It may change
	// label and values of the row. A row of which Label and Values are those of the node changes nothing.
	Known func(tx *Tx, v NodeID, n *Node) error

	// Rows, if not nil, is called in Commit to write rows of matrices, in any order, each once. tx has the nodes and
	// edges of the Patch already.
	Rows func(ctx context.Context, tx *Tx, put func(matrix string, v NodeID, row []float32) error) error

	// Finish, if not nil, writes in the transaction that makes all of it visible.
	Finish func(tx *Tx) error

	// Progress is called while Commit works.
	Progress Progress

	most int // rows in one transaction, of tests; zero: as many as pay
}

// NewPatch begins a Patch.
func (s *Store) NewPatch(opt PatchOptions) (*Patch, error) {
	if s.opt.ReadOnly {
		return nil, fmt.Errorf("%s: %w", s.name, ErrReadOnly)
	}
	if err := checkProperties(opt.Properties); err != nil {
		return nil, err
	}
	p := &Patch{s: s, opt: opt, nodes: s.newSorter(), edges: s.newSorter()}
	err := s.View(func(tx *Tx) error {
		p.weighted = tx.Shape().Weighted
		return nil
	})
	if opt.Progress == nil {
		p.opt.Progress = func(string, int64, int64) {}
	}
	return p, err
}

// A patchNode is a row of a node.
type patchNode struct {
	Node
	Remove bool
}

// check returns why no other row is taken: the first that is wrong by itself, or what is wrong with the next.
func (p *Patch) check(wrong error) error {
	if p.ended {
		return fmt.Errorf("patch: %w", ErrClosed)
	}
	p.failed = cmp.Or(p.failed, wrong)
	return p.failed
}

func (p *Patch) addNode(row patchNode, wrong error) error {
	if err := p.check(wrong); err != nil {
		return err
	}
	body, err := msgpack.Marshal(row)
	if err == nil {
		err = p.nodes.AddUint64(uint64(p.nodes.Len()), body)
	}
	return p.check(err)
}

// AddNode adds the next row of a node. If there is no node of its id, Commit adds one. NodeIDs of these nodes follow
// all others, in the order of rows. Otherwise the node takes the label, if PatchOptions.Labels, and the values of the
// row; no label and null take a label or a value away. A row that is wrong by itself is a *RowError, and an id
// that is given twice a *RowError of Commit.
func (p *Patch) AddNode(n Node) error {
	err := checkRow(n, p.opt.Properties)
	if err != nil {
		err = &RowError{ID: firstRunes(n.ID, MaxID), Source: n.Source, Err: err}
	}
	return p.addNode(patchNode{Node: n}, err)
}

// RemoveNode removes a node that is there, with its edges, values and rows of matrices, whatever else the Patch says
// of it. One that is not there is a *RowError of Commit. A row that is given again says the same again.
func (p *Patch) RemoveNode(id string, source int64) error {
	return p.addNode(patchNode{Node{ID: id, Source: source}, true}, nil)
}

// A patchEdge is a row of an edge, except for its ends.
type patchEdge struct {
	source int64
	remove bool
	weight float32 // 0: not given
}

// patchEdgeSize is the bytes of a patchEdge, which an end may follow.
const patchEdgeSize = 13

func (e patchEdge) encode() []byte {
	b := append(binary.BigEndian.AppendUint64(nil, uint64(e.source)), byte(codec.Bit(e.remove)))
	return codec.AppendFloat32(b, e.weight)
}

func parsePatchEdge(b []byte) patchEdge {
	weight := codec.ReadFloat32(&codec.Reader{Rest: b[9:]})
	return patchEdge{int64(binary.BigEndian.Uint64(b)), b[8] != 0, weight}
}

func (p *Patch) addEdge(src, dst string, e patchEdge, wrong error) error {
	if err := p.check(wrong); err != nil {
		return err
	}
	return p.check(p.edges.Add([]byte(src), append(e.encode(), dst...)))
}

// AddEdge adds an edge between two nodes, in a directed graph an arc. Self loops are dropped. An edge that is there
// stays as it is. Ends that are neither in the store nor among the rows of nodes are a *RowError of Commit.
func (p *Patch) AddEdge(src, dst string, source int64) error {
	return p.addEdge(src, dst, patchEdge{source: source}, nil)
}

// AddWeighted is AddEdge with a weight. The weights of rows of the same edge add up. An edge that is there takes that
// weight.
func (p *Patch) AddWeighted(src, dst string, weight float32, source int64) (err error) {
	switch {
	case !p.weighted:
		err = fmt.Errorf("edge at %d: %w: the graph has no weights", source, ErrInvalidEdge)
	case !codec.ValidWeight(weight):
		err = fmt.Errorf("edge at %d: %w: got weight %v, want one that is finite and greater than 0", source,
			ErrInvalidEdge, weight)
	}
	return p.addEdge(src, dst, patchEdge{weight: weight, source: source}, err)
}

// RemoveEdge removes the edge between two nodes, in a directed graph the arc. One that is not there is a
// *RowError of Commit. A row that is given again says the same again.
func (p *Patch) RemoveEdge(src, dst string, source int64) error {
	return p.addEdge(src, dst, patchEdge{remove: true, source: source}, nil)
}

// Abort gives up the changes asked for. After Commit it does nothing.
func (p *Patch) Abort() error {
	p.ended = true
	return errors.Join(p.nodes.Close(), p.edges.Close())
}

// mostInUpdate is how many rows one transaction may take; it may turn out to be too many.
const mostInUpdate = 1 << 14

// most is how many rows go into one transaction. More cost less if the graph is written again: a row of a transaction
// costs some 60 µs, and in that time a rewrite reads and writes some 1200 entries of lists. A node costs it as much as
// 20 of these. Fewer than leastRewrite rows are not worth a rewrite of any graph.
func (p *Patch) most(tx *Tx) int64 {
	const perRow, perNode, leastRewrite = 1200, 20, 1000
	if p.opt.most != 0 {
		return int64(p.opt.most)
	}
	return min(mostInUpdate, leastRewrite+(2*tx.cat.Edges+perNode*int64(tx.cat.Nodes))/perRow)
}

// Commit writes the changes asked for. All of it is on disk when Commit returns, or, after an error other than
// ErrCommitted, nothing. Of several rows that are wrong in the same way the error is that of the least Source. It waits
// for the running Update, Bulk or Compact.
func (p *Patch) Commit(ctx context.Context) (stats Stats, err error) {
	if err := p.check(nil); err != nil {
		return stats, errors.Join(err, p.Abort())
	}
	defer func() { err = errors.Join(err, p.Abort()) }()
	b, err := p.s.beginBulk(ctx)
	if err != nil {
		return stats, err
	}
	defer b.Abort()
	r := &resolvedPatch{Patch: p, b: b, tx: b.tx, nodes: b.Sorter()}
	defer func() { err = errors.Join(err, r.nodes.Close()) }()
	if err := r.resolve(ctx); err != nil {
		return stats, err
	}
	if p.nodes.Len()+p.edges.Len() <= p.most(r.tx) {
		small := *r
		err := p.s.update(func(tx *Tx) error { return small.update(ctx, tx) })
		if !errors.Is(err, ErrTxTooBig) {
			return small.stats, err
		}
	}
	err = r.rewrite(ctx)
	return r.stats, err
}
