package files

import (
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// askNode asks which column names the node, where another beside id may: programs for labelling number their tasks in
// id.
func (f *decisionsFile) askNode(in *table.Reader, columns []int) error {
	node := guessColumn(in.Header(), "node", columns, false)
	if f.Columns["id"] != "" || in.Numbered() || columns[slices.Index(filedFields, "id")] < 0 || node < 0 {
		return nil
	}
	name := reference(in.Header(), node)
	flag := func(id string) string { return wording.ShellWord(f.Columns.with("id", id).String()) }
	return in.HeaderErrorf("", "has the columns id and %s: which of them names the node? Add --columns %s, or "+
		"--columns %s", name, flag(name), flag("id"))
}

// sayUnused says which columns are not used that often say who decided, why and when.
func (f *decisionsFile) sayUnused(in *table.Reader, columns []int) {
	var unused []string
	advised := f.Columns
	for _, name := range []string{"who", "why", "time"} {
		i := guessColumn(in.Header(), name, columns, false)
		if columns[slices.Index(filedFields, name)] < 0 && i >= 0 && !in.Numbered() {
			unused, advised = append(unused, describe(in.Header(), i)), advised.with(name, reference(in.Header(), i))
		}
	}
	if unused != nil {
		f.say("%s: not used: %s. --columns %s takes them, into a store that does not have these decisions yet",
			in.Path(), strings.Join(unused, ", "), wording.ShellWord(advised.String()))
	}
}
