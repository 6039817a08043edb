package print

import (
	"bytes"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// hostileText would clear the screen, set the title, use a control character of one byte and one of two, and turn the
// line round; it ends in a byte that is no character.
const hostileText = "a\x1b[2J\x1b]0;t\a\r\u009b31m\u202eb東\u200d\xff"

func isObeyed(printed string) bool {
	return strings.ContainsAny(printed, "\x1b\a\r\u009b\u202e") || strings.ContainsRune(printed, '\x7f')
}

// On a terminal no format has control characters that it obeys; elsewhere csv and tsv have every byte as it is.
func TestTerminalsAreShownEscapes(t *testing.T) {
	columns := []query.ColumnInfo{{Name: "id\x1b[1m", Kind: kv.KindString}, {Name: "n", Kind: kv.KindInt}}
	rows := [][]kv.Value{{kv.ValueOf(hostileText), kv.ValueOf(1)}, {kv.ValueOf("two\nlines\ttab\x7f"), kv.ValueOf(2)}}
	result := func(bare bool) *query.Result {
		r := query.NewTable(columns, rows)
		r.Bare = bare
		return r
	}
	for f := range FormatParquet {
		for _, bare := range []bool{false, true} {
			var shown, written bytes.Buffer
			must.Get(Render(&shown, result(bare), f, &Screen{Terminal: true}))(t)
			must.Get(Render(&written, result(bare), f, &Screen{}))(t)
			if got := shown.String(); isObeyed(got) || !strings.Contains(got, "東") {
				t.Errorf("%s on a terminal: got %q, want escapes", f, got)
			}
			if f == FormatCSV || f == FormatTSV {
				if got := written.String(); !strings.Contains(got, hostileText) || !strings.Contains(got, "\x7f") {
					t.Errorf("%s in a file: got %q, want it exact", f, got)
				}
			}
		}
	}
}

func TestEscape(t *testing.T) {
	text := hostileText + "\n\tü東🙂\xe6"
	if want := `a\x1b[2J\x1b]0;t\a\r\u009b31m\u202eb東` + "\u200d" + `\xff` + "\n\tü東🙂" +
		`\xe6`; escape(text, "\n\t") != want {
		t.Errorf("got %q, want %q", escape(text, "\n\t"), want)
	}
}
