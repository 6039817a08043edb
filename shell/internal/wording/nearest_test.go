package wording

import (
	"slices"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"confidence", "decision", "degree", "id", "label", "score", "split", "suggested", "year"}
	for _, c := range []struct {
		name string
		want []string
	}{
		{"scroe", []string{"score"}}, {"lable", []string{"label"}}, {"Label", []string{"label"}}, {"degre", []string{"degree"}},
		{"suggestion", []string{"suggested"}}, {"ids", []string{"id"}}, {"venue", nil}, {"", nil},
	} {
		if got := Nearest(c.name, known); !slices.Equal(got, c.want) {
			t.Errorf("nearest to %q: got %q, want %q", c.name, got, c.want)
		}
	}
}
