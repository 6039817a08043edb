package query

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A group takes about groupBytes beside its key and its texts, and each of its tallies tallyBytes: a sum has a few
// words for most numbers.
const (
	groupBytes = 128
	tallyBytes = 256
)

// groups count rows, and tally values of them, by the values that they begin with. Each goroutine that counts has a
// table.
type groups struct {
	*grouping
	tables []*groupTable
}

// A groupTable has the groups of the rows that one goroutine counts.
type groupTable struct {
	of          *groups
	size, limit int64 // bytes that the groups take, and may take
	groups      map[string]*group
	key         []byte // scratch
}

// A group has the values of one group of rows, their count and their tallies.
type group struct {
	values  []kv.Value
	count   int64
	tallies []tally
}

// A tallyOf names the tally of one value of the rows: min, max, avg or sum.
type tallyOf struct {
	function string
	column   ColumnInfo
	value    int // its place in a row
}

// A tally has of the values so far as much as min, max, avg or sum need. Null takes no part.
type tally struct {
	count int64
	best  kv.Value // of min and max
	sum   *exactSum
}

// newGroups returns groups of rows that some goroutines count. They take about half of so many bytes of memory; 0 is a
// default.
func newGroups(asked *grouping, memory int64, workers int) *groups {
	g := &groups{grouping: asked}
	for range workers {
		limit := cmp.Or(memory, defaultBatchBytes) / 2 / int64(workers)
		g.tables = append(g.tables, &groupTable{of: g, limit: limit, groups: map[string]*group{}})
	}
	return g
}

// addAll counts rows on one goroutine.
func (g *groups) addAll(rows iter.Seq2[[]kv.Value, error]) error {
	for row, err := range rows {
		if err == nil {
			err = g.tables[0].add(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addBlocks counts the nodes that a plan finds, on as many goroutines as the plan has. progress may be nil.
func (g *groups) addBlocks(ctx context.Context, plan *index.Plan, f *fetcher, progress kv.Progress) error {
	var told sync.Mutex
	var counted int64
	return plan.Blocks(ctx, func(worker int, nodes []kv.NodeID) error {
		r, err := f.reader(worker)
		if err != nil {
			return err
		}
		row := make([]kv.Value, len(f.names))
		for _, v := range nodes {
			for i, at := range r.values {
				if at == nil {
					continue
				}
				if row[i], err = at(v); err != nil {
					return fmt.Errorf("property %s: %w", f.names[i], err)
				}
			}
			if err := g.tables[worker].add(row); err != nil {
				return err
			}
		}
		if progress != nil {
			told.Lock()
			defer told.Unlock()
			counted += int64(len(nodes))
			progress("rows", counted, 0)
		}
		return nil
	})
}

// errManyGroups is that of groups that take too much memory.
var errManyGroups = errors.New("group by properties with fewer values, or give more --memory")

// add counts a row.
func (t *groupTable) add(row []kv.Value) error {
	t.key = t.key[:0]
	for _, value := range row[:t.of.by] {
		t.key = appendKey(t.key, value)
	}
	to := t.groups[string(t.key)]
	if to == nil {
		t.size += groupBytes + 2*int64(len(t.key)) + tallyBytes*int64(len(t.of.tallies))
		to = t.of.newGroup(row[:t.of.by])
		t.groups[string(t.key)] = to
	}
	to.count++
	for i, of := range t.of.tallies {
		if value := row[of.value]; !value.IsNull() {
			t.size += to.tallies[i].add(of.function, value)
		}
	}
	if t.size > t.limit {
		return fmt.Errorf("more than %d groups: %w", len(t.groups)-1, errManyGroups)
	}
	return nil
}

// appendKey appends a value so that keys of as many values are equal if the values are: their sizes follow them.
func appendKey(b []byte, v kv.Value) []byte {
	begin := len(b)
	b = plain(v).Append(b)
	return binary.BigEndian.AppendUint32(b, uint32(len(b)-begin))
}

// plain is a value with 0 in place of −0, which is equal to it.
func plain(v kv.Value) kv.Value {
	if v.Kind() == kv.KindFloat {
		return kv.ValueOf(v.Float() + 0)
	}
	return v
}

func (g *groups) newGroup(of []kv.Value) *group {
	to := &group{tallies: make([]tally, len(g.tallies))}
	for _, v := range of {
		if v = plain(v); v.Kind() == kv.KindString {
			v = kv.ValueOf(strings.Clone(v.Str())) // which may lie in a large block
		}
		to.values = append(to.values, v)
	}
	for i, of := range g.tallies {
		if of.sums() {
			to.tallies[i].sum = newExactSum()
		}
	}
	return to
}

// sums says whether the function needs the sum of the values.
func (o tallyOf) sums() bool { return o.function == "sum" || o.function == "avg" }

// add takes a value, and returns how many bytes of memory it takes more than before.
func (t *tally) add(function string, value kv.Value) (bytes int64) {
	t.count++
	if t.sum == nil {
		return t.takeBest(function, value)
	}
	t.sum.add(value)
	return 0
}

// takeBest keeps the value if it is less, of min, or greater, of max, than the one before.
func (t *tally) takeBest(function string, value kv.Value) (bytes int64) {
	if !t.best.IsNull() {
		if order := index.CompareValues(value, t.best); order == 0 || (order < 0) != (function == "min") {
			return 0
		}
	}
	value = plain(value) // whichever of 0 and −0 comes first
	if value.Kind() == kv.KindString {
		before := 0
		if !t.best.IsNull() {
			before = len(t.best.Str())
		}
		bytes = int64(len(value.Str()) - before)
		value = kv.ValueOf(strings.Clone(value.Str())) // which may lie in a large block
	}
	t.best = value
	return bytes
}

// merge adds the counts of another group.
func (o *group) merge(other *group, of []tallyOf) {
	o.count += other.count
	for i := range o.tallies {
		t, more := &o.tallies[i], &other.tallies[i]
		t.count += more.count
		if t.sum != nil {
			t.sum.merge(more.sum)
		} else if !more.best.IsNull() {
			t.takeBest(of[i].function, more.best)
		}
	}
}

// rows adds up the groups, and yields the row of each: its values, the count and the tallies. If rows are not told
// apart, there is a group even of no rows.
func (g *groups) rows() iter.Seq2[[]kv.Value, error] {
	all := g.tables[0].groups
	if g.by == 0 && len(all) == 0 {
		all[""] = g.newGroup(nil)
	}
	for _, t := range g.tables[1:] {
		for key, of := range t.groups {
			if all[key] == nil {
				all[key] = of
			} else {
				all[key].merge(of, g.tallies)
			}
		}
		t.groups = nil
	}
	return func(yield func([]kv.Value, error) bool) {
		for _, of := range all {
			row := slices.Concat(of.values, []kv.Value{kv.ValueOf(of.count)})
			var err error
			for i, t := range of.tallies {
				value, wrong := t.result(g.tallies[i])
				row, err = append(row, value), cmp.Or(err, wrong)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// result is the value of a tally, null if there were no values.
func (t *tally) result(of tallyOf) (kv.Value, error) {
	switch {
	case t.count == 0:
		return kv.Value{}, nil
	case t.sum == nil:
		return t.best, nil
	case of.function == "avg":
		return kv.ValueOf(t.sum.mean(t.count)), nil
	case of.column.Kind != kv.KindInt:
		return kv.ValueOf(t.sum.mean(1)), nil
	}
	n, fits := t.sum.integer()
	if !fits {
		return kv.Value{}, fmt.Errorf("sum(%s) is beyond the range of an integer: ask for avg(%[1]s) and the count",
			QuoteName(of.column.Name))
	}
	return kv.ValueOf(n), nil
}
