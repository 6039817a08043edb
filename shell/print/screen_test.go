package print

import (
	"bytes"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A table on a screen is as wide as that where it can be, its ids and numbers are whole, and its values are cut between
// characters.
func TestTablesFitTheScreen(t *testing.T) {
	columns := []query.ColumnInfo{{Name: "id", Kind: kv.KindString}, {Name: "label", Kind: kv.KindClass},
		{Name: "title", Kind: kv.KindString}, {Name: "score", Kind: kv.KindFloat}}
	long := strings.Repeat("東京 e\u0301te\u0301 ", 20)
	rows := [][]kv.Value{
		{kv.ValueOf("a-rather-long-identifier"), kv.ValueOf("Reinforcement Learning"), kv.ValueOf(long),
			kv.ValueOf(0.123456)},
		{kv.ValueOf("b"), kv.ValueOf("Theory"), kv.ValueOf("short"), {}},
	}
	print := func(on *Screen) []string {
		var out bytes.Buffer
		if _, err := Render(&out, query.NewTable(columns, rows), FormatTable, on); err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	}
	const whole = 24 + 22 + 20*9 + 8 + 3*2 // cells
	for _, width := range []int{60, 80, 81, 120, 1000} {
		on := &Screen{Width: width}
		lines := print(on)
		widest := 0
		for _, line := range lines {
			widest = max(widest, cells(line))
		}
		if want := min(width, whole); widest != want {
			t.Errorf("on %d cells: the table takes %d, want %d:\n%s", width, widest, want, strings.Join(lines, "\n"))
		}
		if cut := width < whole; on.Cut != cut {
			t.Errorf("on %d cells: cut is %v, want %v", width, on.Cut, cut)
		}
		all := strings.Join(lines, "\n")
		if !strings.Contains(all, "a-rather-long-identifier") || !strings.Contains(all, "0.123456") {
			t.Errorf("on %d cells an id or a number is cut:\n%s", width, all)
		}
	}
	on := &Screen{Width: 10}
	lines := print(on)
	if want := "id                        label     title        score"; lines[0] != want {
		t.Errorf("head of a table that cannot fit:\ngot  %q\nwant %q", lines[0], want)
	}
	if want := "a-rather-long-identifier  Reinfor…  東京 e\u0301t…  0.123456"; lines[2] != want {
		t.Errorf("row of a table that cannot fit:\ngot  %q\nwant %q", lines[2], want)
	}
}

// cells is how wide a line is on a terminal.
func cells(line string) int {
	_, width := cutToWidth(line, 1<<30)
	return width - 1
}
