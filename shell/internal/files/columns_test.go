package files

import (
	"maps"
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
		{text: `id=a\,b\\c\d`, want: Columns{"id": `a,b\c\d`}},
		{text: `rank=score\`, want: Columns{"rank": `score\`}},
		{text: "", err: `got "", want NAME=COLUMN, such as id=paper_id`},
		{text: "id=a,", err: `got "", want NAME=COLUMN, such as id=paper_id`},
		{text: "paper_id", err: `got "paper_id", want NAME=COLUMN, such as id=paper_id`},
		{text: "id=", err: `got "id=", want NAME=COLUMN, such as id=paper_id`},
		{text: "=a", err: `got "=a", want NAME=COLUMN, such as id=paper_id`},
		{text: "id=a,Id=b", err: "got id twice, want one column for it"},
		{text: "id=a,label=a", err: "got the column a for id and for label, want one of them"},
	} {
		got, err := ParseColumns(c.text)
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

// What String writes is read as the same.
func FuzzParseColumns(f *testing.F) {
	for _, text := range []string{"id=paper_id,label=subject", `id=a\,b\\`, "src=source,dst=target,weight=w", "a=b,c", "=,\\,", "ID=1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		columns, err := ParseColumns(text)
		if err != nil {
			return
		}
		again, err := ParseColumns(columns.String())
		if err != nil || !maps.Equal(again, columns) {
			t.Errorf("%q: got %v, and of its text %q %v and %v", text, columns, columns.String(), again, err)
		}
	})
}
