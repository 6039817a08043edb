package shell

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/internal/papers"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// TestReviewDecidesOnTheCard changes the store below a card, and decides over a reply before it is taken back.
func TestReviewDecidesOnTheCard(t *testing.T) {
	store := papers.Cleaned(t)
	var people bytes.Buffer
	r := &review{
		s: &streams{out: new(bytes.Buffer), err: &people}, engine: query.Engine{Store: store}, decided: make(map[decide.Kind]int),
		replies: newReplyLines(strings.NewReader(""), new(bytes.Buffer), true),
	}
	if err := r.find(t.Context(), query.Condition{}, 0); err != nil {
		t.Fatal(err)
	}
	card, err := r.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	suggest := func(class string) {
		t.Helper()
		err := store.Update(func(tx *kv.Tx) error { return tx.SetValue(card.Node, "suggested", kv.StringValue(class)) })
		if err != nil {
			t.Fatal(err)
		}
	}
	suggest("Neural Nets")
	moved, err := r.take(t.Context(), card, reply{key: 'y'})
	if !moved || err != nil || r.at != 0 || !strings.Contains(people.String(), "the suggestion was Theory, is Neural Nets") {
		t.Errorf("y: got %v, %v, at %d, told %q, want the same card again, and why", moved, err, r.at, &people)
	}
	if got := papers.LabelsNow(t, store); got != nil {
		t.Errorf("decided %q, want nothing", got)
	}
	suggest("Theory")
	if moved, err := r.take(t.Context(), card, reply{key: 'y'}); !moved || err != nil || r.at != 1 {
		t.Errorf("y: got %v, %v, at %d, want the next card", moved, err, r.at)
	}
	if _, err := query.Query(t.Context(), store, "reject p1"); err != nil {
		t.Fatal(err)
	}
	want := papers.LabelsNow(t, store)
	if _, err := r.take(t.Context(), card, reply{key: 'z'}); err == nil || !strings.Contains(err.Error(), "somebody has decided since") {
		t.Errorf("z: got error %v, want that somebody has decided since", err)
	}
	if got := papers.LabelsNow(t, store); !slices.Equal(got, want) {
		t.Errorf("z took back a decision of somebody else: %q, want %q", got, want)
	}
}

// TestLargeDecisionsHoldLittle decides on fifty thousand nodes by a condition, prints that, and takes the same from a file in
// another store. Memory never holds as many new things as there are nodes.
func TestLargeDecisionsHoldLittle(t *testing.T) {
	const nodes = 50_000
	store, other := papers.Scored(t, nodes), papers.Scored(t, nodes)
	before := held()
	check := func(what string) {
		t.Helper()
		if now := held(); now > before+nodes/2 { // a store holds up to twenty thousand things of its own, more or less of them
			t.Errorf("%s: %d things are held, and %d were before", what, now, before)
		}
	}
	r, err := query.Query(t.Context(), store, "unsure all where score >= 0")
	if err != nil {
		t.Fatal(err)
	}
	check("decided")
	path := filepath.Join(t.TempDir(), "d.csv")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(file, "id,decision")
	rows := 0
	for row, err := range r.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(file, "%s,unsure\n", row.Text("id"))
		if rows++; rows == nodes {
			check("printed")
		}
	}
	if err := file.Close(); err != nil || rows != nodes {
		t.Fatalf("got %d rows, %v, want %d", rows, err, nodes)
	}
	const memory = 2 << 20
	a, err := files.Adopt(t.Context(), other, path, files.Adopting{
		Who: "ann", Memory: memory, Confirm: func([]files.ClassLoss, int64) error { return nil },
	})
	if err != nil || a.Taken != nodes || a.Steps != 1 {
		t.Errorf("got %+v, %v, want %d decisions in a step", a, err, nodes)
	}
	check("imported")
}

// held is how many things the heap holds.
func held() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapObjects
}
