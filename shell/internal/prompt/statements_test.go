package prompt

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// TestStatements runs testdata/statements: the command is a store of package papers, its arguments those of
// answerData.
func TestStatements(t *testing.T) {
	stores := map[string]*kv.Store{
		"cleaned": papers.Cleaned(t), "loaded": papers.Loaded(t), "numbered": papers.Numbered(t), "empty": papers.Empty(t),
	}
	datadriven.Walk(t, "testdata/statements", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if stores[d.Cmd] == nil {
				d.Fatalf(t, "no store %s", d.Cmd)
			}
			return answerData(t, d, &Open{Store: stores[d.Cmd]})
		})
	})
}

// TestStatementsInColumns answers what TestStatements does as Parquet files: the values of every column have its kind.
func TestStatementsInColumns(t *testing.T) {
	stores := map[string]*kv.Store{
		"cleaned": papers.Cleaned(t), "loaded": papers.Loaded(t), "numbered": papers.Numbered(t), "empty": papers.Empty(t),
	}
	answers := 0
	datadriven.Walk(t, "testdata/statements", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			for script := query.NewScript(strings.NewReader(d.Input)); ; {
				next, err := script.Next()
				if err != nil {
					return d.Expected
				}
				if next.Dot {
					continue
				}
				var text, columns bytes.Buffer
				_, err = (&Open{Store: stores[d.Cmd]}).Answer(t.Context(), Question{Step: next},
					Listener{Out: &text, Notice: func(string) {}})
				_, errColumns := (&Open{Store: stores[d.Cmd]}).Answer(t.Context(),
					Question{Step: next, Format: print.FormatParquet}, Listener{Out: &columns, Notice: func(string) {}})
				if (err == nil) != (errColumns == nil) || err == nil && columns.Len() == 0 {
					t.Errorf("%s: %s: %d bytes in columns and %v, want as in text: %v", d.Pos, next.Text, columns.Len(),
						errColumns, err)
				}
				answers++
			}
		})
	})
	if answers < 100 {
		t.Errorf("got %d answers, want those of all statements", answers)
	}
}

// TestWritingStatements runs testdata/writing: each file writes to stores of its own, one after another, with a minute
// between two decisions.
func TestWritingStatements(t *testing.T) {
	datadriven.Walk(t, "testdata/writing", func(t *testing.T, path string) {
		stores := map[string]*kv.Store{"cleaned": papers.Cleaned(t), "loaded": papers.Loaded(t),
			"numbered": papers.Numbered(t)}
		clock := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if stores[d.Cmd] == nil {
				d.Fatalf(t, "no store %s", d.Cmd)
			}
			return answerData(t, d, &Open{Store: stores[d.Cmd], Options: query.Options{Who: "ann", Now: func() time.Time {
				clock = clock.Add(time.Minute)
				return clock
			}}})
		})
	})
}

// answerData answers the statements of a test. Its arguments are a format, and who confirms
// decisions: yes, or a person who says-yes or says-no. What goes to people is printed before the data, each line after
// "! ".
func answerData(t *testing.T, d *datadriven.TestData, store *Open) string {
	var out, people bytes.Buffer
	opt := Options{Store: store, In: strings.NewReader(d.Input), Out: &out, Err: &people}
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "yes":
			opt.Yes = true
		case "says-yes", "says-no":
			opt.Confirm = func(_ context.Context, question string) (bool, error) {
				people.WriteString(question + "\n")
				return arg.Key == "says-yes", nil
			}
		default:
			if err := opt.Format.UnmarshalText([]byte(arg.Key)); err != nil {
				d.Fatalf(t, "%v", err)
			}
		}
	}
	if err := Run(t.Context(), opt); err != nil {
		people.WriteString("error: " + err.Error() + "\n")
	}
	var printed strings.Builder
	for line := range strings.Lines(people.String()) {
		printed.WriteString("! " + line)
	}
	return strings.ReplaceAll(printed.String()+out.String(), store.Store.Dir(), "DIR")
}
