package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

func lastCommit(t *testing.T, s *Store) (number uint64) {
	t.Helper()
	view(t, s, func(tx *Tx) (err error) {
		number, err = tx.LastCommit()
		return err
	})
	return number
}

func track(t *testing.T, s *Store, columns, matrices []string, upTo uint64) {
	t.Helper()
	update(t, s, func(tx *Tx) error { return tx.TrackChanges("test", columns, matrices, upTo) })
}

// wantTouched compares the nodes that were touched since a mark; nil in want stands for all.
func wantTouched(t *testing.T, s *Store, mark uint64, of func(c *Changes) (*Touched, error), want []NodeID) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		c := must.Get(tx.ChangesSince(mark))(t)
		got := must.Get(of(c))(t)
		if got.All != (want == nil) || !got.All && !slices.Equal(slices.Collect(got.Nodes()), want) {
			t.Errorf("since %d: got all %t, nodes %v; want %v", mark, got.All, slices.Collect(got.Nodes()), want)
		}
		return nil
	})
}

func columnOfChanges(name string) func(c *Changes) (*Touched, error) {
	return func(c *Changes) (*Touched, error) { return c.Column(name) }
}

func matrixOfChanges(name string) func(c *Changes) (*Touched, error) {
	return func(c *Changes) (*Touched, error) { return c.Matrix(name) }
}

func wantNotTracked(t *testing.T, s *Store, mark uint64) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		if _, err := tx.ChangesSince(mark); !errors.Is(err, ErrNotTracked) {
			t.Errorf("changes since %d: got %v, want ErrNotTracked", mark, err)
		}
		return nil
	})
}

// TestTrackChangesInALoad tracks from the end of a load on.
func TestTrackChangesInALoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	l := must.Get(NewLoader(t.Context(), dir, LoadOptions{MemoryBudget: minMemoryBudget}))(t)
	for v := range 10 {
		must.Do(t, l.AddNode(Node{ID: fmt.Sprint("n", v)}))
	}
	var mark uint64
	must.Get(l.Commit(t.Context(), func(s *Store) error {
		track(t, s, []string{LabelColumn, "x"}, []string{"m"}, 0)
		mark = lastCommit(t, s)
		writeInBulk(t, s, "x", KindInt, map[NodeID]Value{3: IntValue(1)}, nil, []NodeID{3})
		return s.Update(func(tx *Tx) error { return tx.SetLabel(4, "A") })
	}))(t)
	s := openTest(t, dir)
	update(t, s, func(tx *Tx) error { return tx.SetLabel(5, "B") })
	wantTouched(t, s, mark, columnOfChanges(LabelColumn), []NodeID{4, 5})
	wantTouched(t, s, mark, columnOfChanges("x"), nil)
}

// One tracker neither forgets what another may ask for, nor takes its columns away.
func TestTrackersBesideEachOther(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 6)
	as := func(name string, columns []string, upTo uint64) {
		update(t, s, func(tx *Tx) error { return tx.TrackChanges(name, columns, nil, upTo) })
	}
	set := func(v NodeID) {
		update(t, s, func(tx *Tx) error { return errors.Join(tx.SetValue(v, "x", IntValue(7)), tx.SetLabel(v, "A")) })
	}
	update(t, s, func(tx *Tx) error { return tx.AddColumn("x", KindInt) })
	as("one", []string{"x"}, 0)
	mark := lastCommit(t, s)
	set(1)
	as("two", []string{LabelColumn}, 0)
	later := lastCommit(t, s)
	set(2)
	as("two", []string{LabelColumn}, lastCommit(t, s))
	wantTouched(t, s, mark, columnOfChanges("x"), []NodeID{1, 2})
	wantTouched(t, s, later, columnOfChanges(LabelColumn), []NodeID{2})
}

// TestTrackChangesRefuses has calls that change nothing.
func TestTrackChangesRefuses(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 2)
	last := lastCommit(t, s)
	for name, c := range map[string]struct {
		columns, matrices []string
		upTo              uint64
		want              error
	}{
		"no name":                {columns: []string{""}, want: ErrInvalidName},
		"a built-in column":      {columns: []string{"degree"}, want: ErrInvalidName},
		"a matrix without name":  {matrices: []string{"m", ""}, want: ErrInvalidName},
		"commits not yet made":   {upTo: last + 1, want: ErrInvalidValue},
		"a control character":    {columns: []string{"a\nb"}, want: ErrInvalidName},
		"too long for a name":    {columns: []string{strings.Repeat("é", MaxName)}, want: ErrInvalidName},
		"a name that is no text": {matrices: []string{"\xff"}, want: ErrInvalidName},
	} {
		update(t, s, func(tx *Tx) error {
			if err := tx.TrackChanges("test", c.columns, c.matrices, c.upTo); !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, want %v", name, err, c.want)
			}
			return nil
		})
	}
	view(t, s, func(tx *Tx) error {
		if err := tx.TrackChanges("test", nil, nil, 0); !errors.Is(err, ErrReadOnly) {
			t.Errorf("in a snapshot: got %v, want ErrReadOnly", err)
		}
		return nil
	})
	wantNotTracked(t, s, last)
}

// writeInBulk writes a column and a matrix whose rows are in an order.
func writeInBulk(t *testing.T, s *Store, name string, kind Kind, values map[NodeID]Value, rows map[NodeID][]float32, order []NodeID) {
	t.Helper()
	b := beginBulk(t, s)
	defer b.Abort()
	column := must.Get(b.Column(name, kind))(t)
	matrix, err := b.Matrix("m", []string{"a", "b"}, MatrixEncoding{Half: true})
	must.Do(t, err)
	for _, v := range order {
		if value, ok := values[v]; ok {
			err = column.Put(v, value)
		}
		if row, ok := rows[v]; ok {
			err = errors.Join(err, matrix.Put(v, row))
		}
		must.Do(t, err)
	}
	must.Do(t, b.Commit(nil))
}

// TestBulkTouchesWhatDiffers writes columns and matrices as a whole, in ascending order and in another: the nodes that differ are
// touched, among them those that lose or get a value.
func TestBulkTouchesWhatDiffers(t *testing.T) {
	t.Parallel()
	const n = 10_000
	ascending := make([]NodeID, n)
	for v := range ascending {
		ascending[v] = NodeID(v)
	}
	descending := slices.Clone(ascending)
	slices.Reverse(descending)
	value := map[Kind]func(i int) Value{
		KindClass:  func(i int) Value { return StringValue(fmt.Sprint("class ", i%7)) },
		KindInt:    func(i int) Value { return IntValue(int64(i)) },
		KindString: func(i int) Value { return StringValue(strings.Repeat("é", 1+i%3+i%97/96*longString)) },
		KindFloat:  func(i int) Value { return FloatValue(float64(i)) },
	}
	for kind, value := range value {
		for name, order := range map[string][]NodeID{"ascending": ascending, "descending": descending} {
			t.Run(kind.String()+" "+name, func(t *testing.T) {
				s := nodesOnly(t, filepath.Join(t.TempDir(), "store"), n)
				values, rows := map[NodeID]Value{}, map[NodeID][]float32{}
				for v := range NodeID(n) {
					if v%5 > 0 {
						values[v], rows[v] = value(int(v)), []float32{float32(v % 100), 1}
					}
				}
				update(t, s, func(tx *Tx) error { return tx.TrackChanges("test", []string{"x"}, []string{"m"}, 0) })
				first := lastCommit(t, s)
				writeInBulk(t, s, "x", kind, values, rows, order)
				wantTouched(t, s, first, columnOfChanges("x"), nil) // there was none
				wantTouched(t, s, first, matrixOfChanges("m"), nil)

				second := lastCommit(t, s)
				writeInBulk(t, s, "x", kind, values, rows, order)
				wantTouched(t, s, second, columnOfChanges("x"), []NodeID{})
				wantTouched(t, s, second, matrixOfChanges("m"), []NodeID{})

				// A value that an Update set counts, too.
				update(t, s, func(tx *Tx) error {
					return errors.Join(tx.SetValue(7, "x", Value{}), tx.SetRow("m", 7, []float32{8, 8}))
				})
				third := lastCommit(t, s)
				for _, v := range []NodeID{1, 4097, n - 1} { // which lose what they have
					delete(values, v)
					delete(rows, v)
				}
				for _, v := range []NodeID{0, 5000, n - 5} { // which had nothing
					values[v], rows[v] = value(int(v)), []float32{1, 2}
				}
				values[8192], rows[8192] = value(8193), []float32{float32(math.Inf(1)), 1}
				writeInBulk(t, s, "x", kind, values, rows, order)
				want := []NodeID{0, 1, 7, 4097, 5000, 8192, n - 5, n - 1}
				wantTouched(t, s, third, columnOfChanges("x"), want)
				wantTouched(t, s, third, matrixOfChanges("m"), want)
			})
		}
	}
}

// TestBulkTouchesAll has Bulks of which no node can be told apart.
func TestBulkTouchesAll(t *testing.T) {
	t.Parallel()
	const n = 200_000
	s := nodesOnly(t, filepath.Join(t.TempDir(), "store"), n)
	if most := s.mostTouched(); most > n {
		t.Fatalf("a record of a commit holds %d bytes, and there are %d nodes", most, n)
	}
	cell := func(NodeID) float32 { return 0 }
	write := func(kind Kind, value func(v NodeID) Value, columns ...string) {
		t.Helper()
		b := beginBulk(t, s)
		defer b.Abort()
		column := must.Get(b.Column("x", kind))(t)
		matrix := must.Get(b.Matrix("m", columns, MatrixEncoding{}))(t)
		for v := range NodeID(n) {
			must.Do(t, errors.Join(column.Put(v, value(v)), matrix.Put(v, []float32{cell(v)})))
		}
		must.Do(t, b.Commit(nil))
	}
	write(KindInt, func(v NodeID) Value { return IntValue(int64(v)) }, "a")
	track(t, s, []string{"x"}, []string{"m"}, 0)

	mark := lastCommit(t, s)
	write(KindFloat, func(v NodeID) Value { return FloatValue(float64(v)) }, "b")
	wantTouched(t, s, mark, columnOfChanges("x"), nil) // of another kind
	wantTouched(t, s, mark, matrixOfChanges("m"), nil) // of other columns

	mark = lastCommit(t, s)
	write(KindFloat, func(v NodeID) Value { return FloatValue(float64(v + 1)) }, "b")
	wantTouched(t, s, mark, columnOfChanges("x"), nil) // more than a record of a commit holds
	wantTouched(t, s, mark, matrixOfChanges("m"), []NodeID{})

	// Half of the nodes fit, in a record of two parts.
	mark = lastCommit(t, s)
	half := make([]NodeID, n/2)
	for v := range half {
		half[v] = NodeID(v)
	}
	write(KindFloat, func(v NodeID) Value {
		if v < n/2 {
			return FloatValue(-1)
		}
		return FloatValue(float64(v + 1)) // as it was
	}, "b")
	wantTouched(t, s, mark, columnOfChanges("x"), half)
	must.Do(t, s.Compact(t.Context(), nil))
	wantTouched(t, s, mark, columnOfChanges("x"), half)
	checkClean(t, s)

	// Of two lists that do not fit together the longer becomes all.
	mark = lastCommit(t, s)
	cell = func(v NodeID) float32 { return float32(1 - min(v, n/2-1)/(n/2-1)) }
	write(KindFloat, func(v NodeID) Value { return FloatValue(float64(v + 1)) }, "b")
	wantTouched(t, s, mark, columnOfChanges("x"), nil)
	wantTouched(t, s, mark, matrixOfChanges("m"), half[:n/2-1])

	mark = lastCommit(t, s)
	b := beginBulk(t, s)
	defer b.Abort()
	must.Do(t, errors.Join(b.DropMatrix("m"), b.Commit(nil)))
	wantTouched(t, s, mark, matrixOfChanges("m"), nil)
	wantTouched(t, s, mark, columnOfChanges("x"), []NodeID{})
}

// TestBulkOverDamage writes a column again that cannot be read: all its nodes are touched.
func TestBulkOverDamage(t *testing.T) {
	s := newStore(t, Options{})
	setNodes(t, s, 10)
	writeColumn(t, s, "x", KindInt, []Value{IntValue(1)}, []int{0})
	track(t, s, []string{"x"}, nil, 0)
	mark := lastCommit(t, s)
	key := record.PartKey(record.NumberKey(record.KindColumn, generationOf(t, s, "x"), 0), 0)
	writeRaw(t, s, key, []byte("damaged"))
	writeColumn(t, s, "x", KindInt, []Value{IntValue(1)}, []int{0})
	wantTouched(t, s, mark, columnOfChanges("x"), nil)
}

func generationOf(t *testing.T, s *Store, column string) (g record.Generation) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		g = tx.cat.Columns[column].Generation
		return nil
	})
	return g
}

// changesRecords counts the records of changes, and their bytes.
func changesRecords(t *testing.T, s *Store) (records, size int) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		for r, err := range tx.records().Scan([]byte{byte(record.KindChanges)}, nil) {
			must.Do(t, err)
			records, size = records+1, size+len(r.Body)
		}
		return nil
	})
	return records, size
}

// TestFoldedChanges compacts the changes of many commits: every mark has the same answer, in few records, also in a snapshot that
// began before.
func TestFoldedChanges(t *testing.T) {
	t.Parallel()
	const n = 2000
	commits := longtest.Of(1000, 3000)
	s := newStore(t, Options{})
	addNodes(t, s, n)
	track(t, s, []string{LabelColumn}, nil, 0)
	for i := range commits {
		update(t, s, func(tx *Tx) error {
			u, v := NodeID(i*i%n), NodeID(i*37%n)
			if i%100 == 0 {
				_, err := tx.AddNode(Node{ID: fmt.Sprint("later ", i)})
				return err
			}
			if i%7 == 0 {
				return tx.PutDocument("a", "b", i)
			}
			if err := tx.SetLabel(u, fmt.Sprint(i%3)); err != nil || u == v {
				return err
			}
			if there, err := tx.HasEdge(u, v); err != nil || there {
				return errors.Join(err, tx.RemoveEdge(u, v))
			}
			return tx.AddEdge(u, v)
		})
	}
	answers := func(tx *Tx, last uint64) string {
		var text bytes.Buffer
		for mark := last - uint64(commits); mark <= last; mark += 17 {
			c := must.Get(tx.ChangesSince(mark))(t)
			labels := must.Get(c.Column(LabelColumn))(t)
			fmt.Fprintln(&text, mark, c.NumNodes, slices.Collect(c.Edges().Nodes()), slices.Collect(labels.Nodes()))
		}
		return text.String()
	}
	last := lastCommit(t, s)
	old := s.Begin()
	defer old.Close()
	want := answers(old, last)
	before, _ := changesRecords(t, s)
	for range 2 {
		must.Do(t, s.Compact(context.Background(), nil))
		if after, size := changesRecords(t, s); before < commits || after > 5 || size > commits*10 {
			t.Errorf("got %d records before and %d of %d bytes after, want few", before, after, size)
		}
		view(t, s, func(tx *Tx) error {
			if got := answers(tx, last); got != want {
				t.Error("the answers are others after Compact")
			}
			return nil
		})
		if got := answers(old, last); got != want {
			t.Error("the answers of an older snapshot are others")
		}
		update(t, s, func(tx *Tx) error { return tx.PutDocument("a", "b", 0) })
	}
	checkClean(t, s)

	// What is forgotten is removed by the next sweep, as far as whole records are.
	for i := range commits / 10 {
		update(t, s, func(tx *Tx) error { return tx.SetLabel(NodeID(i), "last") })
	}
	middle := lastCommit(t, s) - uint64(commits/20)
	track(t, s, []string{LabelColumn}, nil, middle)
	wantNotTracked(t, s, middle-1)
	writeColumn(t, s, "x", KindInt, []Value{IntValue(1)}, []int{0})
	if records, _ := changesRecords(t, s); records < commits/20 || records > commits/20+10 {
		t.Errorf("got %d records, want those of %d commits and of few others", records, commits/20)
	}
	var later []NodeID
	for i := commits / 20; i < commits/10; i++ {
		later = append(later, NodeID(i))
	}
	wantTouched(t, s, middle, columnOfChanges(LabelColumn), later)
}
