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
	ids    *spill.Sorter // what was asked for, by id
	failed error         // of the first row that was refused
	ended  bool
	buf    []byte // scratch

	nodeRows, edgeRows uint64
}

// PatchOptions say what the rows of a Patch are. The zero value is ready to use.
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

// PatchStats count what a Patch did.
type PatchStats struct {
	Nodes   int64 // added
	Known   int64 // rows of nodes that were there
	Edges   int64 // added; in a directed graph arcs
	Present int64 // edges, or arcs, that were there
	SelfLoops,
	ParallelEdges int64 // rows that were dropped, and rows that repeat an edge of another row

	RemovedNodes int64
	RemovedEdges int64 // with those of removed nodes

	Rewritten bool // the graph was written again
}

// NewPatch begins a Patch.
func (s *Store) NewPatch(opt PatchOptions) (*Patch, error) {
	if s.opt.ReadOnly {
		return nil, fmt.Errorf("%s: %w", s.name, ErrReadOnly)
	}
	if err := s.checkOpen(); err != nil {
		return nil, err
	}
	if err := validateLoadOptions(LoadOptions{Properties: opt.Properties}); err != nil {
		return nil, err
	}
	if opt.Progress == nil {
		opt.Progress = func(string, int64, int64) {}
	}
	return &Patch{s: s, opt: opt, ids: spill.New(s.dir, s.opt.MemoryBudget/16)}, nil
}

// The kinds of what is asked for of an id, in the order in which they are looked at.
const (
	askNode byte = iota
	askRemoval
	askEnd // of an edge
)

// ask adds what is asked for of an id. No id has a zero byte.
func (p *Patch) ask(id string, kind byte, value []byte) error {
	key := append(append([]byte(id), 0), kind)
	return p.fail(p.ids.Add(key, value))
}

// fail keeps the first error, with which Commit fails, and returns err.
func (p *Patch) fail(err error) error {
	p.failed = cmp.Or(p.failed, err)
	return err
}

func (p *Patch) check() error {
	if p.ended {
		return fmt.Errorf("patch: %w", ErrClosed)
	}
	return p.failed
}

// A patchNode is a row of a node.
type patchNode struct {
	Row uint64 // 0, 1, …
	Node
}

// AddNode adds the next row of a node. If there is no node of its id, Commit adds one. NodeIDs of these nodes follow
// all others, in the order of rows. Otherwise the node takes the label, if PatchOptions.Labels, and the values of the
// row; no label and null take a label or a value away. A row that is wrong by itself is a *RowError, and an id
// that is given twice a *RowError of Commit.
func (p *Patch) AddNode(n Node) error {
	if err := p.check(); err != nil {
		return err
	}
	if err := checkRow(n, p.opt.Properties, n.Label == ""); err != nil {
		return p.fail(&RowError{ID: firstRunes(n.ID, MaxID), Source: n.Source, Err: err})
	}
	body, err := msgpack.Marshal(patchNode{p.nodeRows, n})
	if err != nil {
		return p.fail(err)
	}
	p.nodeRows++
	return p.ask(n.ID, askNode, body)
}

// A patchEnd is one end of a row of an edge.
type patchEnd struct {
	edge   uint64 // number of the row
	end    uint8  // 0: src, 1: dst
	remove bool
	weight float32 // 0: not given
	source int64
}

func (e patchEnd) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, e.edge)
	b = append(b, e.end, byte(codec.Bit(e.remove)))
	b = codec.AppendFloat32(b, e.weight)
	return binary.BigEndian.AppendUint64(b, uint64(e.source))
}

func parsePatchEnd(b []byte) patchEnd {
	r := codec.Reader{Rest: b[10:]}
	return patchEnd{
		edge: binary.BigEndian.Uint64(b), end: b[8], remove: b[9] != 0, weight: codec.ReadFloat32(&r),
		source: int64(binary.BigEndian.Uint64(b[14:])),
	}
}

// AddEdge adds an edge between two nodes, in a directed graph an arc. Self loops are dropped. An edge that is there
// stays as it is. Ends that are neither in the store nor among the rows of nodes are a *RowError of Commit.
func (p *Patch) AddEdge(src, dst string, source int64) error {
	return p.addEdge(src, dst, patchEnd{source: source})
}

// AddWeighted is AddEdge with a weight. The weights of rows of the same edge add up. An edge that is there takes that
// weight.
func (p *Patch) AddWeighted(src, dst string, weight float32, source int64) error {
	if !codec.ValidWeight(weight) {
		return p.fail(fmt.Errorf("edge at %d: %w: got weight %v, want one that is finite and greater than 0", source,
			ErrInvalidEdge, weight))
	}
	return p.addEdge(src, dst, patchEnd{weight: weight, source: source})
}

// RemoveEdge removes the edge between two nodes, in a directed graph the arc. One that is not there is a
// *RowError of Commit. A row that is given again says the same again.
func (p *Patch) RemoveEdge(src, dst string, source int64) error {
	return p.addEdge(src, dst, patchEnd{remove: true, source: source})
}

func (p *Patch) addEdge(src, dst string, e patchEnd) error {
	if err := p.check(); err != nil {
		return err
	}
	e.edge = p.edgeRows
	p.edgeRows++
	for i, id := range []string{src, dst} {
		e.end = uint8(i)
		p.buf = e.append(p.buf[:0])
		if err := p.ask(tooLong(id), askEnd, p.buf); err != nil {
			return err
		}
	}
	return nil
}

// RemoveNode removes a node, with its edges, values and rows of matrices. One that is not there is a *RowError
// of Commit. A row that is given again says the same again.
func (p *Patch) RemoveNode(id string, source int64) error {
	if err := p.check(); err != nil {
		return err
	}
	p.buf = binary.BigEndian.AppendUint64(p.buf[:0], uint64(source))
	return p.ask(tooLong(id), askRemoval, p.buf)
}

// tooLong is the beginning of an id that is longer than any node's, itself too long for one; a shorter one stays.
func tooLong(id string) string { return firstRunes(id, MaxID+1) }

// Abort gives up what was asked for. After Commit it does nothing.
func (p *Patch) Abort() error {
	if p.ended {
		return nil
	}
	p.ended = true
	return p.ids.Close()
}

// mostInUpdate is how many rows one transaction may take; it may turn out to be too many.
const mostInUpdate = 1 << 14

// most is how many rows go into one transaction. More cost less if the graph is written again: a row of a transaction
// costs some 60 µs, and in that time a rewrite reads and writes some 1200 entries of lists. A node costs it as much as
// 20 of these. Fewer than leastRewrite rows are not worth a rewrite of any graph.
func (r *resolvedPatch) most() int {
	const perRow, perNode, leastRewrite = 1200, 20, 1000
	if r.opt.most != 0 {
		return r.opt.most
	}
	return min(mostInUpdate, leastRewrite+int((2*r.tx.cat.Edges+perNode*int64(r.tx.cat.Nodes))/perRow))
}

// Commit writes what was asked for. All of it is on disk when Commit returns, or, after an error other than
// ErrCommitted, nothing. Of several wrong rows the error is that of the least Source, of nodes before edges. It waits
// for the running Update, Bulk or Compact.
func (p *Patch) Commit(ctx context.Context) (stats PatchStats, err error) {
	if err := p.check(); err != nil {
		return stats, errors.Join(err, p.Abort())
	}
	defer func() { err = errors.Join(err, p.Abort()) }()
	s := p.s
	if err := s.lockWriter(ctx); err != nil {
		return stats, err
	}
	unlock := s.writer.Unlock
	defer func() { unlock() }()
	r, err := p.resolve(ctx)
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if int(p.nodeRows+p.edgeRows)+len(r.removals) <= r.most() {
		resolved := r.stats
		err := s.update(func(tx *Tx) error { return r.update(ctx, tx) })
		if !errors.Is(err, ErrTxTooBig) {
			return r.stats, err
		}
		r.stats, r.wrong = resolved, wrongRow{}
	}
	b, err := s.newBulk()
	if err != nil {
		return stats, err
	}
	unlock = func() {} // the Bulk does it
	defer b.Abort()
	err = r.rewrite(ctx, b)
	return r.stats, err
}
