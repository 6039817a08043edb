package archive

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// contextEvery is how many records are read between two looks at a context.
const contextEvery = 4096

// A Chain is a full stream with those that follow it.
type Chain struct {
	readers []*reader
	more    []bool // of each reader that its entry is one
}

// Open reads what the streams begin with. The chain must be closed.
func Open(files []io.Reader) (_ *Chain, err error) {
	c := &Chain{more: make([]bool, len(files))}
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
	last, head, done := len(c.readers)-1, c.Head(), int64(0)
	for count := 0; ; count++ {
		if count%contextEvery == 0 {
			if err := ctx.Err(); err != nil {
				return Info{}, err
			}
			progress(done, head.Bytes)
		}
		if err := c.next(last); err != nil {
			return Info{}, err
		}
		if !c.more[last] {
			break
		}
		e := c.readers[last].entry
		whole, err := c.record(last)
		if err != nil {
			return Info{}, err
		}
		if done += int64(len(e.key) + len(whole)); done > head.Bytes {
			break // the disk was asked for less
		}
		if err := use(e.key, whole, e.version); err != nil {
			return Info{}, err
		}
	}
	if done != head.Bytes {
		return Info{}, c.Fail("its records have %d bytes or more, want %d", done, head.Bytes)
	}
	for i, r := range c.readers {
		for more := true; more; {
			if err := ctx.Err(); err != nil {
				return Info{}, err
			}
			for range contextEvery {
				var err error
				if more, err = r.next(); err != nil {
					return Info{}, err
				}
			}
		}
		if i > 0 && !bytes.Equal(r.base, c.readers[i-1].in.sum) {
			return Info{}, outOfOrder(i, "it was made since another backup than the one before")
		}
	}
	return c.last().info(), nil
}

// next reads the next entry of a file.
func (c *Chain) next(i int) (err error) {
	c.more[i], err = c.readers[i].next()
	return err
}

// record is that of the entry a file is at, from where it was kept.
func (c *Chain) record(i int) ([]byte, error) {
	e := c.readers[i].entry
	for ; c.readers[i].entry.record == nil; i-- {
		before := c.readers[i-1]
		for c.more[i-1] || before.records == 0 {
			if c.more[i-1] && bytes.Compare(before.entry.key, e.key) >= 0 {
				break
			}
			if err := c.next(i - 1); err != nil {
				return nil, err
			}
			if !c.more[i-1] {
				break
			}
		}
		if b := before.entry; !c.more[i-1] || !bytes.Equal(b.key, e.key) || b.version != e.version || b.sum != e.sum {
			return nil, outOfOrder(i, "%s is kept from the one before, which has another or none", record.Describe(e.key))
		}
	}
	return c.readers[i].entry.record, nil
}
