package lsm

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A PackWriter writes the records of new generations as packs, each byte once: there is no log, and nothing to merge.
// The keys of a kind and a generation ascend. One goroutine.
//
// As nothing names the generation of such a pack before a commit does, the next open removes it after a crash.
type PackWriter struct {
	// Sums are those of the records of each generation.
	Sums map[record.Generation]record.Sum

	Records, Bytes int64 // how many records it was given, and the bytes of their keys and of them

	d       *DB
	most    int64  // bytes at which a pack ends
	record  []byte // scratch
	streams map[stream]*streamWriter
	ended   []*streamWriter // not published

	own func() *pack.Writer // begins a table of ownStream; nil if none is written

	syncs   sync.WaitGroup
	syncing chan struct{} // holds a token of each that runs
}

// ownStream is the stream of the records that are in no pack, but in tables of Badger's own.
var ownStream stream

type streamWriter struct {
	*pack.Writer
	id      uint64 // of the pack
	syncing error  // set once it was made durable, or not
}

const (
	// packBytes is the size of a pack: large enough that few are to be synced and opened.
	packBytes = 16 << 20

	// packSyncs is how many packs are made durable while others are written.
	packSyncs = 2

	// packVersion is the version of what is in a pack: the first, which every snapshot sees. What is written later of
	// the same generation has a later one.
	packVersion = 1
)

// NewPacks begins packs.
func (d *DB) NewPacks() *PackWriter {
	return &PackWriter{
		Sums: map[record.Generation]record.Sum{}, d: d, most: packBytes,
		streams: map[stream]*streamWriter{}, syncing: make(chan struct{}, packSyncs),
	}
}

// Put adds the record of a body. The caller may reuse key and body.
func (b *PackWriter) Put(key, body []byte) error {
	b.record = record.Append(b.record[:0], key, body)
	b.Sums[record.GenerationOf(key)] = b.Sums[record.GenerationOf(key)].Add(b.record)
	return b.add(streamOf(key), key, b.record, packVersion)
}

// add adds a record of a version to the pack of a stream.
func (b *PackWriter) add(name stream, key, value []byte, version uint64) error {
	t := b.streams[name]
	if t == nil {
		if err := b.d.failure.err(); err != nil { // the directory may have been moved
			return err
		}
		t = b.begin(name)
		b.streams[name] = t
	}
	b.Records++
	b.Bytes += int64(len(key) + len(value))
	err := t.Add(key, value, version)
	if err == nil && t.Bytes() >= b.most {
		err = b.end(name)
	}
	return wrapBadger(err)
}

// begin begins the pack of a stream, or a table of Badger's own.
func (b *PackWriter) begin(name stream) *streamWriter {
	if name == ownStream {
		return &streamWriter{Writer: b.own()}
	}
	b.d.packs.last = max(b.d.packs.last, firstPack) + 1
	return &streamWriter{Writer: pack.NewWriter(openPath(b.d.dir, b.d.packs.last)), id: b.d.packs.last}
}

// end ends the pack of a stream, and has it made durable.
func (b *PackWriter) end(name stream) error {
	t := b.streams[name]
	delete(b.streams, name)
	b.ended = append(b.ended, t)
	if err := t.End(); err != nil {
		return err
	}
	b.syncing <- struct{}{}
	b.syncs.Go(func() {
		t.syncing = t.Sync()
		<-b.syncing
	})
	return nil
}

// Flush ends all packs, and returns once they are durable. More can be put then.
func (b *PackWriter) Flush() error {
	names := slices.SortedFunc(maps.Keys(b.streams), func(x, y stream) int { return bytes.Compare(x[:], y[:]) })
	for _, name := range names {
		if err := b.end(name); err != nil {
			return wrapBadger(err)
		}
	}
	b.syncs.Wait()
	for _, t := range b.ended {
		if t.syncing != nil {
			return wrapBadger(t.syncing)
		}
	}
	return nil
}

// Publish is Flush, and has snapshots that begin from now on see the packs. That is to be done before a commit names
// their generations. They are listed first, so that one which is gone after that commit is missed.
func (b *PackWriter) Publish() error {
	if err := b.Flush(); err != nil || len(b.ended) == 0 {
		return err
	}
	if err := durable.SyncDirectory(b.d.dir); err != nil {
		return err
	}
	b.d.packs.mu.Lock()
	all := slices.Clone(b.d.packs.now.tables)
	b.d.packs.mu.Unlock()
	listed := map[uint64]pack.Listed{}
	maps.Copy(listed, b.d.catalog.Packs)
	for _, t := range b.ended {
		h, err := b.d.openPack(t.id)
		if err != nil {
			return err
		}
		all = append(all, h)
		listed[h.id] = h.Listed
	}
	if b.d.catalog.Body != nil { // else it is of a load, which a crash starts over
		if err := b.d.catalog.write(b.d.dir, catalogFile{b.d.catalog.Body, listed}); err != nil {
			return err
		}
	}
	b.ended = nil
	return b.d.packs.replace(newPackSet(all))
}

// Cancel removes the packs that were not published.
func (b *PackWriter) Cancel() (err error) {
	b.syncs.Wait()
	for _, t := range b.streams {
		b.ended = append(b.ended, t)
	}
	clear(b.streams)
	for _, t := range b.ended {
		err = errors.Join(err, t.Remove(b.d.disk.Remove))
	}
	b.ended = nil
	return err
}
