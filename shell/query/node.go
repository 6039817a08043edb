package query

import (
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// describeNode answers node: every property that the store has a column of.
func (q *query) describeNode(s *nodeStatement) (*Result, error) {
	v, err := q.findNode(s.id)
	if err != nil {
		return nil, err
	}
	names := slices.DeleteFunc([]string{"id", "label", "suggested", "score", "confidence", "degree", "split", "decision", "decided_by", "disputed", "run"},
		func(name string) bool { _, stored := q.tx.Column(name); return !stored })
	columns, err := q.columns(nil, append(names, UserColumns(q.tx)...))
	if err != nil {
		return nil, err
	}
	fields := make([]field, len(columns))
	for i, c := range columns {
		value, err := q.tx.Value(v, c.Name)
		if err != nil {
			return nil, err
		}
		fields[i] = field{name: c.Name, kind: c.Kind, value: value}
	}
	return recordOf(fields), nil
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
