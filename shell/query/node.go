package query

import (
	"context"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

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
	r := NewResult(columns, f.rows(ctx, index.Each(nodes)))
	r.Record = len(nodes) == 1
	return r, nil
}

// heldNames are the properties that the store holds, the built-in ones first.
func (q *query) heldNames() []string {
	names := slices.DeleteFunc([]string{"id", "label", "suggested", "score", "confidence", "degree", "split", "decision", "decided_by", "disputed", "run"},
		func(name string) bool { _, stored := q.tx.Column(name); return !stored })
	return append(names, UserColumns(q.tx)...)
}

// describe answers describe: the properties that the store holds, with their kinds.
func (q *query) describe() *Result {
	columns := []ColumnInfo{{"property", kv.KindString}, {"kind", kv.KindString}, {"indexed", kv.KindBool}, {"meaning", kv.KindString}}
	var rows [][]kv.Value
	for _, name := range q.heldNames() {
		c, _ := q.tx.Column(name)
		meaning := ""
		if slices.Contains(cleaner.ReservedNames, name) {
			meaning = meanings[name]
		}
		rows = append(rows, []kv.Value{kv.StringValue(name), kv.StringValue(kindName(c.Kind)), kv.BoolValue(c.Indexed), text(meaning)})
	}
	return NewTable(columns, rows)
}

// meanings says what the built-in properties are.
var meanings = map[string]string{
	"id":         "the name of the node",
	"label":      "the given label",
	"suggested":  "the label that the last run suggests",
	"score":      "the chance that the label is wrong",
	"confidence": "the predicted chance of the suggested label",
	"degree":     "the number of neighbours",
	"split":      "train, val or test",
	"decision":   "the last decision about the node",
	"decided_by": "who has decided about the node",
	"disputed":   "true while people disagree about the node",
	"run":        "the run that scored the node",
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
