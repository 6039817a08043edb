package files

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
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

// The exact name of a column goes before one that differs in case and white space; two of those are ambiguous.
func TestColumnsOfOneName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	for header, want := range map[string]string{
		"ID,id,label": "[1 2]", "Id,label,x": "[0 1]",
		"ID,label,Id":   `a.csv:1: got the columns "ID" and "Id", want one of them named "id"`,
		"label,id,x,id": `column "id": the header names it twice, want the number of the column, 2 or 4`,
	} {
		must.Do(t, os.WriteFile(path, []byte(header+"\n"), 0o600))
		in, places, err := Job{Memory: 1 << 20}.OpenTable(t.Context(), path, "label")
		got := fmt.Sprint(places, err)
		if err == nil {
			must.Do(t, in.Close())
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
}
