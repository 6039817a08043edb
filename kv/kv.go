// Package kv keeps a labelled graph on disk: nodes and their external ids, adjacency, property columns, matrices, and
// small documents and key ranges of upper rooms. It is built on Badger, which only its packages kv/internal/lsm and
// kv/internal/pack import. A store that is opened to be read is read without Badger, from the same files.
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
// A Store, and a Tx of View or Begin, may be used by many goroutines; a Tx of Update, a Bulk, a Patch, a Loader and
// every reader and writer by one. A slice that is handed out is lent: until the next step of an iteration, the next
// call of its reader, or the end of its Tx. Strings stay.
//
// docs/format.md describes the files, the records and their keys. A store of another format version is refused with
// [ErrVersion].
package kv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/kv/internal/archive"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A NodeID numbers a node inside a store: dense, 0 ≤ v < Tx.NumNodes. The bulk load numbers nodes by descending
// degree (ties in file order); nodes added later follow.
type NodeID = record.NodeID

// A NodeSet is a set of nodes. bitset.New makes one; its methods are Add, Has, Len and All, which yields the nodes,
// ascending.
type NodeSet = bitset.Set[NodeID]

// A Class is a position in Tx.Classes; NoClass means unlabelled.
type Class int32

// Kind is the type of a property column, or of a Value: KindNull, KindBool, KindInt, KindFloat, KindSingle, KindString
// or KindClass. String is its name, and IsColumn says whether a column may be of it. The numbers are written to disk.
type Kind = codec.Kind

// A Value is one property value: null, bool, int64, float64 or string. The zero Value is null. Values are equal when
// == says so. It can be part of a document. Its methods are Kind, IsNull, Bool, Int, Float, Str, String, Compare,
// Append and Parse, which reads what Append appends to nothing.
type Value = codec.Value

// ValueOf is the value of a bool, a number or a string. NaN is null: a store has one way to say that a number is not
// there. A string should be UTF-8; an empty one is not null.
func ValueOf[T bool | int | int64 | float64 | string](x T) Value {
	switch x := any(x).(type) {
	case bool:
		return codec.BoolValue(x)
	case int:
		return codec.IntValue(int64(x))
	case int64:
		return codec.IntValue(x)
	case float64:
		return codec.FloatValue(x)
	case string:
		return codec.StringValue(x)
	}
	return Value{} // it is one of these
}

// Values that stand for nothing, kinds and directions, names that every store has, and limits.
const (
	// NoNode is no node: a store has at most this many, numbered below it.
	NoNode NodeID = math.MaxUint32

	// NoClass is the class of an unlabelled node.
	NoClass Class = -1

	// UnknownCount is the Count of a loss if nobody knows how many things were lost.
	UnknownCount = lsm.UnknownCount

	// The kinds of values. Their numbers are part of the format.
	KindNull   = codec.KindNull
	KindBool   = codec.KindBool   // bool
	KindInt    = codec.KindInt    // int64
	KindFloat  = codec.KindFloat  // float64
	KindSingle = codec.KindSingle // float32 on disk, a Float value when read
	KindString = codec.KindString // UTF-8
	KindClass  = codec.KindClass  // an entry of the store's class dictionary; a String value when read

	// LabelColumn is the column of given labels, which every store has.
	LabelColumn = "label"

	// LostPrefix begins the id that Repair makes up for a node of which it cannot read the id, once or, if other ids begin
	// so, more often. The place in the node file follows.
	LostPrefix = "lost-"

	// BeforeRepair ends the name of the directory beside a repaired store in which the store is as it was.
	BeforeRepair = ".before-repair"

	MaxID         = dict.MaxID      // bytes of an external node id
	MaxName       = 256             // bytes of the name of a column, matrix, space or class
	MaxString     = codec.MaxString // bytes of a string value
	MaxSpaceKey   = 512             // bytes of the key of an entry
	MaxSpaceValue = 64 << 10        // bytes of its value

	// BlockRows is how many consecutive nodes a block of a column has. The first of them is a multiple of it.
	BlockRows = codec.ColumnRows
)

// The errors of the package. Each is wrapped with the thing that it is about.
var (
	// When a store is opened or created:

	// ErrNotStore is returned by Open for a directory that holds no store.
	ErrNotStore = lsm.ErrNotStore

	// ErrVersion is returned by Open, Repair and Restore for a store of another format version.
	// A read of a record with an unknown version returns ErrVersion too.
	ErrVersion = record.ErrVersion

	// ErrLocked is returned for a store that another process, or this one, has open, and by a load or a Restore if
	// another runs into the same directory.
	ErrLocked = storedir.ErrLocked

	// ErrForeignFile is returned for a store in which there is a file that no store has: a symbolic link, a named pipe
	// or a device, or, unless the store is only read, a file with hard links. Such a store may come from somebody who
	// wants a file elsewhere changed.
	ErrForeignFile = storedir.ErrForeignFile

	// ErrCrashed is returned by a read-only Open of a store that was not closed: its log must be replayed first,
	// which writes, and needs room on disk for it.
	ErrCrashed = lsm.ErrCrashed

	// When reading:

	// ErrNotFound is returned when a node, edge, matrix or document is not there.
	ErrNotFound = record.ErrNotFound

	// ErrNoColumn is returned for a property name that no column has.
	ErrNoColumn = errors.New("kv: no such column")

	// ErrCorrupt is returned for a damaged record or file of a store: empty, changed, missing, or under another key.
	ErrCorrupt = record.ErrCorrupt

	// ErrShape is returned if a slice does not have the length, or a range not the bounds, that the store has.
	ErrShape = snapshot.ErrShape

	// ErrNotTracked is returned if the store does not know all that changed since a mark.
	ErrNotTracked = errors.New("kv: changes are not known")

	// ErrClosed is returned by everything that is used after its end: a Store after Close, a Tx after Close or
	// outside the closure it was given to, a Bulk after Commit or Abort.
	ErrClosed = record.ErrClosed

	// When writing:

	// ErrBusy is returned by Close while a Bulk is open.
	ErrBusy = errors.New("kv: store is being written")

	// ErrReadOnly is returned by writes to a store opened read-only, and to a Tx that is not an Update's.
	ErrReadOnly = lsm.ErrReadOnly

	// ErrExists is returned if the new thing is there already.
	ErrExists = record.ErrExists

	// ErrInStore is returned if a new store would lie inside another store, which would take it for damage.
	ErrInStore = errors.New("kv: lies in the store")

	// ErrInvalidID is returned for an external node id that is empty, too long, not UTF-8 or has control characters.
	ErrInvalidID = errors.New("kv: invalid node id")

	// ErrInvalidEdge is returned for a self loop, for a bad weight, and for a weight in a graph without weights.
	ErrInvalidEdge = graph.ErrInvalidEdge

	// ErrInvalidName is returned for a column, matrix, space, document or class name that cannot be one.
	ErrInvalidName = errors.New("kv: invalid name")

	// ErrInvalidValue is returned for a value that its column cannot hold.
	ErrInvalidValue = record.ErrInvalidValue

	// ErrIndexed is returned by a write to an indexed column of a store that was opened without Options.OnWrite.
	ErrIndexed = errors.New("kv: column is indexed, and the store was opened without Options.OnWrite")

	// ErrNoSpace is returned if the disk has too little room for a write and for the tables that follow from the
	// write. The write does nothing.
	ErrNoSpace = storedir.ErrNoSpace

	// ErrMoved is returned by writes to a store, and by its Close, if its directory was moved, replaced or deleted
	// since Open. The writes do nothing, and Close leaves the files as they are. All earlier commits are in
	// the directory: a store that is opened where its directory is now goes on from there. What Close has not ended
	// stays in memory until the process ends.
	ErrMoved = storedir.ErrMoved

	// ErrFailed is returned by writes to a store, and by its Close, after the disk failed a write. All earlier commits
	// are on the disk; a store that is closed and opened again goes on from there. If the tables cannot be opened
	// again after a fold, reads return ErrFailed too.
	ErrFailed = lsm.ErrFailed

	// ErrCommitted is returned by Update, Bulk.Commit and Compact if something failed after the commit. The writes
	// have happened.
	ErrCommitted = errors.New("committed")

	// ErrCatalogTooBig is returned if the names of classes and of matrix columns together exceed a transaction: about
	// 1.1 MB. A larger memory budget allows more, except for a Loader.
	ErrCatalogTooBig = errors.New("kv: too many names")

	// ErrTxTooBig is returned when an Update has written more than a transaction can hold.
	ErrTxTooBig = lsm.ErrTxTooBig

	// ErrDuplicateRow is returned when a bulk writer was given a node twice.
	ErrDuplicateRow = errors.New("kv: node given twice")

	// When reading backups:

	// ErrBackup is returned for a file that is no backup, or is cut short or damaged. The error is a *BackupError.
	ErrBackup = archive.ErrDamaged

	// ErrBackupOrder is returned for backups that do not follow one another: each must be of the same store, and made
	// since the one before. The error is a *BackupError.
	ErrBackupOrder = archive.ErrOrder
)

// versionError says that the format of a store is older or newer than this program reads.
func versionError(dir string, version int) error {
	writer := "a newer"
	if version < formatVersion {
		writer = "an older"
	}
	return fmt.Errorf("%s: %w: it is %d, want %d: %s graphcleaner wrote it",
		dir, ErrVersion, version, formatVersion, writer)
}

// A BackupError names the wrong backup file. It is an ErrBackup or an ErrBackupOrder. Its fields are
//
//	File int // from 0
//	Msg  string
//	Err  error // with the place in the file
type BackupError = archive.Error

// log logs what the store did since a time, zero if it took none, or why it failed.
func (s *Store) log(what string, began time.Time, err error, attrs ...any) {
	if s.opt.Logger == nil {
		return
	}
	attrs = append(attrs, "store", s.dir)
	if !began.IsZero() {
		attrs = append(attrs, "duration", time.Since(began))
	}
	level := slog.LevelInfo
	switch {
	case errors.Is(err, ErrCorrupt):
		level = slog.LevelError
	case err != nil:
		level = slog.LevelWarn
	case what == "commit" || what == "sweep":
		level = slog.LevelDebug
	}
	if err != nil {
		attrs = append(attrs, "error", err)
	}
	s.opt.Logger.Log(context.Background(), level, what, attrs...)
}

// damaged logs a record that could not be decoded, and returns err.
func (s *Store) damaged(err error) error {
	if errors.Is(err, ErrCorrupt) {
		s.log("corrupt record", time.Time{}, err)
	}
	return err
}

// fit converts a value to one that a column of a kind holds: a number for a float column, a float32's worth for a
// single one. A class stays a string, and the empty class is null.
func fit(k Kind, v Value) (Value, error) {
	switch {
	case v.IsNull():
		return v, nil
	case k == KindBool && v.Kind() == KindBool, k == KindInt && v.Kind() == KindInt, k == KindFloat &&
		v.Kind() == KindFloat:
		return v, nil
	case k == KindFloat && v.Kind() == KindInt:
		return ValueOf(v.Float()), nil
	case k == KindSingle && (v.Kind() == KindInt || v.Kind() == KindFloat):
		return ValueOf(float64(float32(v.Float()))), nil
	case k == KindString && v.Kind() == KindString:
		if len(v.Str()) > MaxString {
			return Value{}, fmt.Errorf("%w: a string of %d bytes, want at most %d", ErrInvalidValue, len(v.Str()), MaxString)
		}
		if !utf8.ValidString(v.Str()) {
			return Value{}, fmt.Errorf("%w: the string %q is not UTF-8", ErrInvalidValue, v.Str())
		}
		return v, nil
	case k == KindClass && v.Kind() == KindString:
		if v.Str() == "" {
			return Value{}, nil
		}
		return v, validateName("class", v.Str())
	}
	return Value{}, fmt.Errorf("%w: got %s %q, want %s", ErrInvalidValue, v.Kind(), v, k)
}

// validateName checks the name of a column, matrix, space or class; what says which of these it is.
func validateName(what, name string) error {
	return validateText(what, " name ", name, MaxName, ErrInvalidName)
}

// validateID checks an external node id.
func validateID(id string) error { return validateText("", "", id, MaxID, ErrInvalidID) }

// validateText checks a text that sentinel says the use of; what and of are put before the text. They are two, as one
// would be made for each text that is as it should be.
func validateText(what, of, text string, limit int, sentinel error) error {
	switch {
	case text == "":
		return fmt.Errorf("%w: %s%s%q is empty", sentinel, what, of, text)
	case len(text) > limit:
		return fmt.Errorf("%w: %s%s%q… has %d bytes, want at most %d", sentinel, what, of, firstRunes(text, 20),
			len(text), limit)
	case !utf8.ValidString(text):
		return fmt.Errorf("%w: %s%s%q is not UTF-8", sentinel, what, of, text)
	}
	if i := strings.IndexFunc(text, isControl); i >= 0 {
		return fmt.Errorf("%w: %s%s%q has a control character at byte %d", sentinel, what, of, text, i)
	}
	return nil
}

// isControl reports the characters that break a line of output, or a key.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
