package namelist

import (
	"slices"
	"testing"
)

func TestSorted(t *testing.T) {
	for _, c := range []struct{ names, want []string }{
		{nil, nil},
		{[]string{"10", "9", "-1", "1e1", "0.5"}, []string{"-1", "0.5", "9", "10", "1e1"}},
		{[]string{"10", "9", "x"}, []string{"10", "9", "x"}},
		{[]string{"2", "1", "nan"}, []string{"1", "2", "nan"}},
		{[]string{"b", "É", "B", "a"}, []string{"B", "a", "b", "É"}},
	} {
		given := slices.Clone(c.names)
		if got := Sorted(given); !slices.Equal(got, c.want) || !slices.Equal(given, c.names) {
			t.Errorf("Sorted(%q): got %q and left %q, want %q", c.names, got, given, c.want)
		}
	}
}
