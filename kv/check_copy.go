package kv

import (
	"bytes"
	"context"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A spaceCopy is the second copy of spaces, as it is when a Check begins.
type spaceCopy struct {
	letGo  func() // lets writers change it, and remove files of the journal
	state  *copyState
	damage error
	last   uint64 // commit of the snapshot
}

// beginCheckCopy holds the copy as it is, and the files of the journal. The caller holds the writer's lock, has begun the
// snapshot, and found the journal whole: it begins after the commit base and ends with the commit last.
func (s *Store) beginCheckCopy(tx *Tx, c *spaceCopy, base, last uint64) error {
	if len(tx.cat.Twice) == 0 {
		return nil
	}
	s.copying.RLock()
	c.letGo = s.copying.RUnlock
	state, err := s.readCopy(false)
	if err != nil {
		return err
	}
	c.damage = s.fitsCopy(state, tx.cat, base, last)
	// A copy of other generations is written anew before the journal is made shorter.
	if c.damage != nil || !state.known || !bytes.Equal(state.kept, tx.cat.keptTwice()) {
		return nil //nolint:nilerr // copies returns the damage
	}
	c.state, c.last = state, last
	return nil
}

// end lets writers go on; again does nothing.
func (c *spaceCopy) end() {
	if c.letGo != nil {
		c.letGo()
		c.letGo = nil
	}
}

// copies compares the spaces that are kept twice with their copy.
func (c *checker) copies(ctx context.Context) error {
	defer c.copied.end()
	if c.copied.damage != nil || c.copied.state == nil {
		return c.copied.damage
	}
	s := c.tx.s
	whole, err := s.readCopy(true)
	if err != nil {
		return err
	}
	if len(whole.Damage) > 0 {
		return record.CorruptFile(whole.Damage[0].Path, "%s", whole.Damage[0].What)
	}
	other := map[string]string{} // entries that are not as the copy has them so far, with the space
	count := 0
	use := func(name string, key, body []byte) error {
		if count++; count%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if _, twice := c.tx.cat.Twice[name]; !twice {
			return nil
		}
		same, err := sameEntry(c.tx.txn, c.tx.cat, name, key, body)
		if err != nil {
			return err
		}
		if id := name + "\x00" + string(key); same {
			delete(other, id)
		} else if len(other) < maxSeen {
			other[id] = name
		}
		return nil
	}
	if err := whole.each(s.dir, use); err != nil {
		return err
	}
	if err := eachCopied(s.dir, c.tx.cat, c.copied.state.commit, c.copied.last, use); err != nil {
		return err
	}
	for _, id := range sortedNames(other) {
		c.problem("space "+other[id], "the entry %q is missing, or not as its second copy has it", id[len(other[id])+1:])
	}
	return nil
}
