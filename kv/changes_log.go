package kv

import (
	"math"
	"sort"
	"sync"

	"github.com/graphcleaner/graphcleaner/kv/internal/changes"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A changeLog keeps in memory what the last commits touched, so that ChangesSince reads only the commits that no call has read before.
// Commits are only added, and the number of a commit tells what a snapshot sees of the log and what a mark asks for. The disk
// has the same: if the log does not reach back far enough, the disk is read.
type changeLog struct {
	mu    sync.Mutex
	limit int64 // bytes

	generation record.Generation // of the records that were read
	since      uint64            // of the tracking
	tooLong    uint64            // of marks below it: so many commits do not fit the limit
	kept       *keptChanges      // nil: nothing was asked for
}

// changeLogShare is the share of the memory budget that a changeLog may take, as a divisor.
const changeLogShare = 64

// keptChanges are what the commits first < number ≤ last did.
type keptChanges struct {
	first, last uint64
	size        int64 // about what they take in memory
	added       []addedNodes
	kinds       map[changes.Kind]*keptTouches
}

// addedNodes are the nodes that were added from the first commit up to one.
type addedNodes struct {
	commit uint32 // keptChanges.place
	nodes  int
}

// keptTouches are what commits touched in one kind, in their order.
type keptTouches struct {
	touches []touch
	all     []uint32          // the commits that touched all nodes
	latest  map[NodeID]uint32 // the last commit that touched a node
}

// A touch is a node that a commit touched, and the commit before that touched it, 0 for none.
type touch struct {
	node           NodeID
	commit, before uint32 // keptChanges.place
}

// What a list or a node of it takes in memory, with the room that slices and maps keep free, in bytes.
const touchSize = 48

// read puts the changes after the mark of c, up to the last commit of a snapshot, into c. The tracking is that of the snapshot. It
// returns false if the disk must be asked.
func (l *changeLog) read(tx *Tx, t *tracking, last uint64, c *Changes) (ok bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.Generation < l.generation || t.Since < l.since {
		return false, nil // a snapshot that began before
	}
	if t.Generation > l.generation || t.Since > l.since {
		l.generation, l.since, l.tooLong, l.kept = t.Generation, t.Since, 0, nil
	}
	if c.mark < l.tooLong {
		return false, nil
	}
	if l.kept == nil || c.mark < l.kept.first {
		l.kept = &keptChanges{first: c.mark, last: c.mark, kinds: map[changes.Kind]*keptTouches{}}
	}
	if last > l.kept.last {
		if err := l.extend(tx, t, last); err != nil {
			return false, err
		}
	}
	if l.kept.size > l.limit {
		l.tooLong, l.kept = l.kept.first+1, nil
		return false, nil
	}
	l.kept.fill(c, last)
	return true, nil
}

// forget drops what was read. A commit of which a transaction read, before that was durable, was given up.
func (l *changeLog) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = nil
}

// extend reads commits up to one, or until they are too many.
func (l *changeLog) extend(tx *Tx, t *tracking, last uint64) error {
	k := l.kept
	for r, err := range tx.changesAfter(t, k.last, last) {
		if err != nil {
			return err
		}
		for _, commit := range r.Commits {
			if commit.Number > k.last {
				k.add(commit)
			}
		}
		if k.last = r.Last; k.size > l.limit {
			return nil
		}
	}
	return nil
}

// place is the place of a commit after the first.
func (k *keptChanges) place(number uint64) uint32 { return uint32(min(number-k.first, math.MaxUint32)) }

// add adds a commit.
func (k *keptChanges) add(c changes.Commit) {
	place := k.place(c.Number)
	if place == math.MaxUint32 {
		k.size = math.MaxInt64
		return
	}
	if c.Added > 0 {
		k.added = append(k.added, addedNodes{place, k.addedUpTo(place) + c.Added})
	}
	k.size += touchSize
	for _, list := range c.Lists {
		of := k.kinds[list.Kind]
		if of == nil {
			of = &keptTouches{latest: map[NodeID]uint32{}}
			k.kinds[list.Kind] = of
		}
		if list.All {
			of.all = append(of.all, place)
		}
		for _, v := range list.Nodes {
			of.touches = append(of.touches, touch{v, place, of.latest[v]})
			of.latest[v] = place
		}
		k.size += touchSize * int64(1+len(list.Nodes))
	}
}

// addedUpTo is how many nodes were added up to a commit.
func (k *keptChanges) addedUpTo(place uint32) int {
	i := sort.Search(len(k.added), func(i int) bool { return k.added[i].commit > place })
	if i == 0 {
		return 0
	}
	return k.added[i-1].nodes
}

// fill puts the changes after the mark of c up to a commit into c. What later commits add leaves them as they are.
func (k *keptChanges) fill(c *Changes, last uint64) {
	from, to := k.place(c.mark), k.place(last)
	c.NumNodes -= k.addedUpTo(to) - k.addedUpTo(from)
	for kind, set := range c.sets {
		of := k.kinds[kind]
		if of == nil {
			continue
		}
		after := func(place uint32) int {
			return sort.Search(len(of.touches), func(i int) bool { return of.touches[i].commit > place })
		}
		lo, hi := after(from), after(to)
		set.kept, set.mark = of.touches[lo:hi:hi], from
		i := sort.Search(len(of.all), func(i int) bool { return of.all[i] > from })
		set.All = i < len(of.all) && of.all[i] <= to
	}
}
