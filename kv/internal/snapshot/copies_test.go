package snapshot

import (
	"errors"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

func TestCopies(t *testing.T) {
	body := AppendHead(nil, []record.Generation{3, 300})
	for _, v := range []record.NodeID{7, 1 << 20} {
		body = AppendField(AppendField(AppendCopy(body, v), []byte{byte(v)}), []byte("of 300"))
	}
	var c Copies
	if _, ok := c.Field(3, 7); ok || c.Lent() {
		t.Error("got a field of copies that were not lent")
	}
	must.Do(t, c.Lend(body))
	for _, x := range []struct {
		generation record.Generation
		node       record.NodeID
		want       string
		ok         bool
	}{{3, 7, "\a", true}, {300, 7, "of 300", true}, {300, 1 << 20, "of 300", true}, {4, 7, "", false}, {3, 8, "", false}} {
		if got, ok := c.Field(x.generation, x.node); string(got) != x.want || ok != x.ok {
			t.Errorf("generation %d, node %d: got %q, %v, want %q, %v", x.generation, x.node, got, ok, x.want, x.ok)
		}
	}
	rest := slices.Collect(c.Without(300, slices.Values([]record.NodeID{6, 7, 8})))
	if want := []record.NodeID{6, 8}; !slices.Equal(rest, want) {
		t.Errorf("without copies: got %d, want %d", rest, want)
	}
}

// TestCutCopies cuts copies short at every byte: what is left has fewer nodes, or is an error.
func TestCutCopies(t *testing.T) {
	head := AppendHead(nil, []record.Generation{3, 1 << 20})
	row := AppendField(AppendField(AppendCopy(nil, 9), []byte("a")), nil)
	body := slices.Concat(head, row, row)
	for end := range body {
		err := new(Copies).Lend(body[:end])
		if whole := end == len(head) || end == len(head)+len(row); whole != (err == nil) || err != nil && !errors.Is(err, record.ErrCorrupt) {
			t.Errorf("%d bytes of %d: got %v", end, len(body), err)
		}
	}
	for _, damaged := range [][]byte{{0xff}, {65}, AppendField(head, make([]byte, 9))[:9]} {
		if err := new(Copies).Lend(damaged); !errors.Is(err, record.ErrCorrupt) {
			t.Errorf("%x: got %v, want ErrCorrupt", damaged, err)
		}
	}
}
