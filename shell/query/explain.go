package query

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// What a table of an explanation shows at most; formats for programs have it all.
const (
	shownClasses    = 10
	shownHopClasses = 5 // a hop
)

// explain answers explain.
func (q *query) explain(ctx context.Context, s *explainStatement) (*Result, error) {
	v, err := q.findNode(s.id)
	if err != nil {
		return nil, err
	}
	e, err := cleaner.Explain(ctx, q.tx, v, ops.Options{Workers: q.Workers, MemoryBudget: q.MemoryBudget})
	if err != nil {
		return nil, err
	}
	if e.Incomplete != "" {
		q.notices = append(q.notices, e.Incomplete)
	}
	q.showsScores = e.Run != 0
	r := NewTable(explanationColumns, explanationRows(e))
	r.Sections = slices.DeleteFunc(explanationSections(e, q.tx.Shape().IntegerIDs), func(s Section) bool { return len(s.Rows) == 0 })
	r.Object = explanationObject(e, q.tx.Shape().IntegerIDs)
	return r, nil
}

// explanationColumns are those of an explanation as rows: what is told, of what, the number it has, and how many there
// are.
var explanationColumns = []ColumnInfo{
	{"section", kv.KindString}, {"name", kv.KindString}, {"value", kv.KindNull}, {"count", kv.KindInt},
}

// explanationRows lays an explanation out as rows of one kind.
func explanationRows(e *cleaner.Explanation) (rows [][]kv.Value) {
	tell := func(section, name string, value kv.Value, count kv.Value) {
		rows = append(rows, []kv.Value{kv.ValueOf(section), kv.ValueOf(name), value, count})
	}
	for _, f := range shownFields(e) {
		tell("node", f.name, f.value, kv.Value{})
	}
	for _, c := range e.TopClasses {
		tell("prediction", c.Class, number(c.Share), kv.Value{})
	}
	for _, f := range e.Features {
		tell("feature", f.Name, number(f.Value), kv.Value{})
	}
	for _, c := range e.Votes {
		tell("neighbors", c.Class, number(c.Share), kv.ValueOf(c.Count))
	}
	for _, h := range e.Hops {
		tell(fmt.Sprintf("hop %d labels", h.Hop), h.Class, number(h.Labels), kv.ValueOf(h.Nodes))
		tell(fmt.Sprintf("hop %d predictions", h.Hop), h.Class, number(h.Predictions), kv.Value{})
	}
	for _, o := range e.Supporters {
		tell("supporter", o.ID, number(o.For), kv.Value{})
	}
	for _, o := range e.Opponents {
		tell("opponent", o.ID, number(o.Against), kv.Value{})
	}
	for _, c := range e.Counterfactual {
		tell("counterfactual", c.Class, number(c.Share), kv.Value{})
	}
	for _, d := range e.Words {
		tell("word", d.Who, kv.ValueOf(wordText(d)), kv.ValueOf(d.Seq))
	}
	for _, d := range e.History {
		tell("history", timeText(d.Time), kv.ValueOf(decisionSummary(d)), kv.ValueOf(d.Seq))
	}
	return rows
}

// decisionSummary is an entry of the history in a few words, such as "accept: Systems → Theory".
func decisionSummary(d decide.Decision) string {
	orNone := func(label string) string {
		if label == "" {
			return "no label"
		}
		return label
	}
	what := d.Kind.String()
	if d.Undoes != 0 {
		what = "undo of " + what
	}
	switch {
	case d.Label != d.To:
		what += ": " + orNone(d.To) + ", and the label stays " + orNone(d.Label)
	case d.From != d.To:
		what += ": " + orNone(d.From) + " → " + orNone(d.To)
	}
	return what
}

// nodeFields are what an explanation says of the node itself.
func nodeFields(e *cleaner.Explanation) []field {
	return []field{
		{name: "label", value: text(e.Label)}, {name: "suggested", value: text(e.Suggestion)},
		{name: "score", value: number(e.Score)}, {name: "scored_as", value: text(e.ScoredAs)}, // of JSON alone
		{name: "confidence", value: number(e.Confidence)},
		{name: "degree", value: kv.ValueOf(int64(e.Degree))}, {name: "split", value: text(e.Split)},
		{name: "run", value: ordinal(e.Run)}, {name: "decision", value: text(e.Decision.String())}, {name: "disputed", value: flag(e.Disputed)},
	}
}

// shownFields are those of a table.
func shownFields(e *cleaner.Explanation) []field {
	return slices.DeleteFunc(nodeFields(e), func(f field) bool {
		return f.name == "scored_as" || (f.name == "decision" || f.name == "disputed") && f.value.IsNull()
	})
}

func shareRow(c cleaner.ClassShare) []kv.Value {
	return []kv.Value{kv.ValueOf(c.Class), number(c.Share)}
}

func voteRow(c cleaner.ClassShare) []kv.Value {
	return []kv.Value{kv.ValueOf(c.Class), kv.ValueOf(c.Count), number(c.Share)}
}

func hopRow(h cleaner.HopVote) []kv.Value {
	return []kv.Value{kv.ValueOf(int64(h.Hop)), kv.ValueOf(h.Class), kv.ValueOf(h.Nodes), number(h.Labels), number(h.Predictions)}
}

// explanationObject lays an explanation out for JSON.
func explanationObject(e *cleaner.Explanation, integerIDs bool) object {
	features := []object{}
	for _, f := range e.Features {
		features = append(features, object{{"name", f.Name}, {"value", jsonOf(number(f.Value))}})
	}
	hops := []object{}
	for i, h := range e.Hops { // by hop
		if i == 0 || h.Hop != e.Hops[i-1].Hop {
			hops = append(hops, object{{"hop", h.Hop}, {"classes", []object{}}})
		}
		classes := &hops[len(hops)-1][1]
		classes.value = append(classes.value.([]object), objects([][]kv.Value{hopRow(h)}, "", "class", "nodes", "labels", "predictions")...)
	}
	history := []object{}
	for _, d := range e.History {
		fields := decisionFields(d, integerIDs)
		history = append(history, objectOf(slices.DeleteFunc(fields, func(f field) bool { return f.name == "id" })))
	}
	words := rowsFrom(e.Words, func(d decide.Decision) []kv.Value {
		return []kv.Value{text(d.Who), kv.ValueOf(d.Kind.String()), text(d.To), text(d.Why)}
	})
	o := append(object{{"id", jsonOf(idValue(e.ID, integerIDs))}}, objectOf(nodeFields(e))...)
	o = append(o, member{"predictions", objects(rowsFrom(e.TopClasses, shareRow), "class", "share")}, member{"features", features})
	supporters, opponents := voiceSection(e, true, integerIDs), voiceSection(e, false, integerIDs)
	o = append(
		o, member{"neighbors", objects(rowsFrom(e.Votes, voteRow), "class", "count", "share")},
		member{"counterfactual", objects(rowsFrom(e.Counterfactual, shareRow), "class", "score")}, member{"hops", hops},
		member{"supporters", objects(supporters.Rows, columnNames(supporters.Columns)...)},
		member{"opponents", objects(opponents.Rows, columnNames(opponents.Columns)...)},
		member{"words", objects(words, "who", "decision", "label", "why")}, member{"history", history},
	)
	if e.Incomplete != "" {
		o = append(o, member{"incomplete", e.Incomplete})
	}
	return o
}

// explanationSections lays an explanation out for reading.
func explanationSections(e *cleaner.Explanation, integerIDs bool) []Section {
	title, neighbors, words := "Node "+e.ID, "Labels of the neighbours", "What people say"
	if e.Label == "" {
		title += ", not labelled"
	} else {
		title += ", labelled " + e.Label
	}
	if e.ScoredAs != "" && e.ScoredAs != e.Label {
		title += ", scored as " + e.ScoredAs
	}
	if e.Disputed {
		words += ": disputed"
	}
	said := e.Words
	if len(said) < 2 {
		said = nil // the history has it
	}
	return []Section{
		{title, textColumns("property", "value"), rowsFrom(shownFields(e), func(f field) []kv.Value { return []kv.Value{kv.ValueOf(f.name), f.value} })},
		shareSection("Predicted classes", "probability", e.TopClasses),
		featureSection(e),
		{neighbors, []ColumnInfo{{"class", kv.KindString}, {"count", kv.KindInt}, {"share", kv.KindFloat}}, rowsFrom(e.Votes, voteRow)},
		hopSection(e),
		voiceSection(e, true, integerIDs),
		voiceSection(e, false, integerIDs),
		shareSection("Score, had the label been", "score", e.Counterfactual),
		{words, textColumns("who", "decision", "why"), rowsFrom(said, func(d decide.Decision) []kv.Value {
			return []kv.Value{text(d.Who), kv.ValueOf(wordText(d)), text(d.Why)}
		})},
		{"History", textColumns("time", "decision", "who", "why"), rowsFrom(e.History, func(d decide.Decision) []kv.Value {
			return []kv.Value{kv.ValueOf(timeText(d.Time)), kv.ValueOf(decisionSummary(d)), text(d.Who), text(d.Why)}
		})},
	}
}

func textColumns(names ...string) (columns []ColumnInfo) {
	for _, name := range names {
		columns = append(columns, ColumnInfo{name, kv.KindString})
	}
	return columns
}

// featureSection shows the agreement features.
func featureSection(e *cleaner.Explanation) Section {
	s := Section{Title: "Agreement features", Columns: []ColumnInfo{
		{"feature", kv.KindString}, {"value", kv.KindFloat}, {"meaning", kv.KindString},
	}}
	for _, f := range e.Features {
		s.Rows = append(s.Rows, []kv.Value{kv.ValueOf(f.Name), number(f.Value), text(featureMeaning(f.Name))})
	}
	return s
}

// hopSection shows the labels and predictions of nodes at each distance, of the classes with most weight.
func hopSection(e *cleaner.Explanation) Section {
	s := Section{Title: "Labels and predictions at the end of walks, by weight", Columns: []ColumnInfo{
		{"length", kv.KindInt}, {"class", kv.KindString}, {"nodes", kv.KindInt}, {"labels", kv.KindFloat}, {"predictions", kv.KindFloat},
	}}
	counts := map[int]int{}
	for _, h := range e.Hops {
		if counts[h.Hop]++; counts[h.Hop] <= shownHopClasses {
			s.Rows = append(s.Rows, hopRow(h))
		}
	}
	if len(s.Rows) < len(e.Hops) {
		s.Title += ": the first " + strconv.Itoa(shownHopClasses) + " classes"
	}
	return s
}

// voiceSection shows the neighbours that speak most for the label, or against it.
func voiceSection(e *cleaner.Explanation, isFor, integerIDs bool) Section {
	side, voices := "against", e.Opponents
	if isFor {
		side, voices = "for", e.Supporters
	}
	return Section{"Neighbours that speak most " + side + " the label", []ColumnInfo{
		{"id", idKind(integerIDs)}, {"label", kv.KindString}, {"predicted", kv.KindString}, {"confidence", kv.KindFloat},
		{"of_given", kv.KindFloat}, {"score", kv.KindFloat}, {"weight", kv.KindFloat}, {side, kv.KindFloat},
	}, rowsFrom(voices, func(v cleaner.Voice) []kv.Value {
		strength := v.Against
		if isFor {
			strength = v.For
		}
		return []kv.Value{
			idValue(v.ID, integerIDs), text(v.Label), text(v.Class), number(v.Confidence),
			number(v.Prediction), number(v.Score), number(v.Weight), number(strength),
		}
	})}
}

// wordText is the word of a person in a few words, such as "relabel: Theory".
func wordText(d decide.Decision) string {
	switch d.Kind {
	case decide.Unsure:
		return d.Kind.String()
	case decide.Unlabel:
		return d.Kind.String() + ": no label"
	}
	return d.Kind.String() + ": " + d.To
}

// ordinal is a number that counts from 1, such as that of a run; null if there is none.
func ordinal(n int64) kv.Value {
	if n == 0 {
		return kv.Value{}
	}
	return kv.ValueOf(n)
}

func shareSection(title, share string, classes []cleaner.ClassShare) Section {
	if len(classes) > shownClasses {
		title += fmt.Sprintf(": the first %d of %d classes", shownClasses, len(classes))
		classes = classes[:shownClasses]
	}
	return Section{Title: title, Columns: []ColumnInfo{{"class", kv.KindString}, {share, kv.KindFloat}}, Rows: rowsFrom(classes, shareRow)}
}

// featureMeaning puts P0, P1 … L1 … into words.
func featureMeaning(feature string) string {
	hop := strings.TrimLeft(feature, "PL")
	switch {
	case feature == "P0":
		return "prediction of the given label"
	case hop == feature || hop == "":
		return ""
	case feature[0] == 'P':
		return fmt.Sprintf("predictions of the given label over walks of length %s", hop)
	default:
		return fmt.Sprintf("given labels like its own over walks of length %s", hop)
	}
}
