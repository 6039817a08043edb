package query

import (
	"cmp"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A described is what describe says of a property.
type described struct {
	name    string
	kind    kv.Kind // of nodeProperties: if the store has no such column
	meaning string
}

// The properties of each list. Those of the history and of classes are the columns of these statements.
var (
	nodeProperties = []described{
		{"id", kv.KindString, "the name of the node"},
		{"label", kv.KindClass, "the given label"},
		{"suggested", kv.KindClass, "the label that the last run suggests"},
		{"score", kv.KindSingle, "the chance that the label is wrong"},
		{"confidence", kv.KindSingle, "the predicted chance of the suggested label"},
		{"degree", kv.KindInt, "the number of neighbours"},
		{"split", kv.KindString, "train, val or test"},
		{"decision", kv.KindString, "the decision in force: accept, reject, relabel, unlabel or unsure; of a " +
			"disputed node, the one before the dispute"},
		{"decided_by", kv.KindString, "who has decided about the node"},
		{"disputed", kv.KindBool, "true while people disagree about the node"},
		{"run", kv.KindInt, "the run that scored the node"},
	}
	nodeFunctions = []described{
		{"share(label, 2)", kv.KindFloat, "the share of labelled nodes within 2 hops that have this label; also of " +
			"suggested, or of a class"},
		{"neighbor(CONDITION, 2)", kv.KindBool, "true if the condition is true of a node within 2 hops"},
	}
	neighborProperties = map[string]string{
		"hop":        "the distance from the node",
		"direction":  "out: the edge leads to the neighbour; in: from it; both",
		"weight":     "the weight of the edge",
		"weight_out": "the weight of the edge to the neighbour",
		"weight_in":  "the weight of the edge from the neighbour",
	}
	historyProperties = map[string]string{
		"seq":      "the number of the entry",
		"step":     "the step of the entry: undo takes whole steps back",
		"time":     "when it was decided, as 2026-01-31T18:00:00.000000Z",
		"id":       "the node",
		"decision": "accept, reject, relabel, unlabel, unsure or undo",
		"from":     "the label before",
		"to":       "the label that the decision names",
		"who":      "who has decided",
		"why":      "the reason, if one was given",
		"run":      "the last run before the decision",
		"score":    "the score at the decision",
		"undoes":   "of an undo: the seq of the entry that it takes back",
		"disputed": "true if people disagree after the entry",
		"in_force": "true if the decision holds now",
	}
	classProperties = map[string]string{
		"class":           "the name of the class",
		"nodes":           "the nodes with this label",
		"share":           "their share of all labels",
		"homophily":       "the share of their labelled neighbours with the same label",
		"self_confidence": "the mean predicted chance of the label",
		"suspects":        "the suspects among them",
		"suspect_share":   "the share of suspects among them",
		"estimated_rate":  "the share of wrong labels as the model estimates it",
	}
)

// describe answers describe: all that conditions, order by and return can name, in each list.
func (q *query) describe() *Result {
	columns := []ColumnInfo{
		{"list", kv.KindString}, {"property", kv.KindString}, {"kind", kv.KindString}, {"indexed", kv.KindBool},
		{"meaning", kv.KindString},
	}
	var rows [][]kv.Value
	add := func(list, name string, kind kv.Kind, indexed kv.Value, meaning string) {
		rows = append(rows, []kv.Value{kv.ValueOf(list), kv.ValueOf(name), kv.ValueOf(kindName(kind)),
			indexed, text(meaning)})
	}
	for _, p := range nodeProperties {
		c, _ := q.tx.Column(p.name)
		add("nodes", p.name, cmp.Or(c.Kind, p.kind), kv.ValueOf(c.Indexed), p.meaning)
	}
	for _, name := range UserColumns(q.tx) {
		c, _ := q.tx.Column(name)
		add("nodes", name, c.Kind, kv.ValueOf(c.Indexed), "")
	}
	for _, f := range nodeFunctions {
		add("nodes", f.name, f.kind, kv.Value{}, f.meaning)
	}
	for _, c := range listColumns(q.tx, "neighbors") {
		add("neighbors", c.Name, c.Kind, kv.Value{}, neighborProperties[c.Name])
	}
	for _, c := range listColumns(q.tx, "history") {
		add("history", c.Name, c.Kind, kv.Value{}, historyProperties[c.Name])
	}
	for _, c := range listColumns(q.tx, "classes") {
		add("classes", c.Name, c.Kind, kv.Value{}, classProperties[c.Name])
	}
	return NewTable(columns, rows)
}

// propertyNames are the names of all properties of nodes, sorted: the stored ones, and those that every store has.
func propertyNames(tx *kv.Tx) []string {
	names := slices.Clone(cleaner.ReservedNames)
	for _, c := range tx.Columns() {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// listColumns are the columns of a list that are no properties of nodes.
func listColumns(tx *kv.Tx, list string) (columns []ColumnInfo) {
	switch list {
	case "classes":
		return classColumns
	case "history":
		for _, f := range decisionFields(decide.Decision{}, false, tx.Shape().IntegerIDs) {
			columns = append(columns, ColumnInfo{Name: f.name, Kind: f.kind})
		}
	case "neighbors":
		columns = append([]ColumnInfo{{"hop", kv.KindInt}}, edgeColumns(tx)...)
	}
	return columns
}

// fixedValues are the values that a property can have, of one that the program writes, nil of others. Columns are those
// of a resolver.
func fixedValues(property string, columns []ColumnInfo) (values []string) {
	isOf := func(name string) bool {
		return slices.ContainsFunc(columns, func(c ColumnInfo) bool { return c.Name == name })
	}
	switch {
	case property == decide.Column:
		for _, kind := range decisionKinds {
			values = append(values, kind.String())
		}
		if isOf("undoes") { // of the history
			values = append(values, "undo")
		}
	case property == "split":
		values = []string{"train", "val", "test"}
	case property == "direction" && isOf("hop"):
		for _, d := range []kv.Direction{kv.Out, kv.In, kv.Both} {
			values = append(values, d.String())
		}
	}
	return values
}

// kindName is what people call a kind of property.
func kindName(kind kv.Kind) string {
	switch kind {
	case kv.KindBool:
		return "true or false"
	case kv.KindInt:
		return "integer"
	case kv.KindFloat, kv.KindSingle:
		return "number"
	case kv.KindString:
		return "text"
	case kv.KindClass:
		return "class"
	default:
		return ""
	}
}
