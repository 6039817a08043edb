package query

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// timeForm matches times whose order as texts is that of the times. Its groups are the parts that all times of
// a column have or lack, unlike digits of a fraction, which some programs leave out of whole seconds.
var timeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\d(?:([T ])\d\d:\d\d(?:(:)\d\d(?:\.\d{1,9})?)?(Z?))?$`)

// asTimeOf returns a time in the form that the times of a column have, since a column has texts, and texts are compared
// by their bytes. It returns other texts as they are, and times that the column may have.
func (q *query) asTimeOf(column, text string) (string, error) {
	t, ok := wording.ParseTime(text)
	if !ok || len(text) == len(time.DateOnly) {
		return text, nil
	}
	has, err := q.leastOfFirst(column)
	form, given := timeForm.FindStringSubmatch(has), timeForm.FindStringSubmatch(text)
	if err != nil || form == nil || given != nil && slices.Equal(form[1:], given[1:]) {
		return text, err
	}
	size, zone := len(strings.TrimSuffix(has, "Z")), form[3]
	whole := t.UTC().Format("2006-01-02" + form[1] + "15:04:05.000000000")
	if strings.Trim(whole[size:], "0:.") != "" {
		zone = "~" // after all that begins so, and before the next
	}
	return whole[:size] + zone, nil
}

// leastOfFirst is the least text of the first part of a column that has any, "" if there is none.
func (q *query) leastOfFirst(column string) (string, error) {
	reader, err := q.tx.Reader(column)
	if errors.Is(err, kv.ErrNoColumn) {
		return "", nil
	}
	for v := kv.NodeID(0); err == nil && int(v) < q.tx.NumNodes(); {
		var block kv.Vector
		if block, err = reader.Block(v); err == nil {
			if least, _ := block.Bounds(); !least.IsNull() {
				return least.Str(), nil
			}
		}
		v = block.Nodes.End
	}
	return "", err
}
