package kv

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/column"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/matrix"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// formatVersion is the version of everything on disk. A change that another program would misread adds one.
const formatVersion = 9

// A header is the first record written, and the only one whose form every format version shares.
type header struct {
	Version int    `msgpack:"version"`
	ID      string `msgpack:"id"` // 128 random bits, hexadecimal
}

// A catalog says what is in the store: counts, classes, and which generation of each column, matrix and space counts.
// What no generation of it names is garbage. Snapshots share one catalog and must not change it; an Update copies it
// before the first change, and writes the copy with its transaction: the counts alone if it changes nothing else.
type catalog struct {
	counts `msgpack:"-"`

	// LoadedNodes counts the nodes in the blocks of the graph's generation; the rest are deltas.
	LoadedNodes int  `msgpack:"loaded_nodes"`
	Directed    bool `msgpack:"directed,omitempty"`
	Weighted    bool `msgpack:"weighted,omitempty"`
	// DenseIDs says that the id of a loaded node is its position in the node file, so that no id is stored.
	DenseIDs bool `msgpack:"dense_ids"`
	// Unnamed counts the nodes in the blocks that had been removed when the blocks were written: these have no ids of
	// them.
	Unnamed int `msgpack:"unnamed,omitempty"`

	// Graph is the generation of the adjacency and dictionary blocks and deltas; zero when there are none.
	Graph    record.Generation `msgpack:"graph"`
	GraphSum record.Sum        `msgpack:"graph_sum,omitempty"`

	Classes  []string                     `msgpack:"classes"` // append only: a Class is a position
	Columns  map[string]column.Entry      `msgpack:"columns"`
	Matrices map[string]matrix.Entry      `msgpack:"matrices"`
	Spaces   map[string]record.Generation `msgpack:"spaces"`

	// Twice has the spaces that are kept twice.
	Twice map[string]bool `msgpack:"twice,omitempty"`

	// ChangesFrom is the commit from which on the store knows what its commits touched.
	ChangesFrom uint64 `msgpack:"changes_from"`

	classNumbers map[string]Class // the inverse of Classes

	// When it was read: the versions of the first part of its record, and of that of the counts.
	version, countsVersion uint64
}

// Adding a node or an edge changes the counts. They are a record of their own, of some dozen bytes, so that
// it need not write the rest of the catalogue, which grows with the classes and the columns of matrices.
type counts struct {
	Nodes      int               `msgpack:"nodes"`          // those added since the load included
	Edges      int64             `msgpack:"edges"`          // undirected, each once, deltas included
	EdgeDeltas int64             `msgpack:"edge_deltas"`    // edges added to or removed from the blocks, or changed
	Arcs       int64             `msgpack:"arcs,omitempty"` // of a directed graph, deltas included
	IntegerIDs bool              `msgpack:"integer_ids"`    // of every id so far
	Removed    int               `msgpack:"removed,omitempty"`
	Next       record.Generation `msgpack:"next"` // the next unused
}

func newCatalog() *catalog {
	return &catalog{
		counts:       counts{IntegerIDs: true, Next: 1},
		Columns:      map[string]column.Entry{},
		Matrices:     map[string]matrix.Entry{},
		Spaces:       map[string]record.Generation{},
		Twice:        map[string]bool{},
		classNumbers: map[string]Class{},
	}
}

// clone returns a catalog that can be changed without the original seeing it.
func (c *catalog) clone() *catalog {
	d := *c
	d.Classes = slices.Clip(c.Classes)
	d.Columns = maps.Clone(c.Columns)
	d.Matrices = maps.Clone(c.Matrices)
	d.Spaces = maps.Clone(c.Spaces)
	d.Twice = maps.Clone(c.Twice)
	d.classNumbers = maps.Clone(c.classNumbers)
	return &d
}

// errGenerations is returned if the numbers of generations have run out: none is used twice.
var errGenerations = errors.New("kv: the store was rewritten so often that its generations are used up: " +
	"export the graph and import it into a new one")

// newGeneration hands out a generation that was never used.
func (c *counts) newGeneration() (record.Generation, error) {
	if c.Next == math.MaxUint32 {
		return 0, errGenerations
	}
	c.Next++
	return c.Next - 1, nil
}

// isNewClass reports whether a value that fits a column of kind k is a class that is not there yet.
func (c *catalog) isNewClass(k Kind, value Value) bool {
	if k != KindClass || value.IsNull() {
		return false
	}
	_, known := c.classNumbers[value.Str()]
	return !known
}

// class returns the number of a class name, adding it to the classes if it is new.
func (c *catalog) class(name string) Class {
	if number, ok := c.classNumbers[name]; ok {
		return number
	}
	number := Class(len(c.Classes))
	c.Classes = append(c.Classes, name)
	c.classNumbers[name] = number
	return number
}

// live returns every generation the catalog names.
func (c *catalog) live() map[record.Generation]bool {
	live := map[record.Generation]bool{c.Graph: true, record.ChangesGeneration: true}
	for _, column := range c.Columns {
		live[column.Generation] = true
	}
	for _, matrix := range c.Matrices {
		live[matrix.Generation] = true
	}
	for _, g := range c.Spaces {
		live[g] = true
	}
	return live
}

func (c *catalog) numArcs() int64 {
	if c.Directed {
		return c.Arcs
	}
	return 2 * c.Edges
}

// dead returns a function that says whether a key is of a generation that the catalogue has given out and does not
// name. Nothing reads its record, and a fold leaves it out.
func (c *catalog) dead() func(key []byte) bool {
	live := c.live()
	return func(key []byte) bool {
		k := record.Kind(key[0])
		if k < record.FirstGenerational || k >= record.EndGenerational || len(key) < 5 {
			return false
		}
		g := record.GenerationOf(key)
		return g < c.Next && !live[g]
	}
}

// arcForm is the form of the arcs of the graph.
func (c *catalog) arcForm() codec.ArcForm {
	return codec.ArcForm{Directed: c.Directed, Weighted: c.Weighted}
}

// laterCatalogLost is for records of a generation that the catalogue did not give out: they were committed with a
// later one.
func laterCatalogLost(next, found record.Generation) error {
	return record.Corrupt(countsKey(), fmt.Sprintf(
		"they end before generation %d, and there are records of %d: a later catalogue is lost, "+
			"and with it what was committed since; no record was removed. Restore a backup", next, found))
}

func catalogKey() []byte { return []byte{byte(record.KindCatalog)} } // of the chain
func countsKey() []byte  { return []byte{byte(record.KindCounts)} }

// decodeCatalog decodes a catalogue whose counts are decoded by themselves.
func decodeCatalog(body []byte) (*catalog, error) {
	c := newCatalog()
	if err := msgpack.Unmarshal(body, c); err != nil {
		return nil, record.Corrupt(catalogKey(), err.Error())
	}
	// msgpack sets a map to nil if the record holds nil.
	if c.Columns == nil || c.Matrices == nil || c.Spaces == nil || c.Twice == nil || c.LoadedNodes < 0 {
		return nil, record.Corrupt(catalogKey(), "its entries contradict each other")
	}
	for i, name := range c.Classes {
		c.classNumbers[name] = Class(i)
	}
	return c, nil
}

// withCounts is the catalogue with the counts of a record; it shares all else with c, which nobody may change then.
func (c *catalog) withCounts(body []byte) (*catalog, error) {
	d := *c
	d.counts = counts{}
	if err := msgpack.Unmarshal(body, &d.counts); err != nil {
		return nil, record.Corrupt(countsKey(), err.Error())
	}
	if d.Removed < d.Unnamed || d.Removed > d.Nodes {
		return nil, record.Corrupt(countsKey(), fmt.Sprintf("%d of %d nodes are removed, and %d were before", d.Removed,
			d.Nodes, d.Unnamed))
	}
	if d.LoadedNodes < 0 || d.Nodes < d.LoadedNodes || d.Nodes > record.MaxNodes {
		return nil, record.Corrupt(countsKey(), fmt.Sprintf("there are %d nodes, of at most %d, and %d were loaded", d.Nodes,
			record.MaxNodes, d.LoadedNodes))
	}
	return &d, nil
}

// A catalogCopy is the header, and the catalogue as the last commit left it that changed it. It is kept in the file
// "catalog" beside Badger.
type catalogCopy struct {
	Header  header   `msgpack:"header"`
	Version uint64   `msgpack:"version"` // of the record of the catalogue
	Catalog *catalog `msgpack:"catalog"`
	Counts  counts   `msgpack:"counts"`
}

// parseCatalogCopy returns an empty copy for a nil text.
func (s *Store) parseCatalogCopy(text []byte) (c catalogCopy, err error) {
	if text == nil {
		return c, nil
	}
	if err := msgpack.Unmarshal(text, &c); err != nil {
		return c, record.CorruptFile(s.catalogPath(), "%v", err)
	}
	return c, nil
}

func (s *Store) catalogPath() string { return filepath.Join(s.dir, lsm.CatalogName) }

// openPacks opens the packs of a store that was opened for writing, once it is as it was before a crash. It returns
// an ErrCorrupt if the copy of the catalogue is later than the catalogue: packs may be gone that this names.
func (s *Store) openPacks() error {
	copied, err := s.parseCatalogCopy(s.db.CatalogCopy())
	if err != nil {
		return err
	}
	tx := s.beginBare(false, nil)
	defer tx.end()
	cat, err := tx.uncountedCatalog() // the counts may be damaged
	if err != nil {
		return err
	}
	live := cat.live()
	if s.copied = copied.Version; s.copied > cat.version {
		return record.CorruptFile(s.catalogPath(),
			"it has the catalogue of commit %d, and the store has that of commit %d: a later catalogue is lost",
			s.copied, cat.version)
	}
	return s.db.OpenPacks(func(g record.Generation) bool { return live[g] })
}

// sweep keeps a copy of the catalogue if that has changed, and then removes the packs of generations that it does not
// name: what a crash or an abort left of a bulk write, and what a commit replaced. Open snapshots go on reading them.
// Small records of such generations stay until the next fold. The caller holds the writer's lock.
func (s *Store) sweep() error {
	began, dropped := time.Now(), int64(0)
	err := s.lastView(func(tx *Tx) (err error) {
		version, live := tx.cat.version, tx.cat.live()
		isLive := func(g record.Generation) bool { return live[g] }
		dropped, err = s.db.KeepPacks(isLive, version != s.copied, func() ([]byte, error) {
			return msgpack.Marshal(catalogCopy{s.header, version, tx.cat, tx.cat.counts})
		})
		if err == nil {
			s.copied = version
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", s.name, err)
	}
	if dropped > 0 || err != nil {
		s.log("sweep", began, err, "bytes", dropped)
	}
	return err
}

// checkCatalog refuses a catalogue of so many bytes that it does not fit into a transaction beside its counts.
func (tx *Tx) checkCatalog(size int) error {
	limit := int(tx.s.db.MostInTransaction()) - record.PartSize
	if size <= limit {
		return nil
	}
	columns := 0
	for _, m := range tx.cat.Matrices {
		columns += len(m.Columns)
	}
	return fmt.Errorf("%w: %d classes, %d columns of nodes and %d of matrices take %d bytes, and the catalogue takes "+
		"at most %d: want fewer or shorter ones",
		ErrCatalogTooBig, len(tx.cat.Classes), len(tx.cat.Columns), columns, size, limit)
}
