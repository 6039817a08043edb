package files

import (
	"maps"
	"strings"
	"testing"
)

func TestParseColumns(t *testing.T) {
	for _, c := range []struct {
		text string
		want Columns
		err  string
	}{
		{text: "id=paper_id,label=subject", want: Columns{"id": "paper_id", "label": "subject"}},
		{text: " ID =a=b,Split=x y", want: Columns{"id": "a=b", "split": "x y"}},
		{text: "", err: `got "", want NAME=COLUMN, such as id=paper_id`},
		{text: "id=a,", err: `got "", want NAME=COLUMN, such as id=paper_id`},
		{text: "paper_id", err: `got "paper_id", want NAME=COLUMN, such as id=paper_id`},
		{text: "id=", err: `got "id=", want NAME=COLUMN, such as id=paper_id`},
		{text: "=a", err: `got "=a", want NAME=COLUMN, such as id=paper_id`},
		{text: "id=a,Id=b", err: "got Id=b beside id=a, want one column for each name"},
		{text: "id=a,label=a", err: "got label=a beside id=a, want one column for each name"},
	} {
		got, err := ParseColumns(strings.Split(c.text, ","))
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%q: got the error %v, want %s", c.text, err, c.err)
			}
			continue
		}
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%q: got %v and %v, want %v", c.text, got, err, c.want)
		}
	}
}
