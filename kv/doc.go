// Package kv keeps a labelled graph on disk: nodes and their external ids, adjacency, property columns, matrices, and
// whatever upper rooms store in lent key ranges and small documents. It is built on Badger, which only its packages
// kv/internal/lsm and kv/internal/pack import. Where directories have locks, a store that is opened to be read is read without Badger, from the same files.
//
// # Use
//
// [NewLoader] loads a whole graph into a fresh directory; [Create] makes an empty store. [Open] opens one, for writing by
// one process or, with Options.ReadOnly, for reading by many. Then
//
//	Store.View, Store.Begin   a snapshot to read from: it does not change while others write
//	Store.Update              one transaction: all of it is on disk when it returns, or nothing
//	Store.NewPatch            any number of nodes and edges, by their ids, added, changed and removed at once
//	Store.Bulk                whole columns, matrices and spaces, written beside the live ones and switched at once
//	Store.Compact             folds what Updates changed into the blocks
//	Store.Check               looks for damage
//	Store.Backup              writes a snapshot, or what changed since an earlier one, to one file
//	Tx.ChangesSince           the nodes that were written to since an earlier commit
//	Options.Observe           is called at each Event; Options.Logger logs it
//
// [Repair] makes a damaged store usable again, without the lost parts. [Restore] makes a store from backups.
//
// Nodes are numbered densely, 0 ≤ v < [Tx.NumNodes], by descending degree at the load; nodes added later follow. Every
// node has the columns of the store, each value of which may be null. The column "label" holds the given labels; id and
// degree are read like columns. [Tx.RemoveNode] leaves a number without a node, for ever: [Tx.Removed] has these numbers,
// and [Tx.NumPresent] counts the nodes that are there. What reads ranges of nodes, such as Tx.ReadDegrees, reads a removed
// node as one without edges and values.
//
// # Promises
//
// Once Update or Bulk.Commit has returned, its writes survive a crash and a power cut, all of them or, before that, none. Damage
// is an [ErrCorrupt], never an empty answer, and [Repair] tells what it cost. docs/durability/promises.md lists every promise, with its
// tests and its exceptions.
//
// [Store.Work] lends the directory "work" of a store to long jobs, which keep finished stages there. It is no part of the
// store, and may be deleted while no process has the store open. [Repair] leaves the store as it was beside, in DIR.before-repair.
//
// The lock on a store is the flock of its directory, which Open takes and Close gives back: one process has it alone, to
// write, or many share it, to read (TestLockIsThatOfBadger, TestLockBesideChildren). If a system has no such locks, Badger
// locks the file LOCK.
//
// There is one writer at a time: an Update, a Bulk or a Compact waits for the one before it, readers for none of them. A
// transaction holds some megabytes ([ErrTxTooBig]); what is larger goes through Bulk or a [Loader].
//
// # File modes
//
// A store is its owner's alone: its directory, and those that a load or a Restore works in, are made with the mode 0700.
// The files in the directory of a store have its mode without the bits to execute, so 0600, whatever the umask is; they are
// given it when the store is opened for writing and when it is closed. To share a store, change the mode of its directory;
// the files follow. A store that is loaded or restored into an empty directory keeps the mode of that directory.
//
// # Records
//
// Every value is one msgpack record, an array of three:
//
//	[version uint8, checksum uint32, body bin]
//
// The checksum is the CRC-32C of the key, the version and the body. A body is at most 64 KiB or little more, so that no
// value reaches Badger's value log. Longer bodies are stored in parts. The first part begins with the number of parts. The
// bodies of documents and of the catalogue are themselves msgpack; those of blocks are packed by the encodings described
// beside their code.
//
// A load writes the tables of the last level itself, each byte once, without Badger's log and merges. The bytes depend on
// the graph alone. Badger then opens the tables.
//
// # Files
//
//	MANIFEST, KEYREGISTRY, DISCARD         of Badger
//	LOCK                                   the number of the process that writes; there after a crash too
//	000001.sst …                           tables
//	00001.mem …                            Badger's logs, of what is in no table yet; synced with each commit
//	decisions.log                          spaces that are kept twice, a second time; synced with each commit that writes to one
//	verified                               the tables that were compared; may be deleted
//	work                                   no part of the store
//
// A transaction is numbered, and Badger syncs it. So each costs one sync, or less: those that wait for the disk at the same time share
// one. A transaction that writes to a space which is kept twice is appended to decisions.log and synced there before. Package
// kv/internal/decisions describes the form of the file.
//
// # Keys
//
// A key is a kind, one byte, and big-endian fields of fixed width, so that byte order is the order of the numbers.
//
//	01                            header: format version, store id, creation
//	02 part                       catalogue
//	03 space 00 key part          document
//	04                            counts: what small writes change of the catalogue
//	05                            number of the last commit
//	10 generation block part      adjacency: the lists of consecutive nodes, gap-coded
//	11 generation chunk           adjacency directory: which nodes are in which block
//	12 generation node node       edge added, removed or changed since the load, under both ends
//	13 generation node            how many of each
//	14 generation block part      arcs: of a directed or weighted graph, what joins each neighbour in the lists
//	20 generation block           external ids, in file order
//	21 generation bucket          external id → place in the node file
//	22 generation block           place in the node file → node
//	23 generation block           node → place in the node file
//	24 generation node            external id of a node added since the load
//	25 generation id              its node
//	26 generation block           which of 1024 nodes are removed, a bit each
//	30 generation block part      column: the values of 4096 consecutive nodes, with least and greatest
//	31 generation node            value changed since
//	40 generation tile block      matrix: columns of up to 1024 consecutive rows, dense, sparse or with one value in most cells
//	41 generation node part       row changed since
//	50 generation key             entry of a space
//	51 generation commit part     nodes that the commit touched; generation 0
//
// The lists hold the neighbours of the undirected graph, whatever the direction of the arcs, so that an undirected and
// unweighted graph has no records of arcs; [Tx.Along] puts both together.
//
// Kind 1 byte; generation, block, tile, chunk, bucket and node 4 bytes; commit 8; part 2, of adjacency 4; the rest as it is.
//
// The catalogue has the classes, and names the current generation of the graph, of each column, matrix and space, and of what
// is kept of changes. The numbers of nodes and edges are a small record of their own, so that adding some does not write the
// whole catalogue. A generation is written once, as a whole. Afterwards it only gets small delta records, which all reads merge
// in. A new generation replaces the old one: one transaction makes the catalogue name the new one. Then the records of
// generations without a name are deleted; after a crash, the next Open for writing deletes them.
//
// # Format version
//
// A store has format version 4. One of another version is refused with a [*VersionError].
package kv
