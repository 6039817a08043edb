package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
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
	if err := q.remarkUnpredicted(ctx, v, "to give it some"); err != nil {
		return nil, err
	}
	q.showsScores = e.Run != 0
	r := NewTable(explanationColumns, explanationRows(e))
	r.Sections = slices.DeleteFunc(explanationSections(e, q.tx.Shape().IntegerIDs), func(s Section) bool { return len(s.Rows) == 0 })
	r.Object = explanationObject(e, q.tx.Shape().IntegerIDs)
	return r, nil
}

// remarkUnpredicted says, behind what, how a node gets predictions that has none, and where no node has any, just that.
func (q *query) remarkUnpredicted(ctx context.Context, v kv.NodeID, what string) error {
	if _, err := q.tx.Matrix(cleaner.PredictionsMatrix); errors.Is(err, kv.ErrNotFound) {
		q.notices = append(q.notices, "the store has no predictions, and so no scores: "+wording.WayToPredict+", and then clean")
		return nil
	}
	predicted, err := cleaner.Predicted(q.tx)
	if err != nil {
		return err
	}
	if class, _, err := predicted(v); err != nil || class != kv.NoClass {
		return err
	}
	way := wording.WayToPredict + ", and then clean"
	switch _, err := cleaner.ClassifierAge(ctx, q.tx); {
	case err == nil:
		way = "run rescore: the kept classifier predicts it"
	case !errors.Is(err, kv.ErrNotFound):
		return err
	}
	q.notices = append(q.notices, what+": "+way)
	return nil
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
	for _, f := range e.Features {
		if right, wrong := percentile(f.RankRight), percentile(f.RankWrong); !right.IsNull() || !wrong.IsNull() {
			tell("percentile among right", f.Name, right, kv.Value{})
			tell("percentile among wrong", f.Name, wrong, kv.Value{})
		}
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

// explanationObject lays an explanation out for JSON.
func explanationObject(e *cleaner.Explanation, integerIDs bool) object {
	o := append(object{{"id", jsonOf(idValue(e.ID, integerIDs))}}, objectOf(nodeFields(e))...)
	features := []object{}
	for _, f := range e.Features {
		feature := object{{"name", f.Name}, {"value", jsonOf(number(f.Value))}}
		if right := percentile(f.RankRight); !right.IsNull() {
			feature = append(feature, member{"percentile_among_right", right.Float()})
		}
		if wrong := percentile(f.RankWrong); !wrong.IsNull() {
			feature = append(feature, member{"percentile_among_wrong", wrong.Float()})
		}
		features = append(features, feature)
	}
	o = append(o, member{"predictions", objects(shareRows(e.TopClasses), "class", "share")}, member{"features", features})
	if e.Direction != kv.Both {
		o = append(o, member{"direction", e.Direction.String()})
	}
	hops := []object{}
	for rest := e.Hops; len(rest) > 0; {
		end := slices.IndexFunc(rest, func(h cleaner.HopVote) bool { return h.Hop != rest[0].Hop })
		if end < 0 {
			end = len(rest)
		}
		hops = append(hops, object{
			{"hop", rest[0].Hop}, {"classes", objects(hopRows(rest[:end]), "", "class", "nodes", "labels", "predictions")},
		})
		rest = rest[end:]
	}
	history := []object{}
	for i, d := range e.History {
		fields := decisionFields(d, e.InForce[i], integerIDs)
		history = append(history, objectOf(slices.DeleteFunc(fields, func(f field) bool { return f.name == "id" })))
	}
	words := []object{}
	for _, d := range e.Words {
		words = append(words, objectOf([]field{
			{name: "who", value: text(d.Who)}, {name: "decision", value: kv.ValueOf(d.Kind.String())}, {name: "label", value: text(d.To)},
			{name: "why", value: text(d.Why)},
		}))
	}
	supporters, opponents := supporterSection(e, integerIDs), opponentSection(e, integerIDs)
	o = append(
		o, member{"neighbors", objects(voteRows(e), "class", "count", "share")},
		member{"counterfactual", objects(shareRows(e.Counterfactual), "class", "score")}, member{"hops", hops},
		member{"supporters", objects(supporters.Rows, columnNames(supporters.Columns)...)},
		member{"opponents", objects(opponents.Rows, columnNames(opponents.Columns)...)}, member{"words", words}, member{"history", history},
	)
	if e.Incomplete != "" {
		o = append(o, member{"incomplete", e.Incomplete})
	}
	return o
}

// shareRows are classes with their shares.
func shareRows(classes []cleaner.ClassShare) (rows [][]kv.Value) {
	for _, c := range classes {
		rows = append(rows, []kv.Value{kv.ValueOf(c.Class), number(c.Share)})
	}
	return rows
}

// voteRows are the votes of the neighbours.
func voteRows(e *cleaner.Explanation) (rows [][]kv.Value) {
	for _, c := range e.Votes {
		rows = append(rows, []kv.Value{kv.ValueOf(c.Class), kv.ValueOf(c.Count), number(c.Share)})
	}
	return rows
}

// hopRows are the votes of nodes at the end of walks.
func hopRows(votes []cleaner.HopVote) (rows [][]kv.Value) {
	for _, h := range votes {
		rows = append(rows, []kv.Value{
			kv.ValueOf(int64(h.Hop)), kv.ValueOf(h.Class), kv.ValueOf(h.Nodes), number(h.Labels), number(h.Predictions),
		})
	}
	return rows
}

// explanationSections lays an explanation out for reading.
func explanationSections(e *cleaner.Explanation, integerIDs bool) []Section {
	node := Section{Title: explanationTitle(e), Columns: []ColumnInfo{{Name: "property"}, {Name: "value"}}}
	for _, f := range shownFields(e) {
		node.Rows = append(node.Rows, []kv.Value{kv.ValueOf(f.name), f.value})
	}
	neighbors := "Labels of the neighbours"
	if e.Direction != kv.Both {
		neighbors += ", direction " + e.Direction.String()
	}
	votes := Section{Title: neighbors, Rows: voteRows(e), Columns: []ColumnInfo{
		{"class", kv.KindString}, {"count", kv.KindInt}, {"share", kv.KindFloat},
	}}
	return []Section{
		node,
		shareSection("Predicted classes", "probability", e.TopClasses),
		featureSection(e),
		votes,
		hopSection(e),
		supporterSection(e, integerIDs),
		opponentSection(e, integerIDs),
		shareSection("Score, had the label been", "score", e.Counterfactual),
		wordSection(e),
		historySection(e),
	}
}

// featureSection shows the agreement features, with their places among fitting nodes where those are known.
func featureSection(e *cleaner.Explanation) Section {
	s := Section{Title: "Agreement features", Columns: []ColumnInfo{{"feature", kv.KindString}, {"value", kv.KindFloat}}}
	ranked := slices.ContainsFunc(e.Features, func(f cleaner.NamedFeature) bool {
		return !math.IsNaN(f.RankRight) || !math.IsNaN(f.RankWrong)
	})
	if ranked {
		s.Title += fmt.Sprintf(", and their percentiles among about %.0f rightly and %.0f wrongly labelled nodes",
			e.FittingRight, e.FittingWrong)
		s.Columns = append(s.Columns, ColumnInfo{"among_right", kv.KindFloat}, ColumnInfo{"among_wrong", kv.KindFloat})
	}
	s.Columns = append(s.Columns, ColumnInfo{"meaning", kv.KindString})
	for _, f := range e.Features {
		row := []kv.Value{kv.ValueOf(f.Name), number(f.Value)}
		if ranked {
			row = append(row, percentile(f.RankRight), percentile(f.RankWrong))
		}
		s.Rows = append(s.Rows, append(row, text(featureMeaning(f.Name))))
	}
	return s
}

// percentile is a share in percent, to a tenth.
func percentile(share float64) kv.Value { return number(math.Round(1000*share) / 10) }

// hopSection shows what nodes at each distance say, of the classes with most weight.
func hopSection(e *cleaner.Explanation) Section {
	s := Section{Title: "Labels and predictions at the end of walks, by weight", Columns: []ColumnInfo{
		{"length", kv.KindInt}, {"class", kv.KindString}, {"nodes", kv.KindInt}, {"labels", kv.KindFloat}, {"predictions", kv.KindFloat},
	}}
	counts, left := map[int]int{}, false
	for _, h := range e.Hops {
		if counts[h.Hop]++; counts[h.Hop] > shownHopClasses {
			left = true
			continue
		}
		s.Rows = append(s.Rows, hopRows([]cleaner.HopVote{h})...)
	}
	if left {
		s.Title += ": the first " + strconv.Itoa(shownHopClasses) + " classes"
	}
	return s
}

// opponentSection shows the neighbours that speak most against the label.
func opponentSection(e *cleaner.Explanation, integerIDs bool) Section {
	return voiceSection("against", e.Opponents, func(o cleaner.Voice) float64 { return o.Against }, integerIDs)
}

// supporterSection shows those that speak most for it.
func supporterSection(e *cleaner.Explanation, integerIDs bool) Section {
	return voiceSection("for", e.Supporters, func(o cleaner.Voice) float64 { return o.For }, integerIDs)
}

// voiceSection shows the neighbours on one side, with the number that they are ordered by.
func voiceSection(side string, voices []cleaner.Voice, of func(cleaner.Voice) float64, integerIDs bool) Section {
	s := Section{Title: "Neighbours that speak most " + side + " the label", Columns: []ColumnInfo{
		{"id", idKind(integerIDs)}, {"label", kv.KindString}, {"predicted", kv.KindString}, {"confidence", kv.KindFloat},
		{"of_given", kv.KindFloat}, {"score", kv.KindFloat}, {"weight", kv.KindFloat}, {side, kv.KindFloat},
	}}
	for _, o := range voices {
		s.Rows = append(s.Rows, []kv.Value{
			idValue(o.ID, integerIDs), text(o.Label), text(o.Class), number(o.Confidence),
			number(o.Prediction), number(o.Score), number(o.Weight), number(of(o)),
		})
	}
	return s
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

// wordSection shows the last word of each person, if there is more than one.
func wordSection(e *cleaner.Explanation) Section {
	s := Section{Title: "What people say", Columns: []ColumnInfo{{"who", kv.KindString}, {"decision", kv.KindString}, {"why", kv.KindString}}}
	if e.Disputed {
		s.Title += ": disputed"
	}
	if len(e.Words) < 2 {
		return s
	}
	for _, d := range e.Words {
		s.Rows = append(s.Rows, []kv.Value{text(d.Who), kv.ValueOf(wordText(d)), text(d.Why)})
	}
	return s
}

// historySection shows what was decided on the node.
func historySection(e *cleaner.Explanation) Section {
	s := Section{Title: "History", Columns: []ColumnInfo{
		{"time", kv.KindString}, {"decision", kv.KindString}, {"who", kv.KindString}, {"why", kv.KindString},
	}}
	for _, d := range e.History {
		s.Rows = append(s.Rows, []kv.Value{
			kv.ValueOf(timeText(d.Time)), kv.ValueOf(decisionSummary(d)), text(d.Who), text(d.Why),
		})
	}
	return s
}

// ordinal is a number that counts from 1, such as that of a run; null if there is none.
func ordinal(n int64) kv.Value {
	if n == 0 {
		return kv.Value{}
	}
	return kv.ValueOf(n)
}

func explanationTitle(e *cleaner.Explanation) string {
	title := "Node " + e.ID
	if e.Label == "" {
		title += ", not labelled"
	} else {
		title += ", labelled " + e.Label
	}
	if e.ScoredAs != "" && e.ScoredAs != e.Label {
		title += ", scored as " + e.ScoredAs
	}
	return title
}

func shareSection(title, share string, classes []cleaner.ClassShare) Section {
	if len(classes) > shownClasses {
		title += fmt.Sprintf(": the first %d of %d classes", shownClasses, len(classes))
		classes = classes[:shownClasses]
	}
	return Section{Title: title, Columns: []ColumnInfo{{"class", kv.KindString}, {share, kv.KindFloat}}, Rows: shareRows(classes)}
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
