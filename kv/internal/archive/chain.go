package archive

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// contextEvery is how many entries are read between two looks at a context.
const contextEvery = 4096

// A Chain is a full stream with those that follow it.
type Chain struct{ readers []*reader }

// Open reads what the streams begin with. The chain must be closed.
func Open(files []io.Reader) (_ *Chain, err error) {
	c := new(Chain)
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if len(files) == 0 {
		return nil, fmt.Errorf("%w: there is none", ErrOrder)
	}
	for i, file := range files {
		r, err := newReader(file, i)
		if err != nil {
			return nil, err
		}
		c.readers = append(c.readers, r)
		if i == 0 {
			if !r.head.Full {
				return nil, outOfOrder(i, "it goes on from another, and is the first")
			}
			continue
		}
		before := c.readers[i-1].head
		switch {
		case r.head.Full:
			return nil, outOfOrder(i, "it is a full backup: want it first, or alone")
		case r.head.Store != before.Store:
			return nil, outOfOrder(i, "it is of the store %s, and the one before of %s", r.head.Store, before.Store)
		case r.head.Format < before.Format || r.head.Since != before.Snapshot:
			return nil, outOfOrder(i, "it was made since commit %d, and the one before is of commit %d",
				r.head.Since, before.Snapshot)
		}
	}
	return c, nil
}

// Close gives its memory back.
func (c *Chain) Close() {
	for _, r := range c.readers {
		r.close()
	}
}

func (c *Chain) last() *reader { return c.readers[len(c.readers)-1] }

// Head is that of the last stream.
func (c *Chain) Head() Head { return c.last().head }

// Fail is the error that the last stream is damaged, somewhere.
func (c *Chain) Fail(format string, args ...any) error { return c.last().fail(-1, format, args...) }

// Read calls use with every record that the last stream has, ascending, whole and borrowed; then it makes sure that all
// streams are whole and follow one another. progress counts bytes of records.
func (c *Chain) Read(
	ctx context.Context, progress func(done, total int64), use func(key, record []byte, version uint64) error,
) (Info, error) {
	head, done, count := c.Head(), int64(0), 0
	for e, err := range c.entries(ctx, len(c.readers)-1) {
		if err != nil {
			return Info{}, err
		}
		if count++; count%contextEvery == 1 {
			progress(done, head.Bytes)
		}
		if done += int64(len(e.key) + len(e.record)); done > head.Bytes {
			break // the disk was asked for less
		}
		if err := use(e.key, e.record, e.version); err != nil {
			return Info{}, err
		}
	}
	if done != head.Bytes {
		return Info{}, c.Fail("its records have %d bytes or more, want %d", done, head.Bytes)
	}
	return c.last().info(), ctx.Err()
}

// entries yields all entries of a stream, with their records, also those that are kept. Then it makes sure that the
// stream follows the one before.
func (c *Chain) entries(ctx context.Context, i int) iter.Seq2[entry, error] {
	own := c.readers[i].entries(ctx)
	if i == 0 {
		return own
	}
	return func(yield func(entry, error) bool) {
		before := newCursor(c.entries(ctx, i-1))
		defer before.stop()
		for e, err := range own {
			if err == nil {
				err = before.seek(e.key)
			}
			if err == nil && e.record == nil {
				if !before.has(e) {
					err = outOfOrder(i, "%s is kept from the one before, which has another or none", record.Describe(e.key))
				}
				e.record = before.entry.record
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		err := before.end()
		if err == nil && !bytes.Equal(c.readers[i].base, c.readers[i-1].in.sum) {
			err = outOfOrder(i, "it was made since another backup than the one before")
		}
		if err != nil {
			yield(entry{}, err)
		}
	}
}

// A cursor goes through the entries of a stream beside another.
type cursor struct {
	entry entry
	more  bool // entry is one, or the first is to come
	next  func() (entry, error, bool)
	stop  func()
}

func newCursor(entries iter.Seq2[entry, error]) *cursor {
	c := &cursor{more: true}
	c.next, c.stop = iter.Pull2(entries)
	return c
}

// seek goes to the first entry whose key is not before one.
func (c *cursor) seek(key []byte) (err error) {
	for err == nil && c.more && bytes.Compare(c.entry.key, key) < 0 {
		c.entry, err, c.more = c.next()
	}
	return err
}

// has reports whether the entry is another.
func (c *cursor) has(e entry) bool {
	return c.more && bytes.Equal(c.entry.key, e.key) && c.entry.version == e.version && c.entry.sum == e.sum
}

// end goes on to the end.
func (c *cursor) end() (err error) {
	for err == nil && c.more {
		_, err, c.more = c.next()
	}
	return err
}
