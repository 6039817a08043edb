package query

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/graphcleaner/graphcleaner/kv"
)

// An object is an object of JSON, with its members in order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members, strings as they are.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encoder.Encode(m.name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := encoder.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// objectOf is an object of fields.
func objectOf(fields []field) (o object) {
	for _, f := range fields {
		o = append(o, member{f.name, jsonOf(f.value)})
	}
	return o
}

// objects are rows, with the names of their columns; one of "" is left out.
func objects(rows [][]kv.Value, names ...string) []object {
	all := make([]object, len(rows))
	for i, row := range rows {
		for j, name := range names {
			if name == "" {
				continue
			}
			all[i] = append(all[i], member{name, jsonOf(row[j])})
		}
	}
	return all
}

// jsonOf is a value for JSON, which has no number for NaN and the infinities: they are null.
func jsonOf(v kv.Value) any {
	switch {
	case v.IsNull(), v.Kind() == kv.KindFloat && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)):
		return nil
	case v.Kind() == kv.KindString:
		return v.Str()
	default:
		return json.RawMessage(Exact(v, kv.KindNull))
	}
}
