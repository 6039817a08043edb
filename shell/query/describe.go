package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A described is what describe says of a property.
type described struct {
	name    string
	kind    kv.Kind // of nodeProperties: if the store has no such column
	meaning string
}

// nodeProperties are those that every node has.
var nodeProperties = []described{
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

// listMeanings are those of the columns of each other list.
var listMeanings = map[string]map[string]string{
	"neighbors": {
		"hop":        "the distance from the node",
		"direction":  "out: the edge leads to the neighbour; in: from it; both",
		"weight":     "the weight of the edge",
		"weight_out": "the weight of the edge to the neighbour",
		"weight_in":  "the weight of the edge from the neighbour",
	},
	"history": {
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
	},
	"classes": {
		"class":           "the name of the class",
		"nodes":           "the nodes with this label",
		"share":           "their share of all labels",
		"homophily":       "the share of their labelled neighbours with the same label",
		"self_confidence": "the mean predicted chance of the label",
		"suspects":        "the suspects among them",
		"suspect_share":   "the share of suspects among them",
		"estimated_rate":  "the share of wrong labels as the model estimates it",
	},
}

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
	add("nodes", "share(label, 2)", kv.KindFloat, kv.Value{},
		"the share of labelled nodes within 2 hops that have this label; also of suggested, or of a class")
	for _, list := range []string{"neighbors", "history", "classes"} {
		for _, c := range listColumns(q.tx, list) {
			add(list, c.Name, c.Kind, kv.Value{}, listMeanings[list][c.Name])
		}
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
		return columnsOf(decisionFields(decide.Decision{}, false, tx.Shape().IntegerIDs))
	case "neighbors":
		columns = append([]ColumnInfo{{"hop", kv.KindInt}}, edgeColumns(tx)...)
	}
	return columns
}

// kindName is the name of a kind of property for people.
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

// describeNodes answers node: every property that the store has a column of. One node is a record.
func (q *query) describeNodes(ctx context.Context, s *nodeStatement) (*Result, error) {
	nodes := make([]kv.NodeID, len(s.ids))
	for i, id := range s.ids {
		var err error
		if nodes[i], err = q.findNode(id); err != nil {
			return nil, err
		}
	}
	columns, err := q.properties(q.heldNames())
	if err != nil {
		return nil, err
	}
	f, err := q.fetcher(columnNames(columns))
	if err != nil {
		return nil, err
	}
	r := NewResult(columns, f.rows(ctx, eachNode(nodes)))
	r.Record = len(nodes) == 1
	return r, nil
}

// heldNames are the properties that the store holds, the built-in ones first.
func (q *query) heldNames() []string {
	names := slices.DeleteFunc([]string{"id", "label", "suggested", "score", "confidence", "degree", "split", "decision", "decided_by", "disputed", "run"},
		func(name string) bool { _, stored := q.tx.Column(name); return !stored })
	return append(names, UserColumns(q.tx)...)
}

// index answers create index and drop index.
func (q *query) index(ctx context.Context, s *indexStatement) (*Result, error) {
	column, err := q.property(s.property)
	if err != nil {
		return nil, err
	}
	said := "created"
	if s.verb == "create" {
		err = index.Create(ctx, q.store, column.Name)
	} else {
		said = "dropped"
		err = index.Drop(q.store, column.Name)
	}
	wrong := func(format string) error {
		return &ResolveError{Pos: s.property.pos, Msg: fmt.Sprintf(format, s.property), Err: err}
	}
	switch {
	case errors.Is(err, kv.ErrExists):
		return nil, wrong("%s has an index already")
	case errors.Is(err, kv.ErrNotFound):
		return nil, wrong("%s has no index")
	case errors.Is(err, kv.ErrNoColumn):
		return nil, wrong("%s is not stored as a column: it needs no index")
	case err != nil:
		return nil, err
	}
	return recordOf([]field{
		{name: "index", kind: kv.KindString, value: kv.ValueOf(column.Name)},
		{name: "change", kind: kv.KindString, value: kv.ValueOf(said)},
	}), nil
}
