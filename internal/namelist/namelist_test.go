package namelist

import (
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{nil, "none"},
		{[]string{"AI"}, "AI"},
		{
			[]string{"AI", "AI ", "AI, x", `say "x"`, "", "Maschinelles Lernen"},
			`AI, "AI ", "AI, x", "say \"x\"", "", Maschinelles Lernen`,
		},
		{
			strings.Fields("1 2 3 4 5 6 7 8 9 10 11 12 13 14"),
			"1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 2 more",
		},
	} {
		if got := Of(c.names); got != c.want {
			t.Errorf("%q: got %s, want %s", c.names, got, c.want)
		}
	}
}
