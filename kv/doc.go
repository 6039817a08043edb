// Package kv keeps a labelled graph on disk: nodes and their external ids, adjacency, property columns, matrices, and
// whatever upper rooms store in lent key ranges and small documents. It is built on Badger, which only its packages
// kv/internal/lsm and kv/internal/pack import. A store that is opened to be read is read without Badger, from the same
// files.
//
// # Use
//
// [NewLoader] loads a whole graph into a fresh directory; [Create] makes an empty store. [Open] opens one, for writing
// by one process or, with Options.ReadOnly, for reading by many. Then
//
//	Store.View, Store.Begin   a snapshot to read from: it does not change while others write
//	Store.Update              one transaction: all of it is on disk when it returns, or nothing
//	Store.NewPatch            any number of nodes and edges, by their ids, added, changed and removed at once
//	Store.Bulk                whole columns, matrices and spaces, written beside the live ones and switched at once
//	Store.Compact             folds what Updates changed into the blocks
//	Store.Check               looks for damage
//	Store.Backup              writes a snapshot, or what changed since an earlier one, to one file
//	Tx.ChangesSince           the nodes that were written to since an earlier commit
//	Options.Logger            is told what the store does
//
// [Repair] makes a damaged store usable again, without the lost parts. [Restore] makes a store from backups.
//
// Nodes are numbered densely, 0 ≤ v < [Tx.NumNodes], by descending degree at the load; nodes added later follow. Every
// node has the columns of the store, each value of which may be null. The column "label" holds the given labels; id
// and degree are read like columns. [Tx.RemoveNode] leaves a number without a node, for ever: [Tx.Removed] has these
// numbers, and [Tx.Shape] counts the nodes that are there. What reads ranges of nodes, such as Tx.ReadDegrees, reads a
// removed node as one without edges and values.
//
// # Promises
//
// Once Update or Bulk.Commit has returned, its writes survive a crash and a power cut, all of them or, before that,
// none. Damage is an [ErrCorrupt], never an empty answer, and [Repair] tells what it cost. docs/durability/promises.md
// lists every promise, with its tests and its exceptions.
//
// [Store.Work] lends the directory "work" of a store to long jobs, which keep finished stages there. It is no part of
// the store, and may be deleted while no process has the store open. [Repair] leaves the store as it was beside, in
// DIR.before-repair.
//
// The lock on a store is the flock of its directory, which Open takes and Close gives back: one process has it alone,
// to write, or many share it, to read (TestLockIsThatOfBadger, TestLockBesideChildren). Windows has no such locks:
// there it is a mutex with the name of the path, which one process has.
//
// There is one writer at a time: an Update, a Bulk or a Compact waits for the one before it, readers for none of them.
// A transaction holds some megabytes ([ErrTxTooBig]); what is larger goes through Bulk or a [Loader].
//
// docs/format.md describes the files, the records and their keys. A store of another format version is refused with
// [ErrVersion].
package kv
