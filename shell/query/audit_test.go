package query

import (
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

func allRows(t *testing.T, r *Result) (rows [][]kv.Value) {
	t.Helper()
	for row, err := range r.Rows() {
		must.Do(t, err)
		rows = append(rows, slices.Clone(row))
	}
	return rows
}

func TestAudit(t *testing.T) {
	store := papers.Cleaned(t)
	ask := func(statement string) (*Result, error) {
		if strings.HasPrefix(statement, "audit") && !strings.HasPrefix(statement, "audit draw") {
			tx := store.Begin()
			t.Cleanup(tx.Close)
			return Query(t.Context(), tx, Options{}, statement)
		}
		return Exec(t.Context(), store, Options{Who: "ann"}, statement)
	}
	for statement, want := range map[string]string{
		"audit":                     "audit: nothing is drawn yet; audit draw 50 draws labels to look at",
		"audit draw 0":              "got 0 for the number of labels, want a whole number from 1 to 3200",
		"audit draw 3201":           "got 3201 for the number of labels",
		"audit draw 5 seed -1":      "",
		"audit draw":                "want for or a number of labels",
		"audit draw 5 seed 9 extra": "got extra",
	} {
		if _, err := ask(statement); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", statement, err, want)
		}
	}
	drawn := must.Get(ask("audit draw 50 seed 3"))(t)
	if notes := strings.Join(drawn.Notices(), "\n"); !strings.Contains(notes, "draws decided; the share of wrong labels is told once the first ") {
		t.Errorf("the notes are %q", notes)
	}
	if rows := allRows(t, drawn); len(rows) != 0 {
		t.Errorf("before the first look: %v, want no rows", rows)
	}
	must.Get(ask("reject all where label is not null"))(t)
	told := must.Get(ask("audit"))(t)
	notes := strings.Join(told.Notices(), "\n")
	for _, want := range []string{"0.0% of 9 ", " labels were wrong (90%: 0.0% to 0.0%)", "every label of the sample is looked at"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes are %q, want %q", notes, want)
		}
	}
	rows := allRows(t, told)
	if len(rows) < 2 || !rows[0][0].IsNull() || rows[0][2] != kv.ValueOf(0) || rows[0][3] != kv.ValueOf(0.0) {
		t.Errorf("the first row is %v, want no class and a rate of 0", rows)
	}
	if rows[1][3] != kv.ValueOf(0.0) {
		t.Errorf("a class with every label looked at has the rate %v, want 0", rows[1][3])
	}
}

func TestAuditWithoutScores(t *testing.T) {
	store := papers.Loaded(t)
	_, err := Exec(t.Context(), store, Options{}, "audit draw 50")
	if err == nil || !strings.Contains(err.Error(), "run clean first") {
		t.Errorf("%v, want the advice to run clean", err)
	}
}

// What a statement advises, followed, gives the list.
func TestPromises(t *testing.T) {
	store := papers.Cleaned(t)
	ask := func(statement string) (string, [][]kv.Value, error) {
		t.Helper()
		var r *Result
		parsed, err := Parse(statement)
		if err == nil && !parsed.Writes() {
			tx := store.Begin()
			defer tx.Close()
			r, err = Query(t.Context(), tx, Options{}, statement)
		} else {
			r, err = Exec(t.Context(), store, Options{Who: "ann"}, statement)
		}
		if err != nil {
			return "", nil, err
		}
		rows := allRows(t, r)
		return strings.Join(r.Notices(), "\n"), rows, nil
	}
	refused := func(statement, want string) {
		t.Helper()
		if _, _, err := ask(statement); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", statement, err, want)
		}
	}
	refused("labels trusted fdr 0.2", "trusted fdr 0.2: nothing is drawn yet; audit draw 50 draws labels to look at")
	refused("audit draw for trusted fdr 0.2", "draw 50 labels without for")
	refused("labels trusted fdr 0.7", "1:20: got 0.7 for a share, want a number from 0.01 to 0.5")
	refused("suspects fdr 0.2 p 0.1", "got p")
	refused("audit draw 5000 for fdr 0.2", "want a whole number from 1 to 1000")
	must.Get(Exec(t.Context(), store, Options{}, "audit draw 4"))(t)
	refused("labels trusted fdr 0.2", "0 of the first 9 draws of the audit are decided")
	refused("audit draw for trusted fdr 0.2", "before the first look of the audit")
}
