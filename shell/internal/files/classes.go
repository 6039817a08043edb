package files

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/namelist"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// A Form says which labels of files mean that a node has none, beside the empty one. Labels are compared letter by
// letter.
type Form struct{ Unlabelled []string }

// label reads a label; "" is none.
func (f Form) label(text string) string {
	if slices.Contains(f.Unlabelled, text) {
		return ""
	}
	return text
}

// flag makes labels none beside those of f.
func (f Form) flag(labels ...string) string {
	return "--unlabelled=" + wording.ShellWord(joinNames(slices.Concat(f.Unlabelled, labels)))
}

// joinNames is a list for a flag, in which a backslash takes a comma as a part of a name.
func joinNames(names []string) string {
	escaped := make([]string, len(names))
	for i, name := range names {
		escaped[i] = strings.ReplaceAll(name, ",", `\,`)
	}
	return strings.Join(escaped, ",")
}

// missingLabels are how programs and people write that there is no label, in lower case.
var missingLabels = []string{
	"na", "n/a", "#n/a", "<na>", "nan", "nat", "none", "null", "nil", "unknown", "unlabelled", "unlabeled", "undefined",
	"missing", "?", "-", "-1", `\n`,
}

// isMissingWord reports whether a label may mean that there is none.
func isMissingWord(label string) bool {
	return slices.Contains(missingLabels, strings.ToLower(strings.TrimSpace(label)))
}

// sayClasses tells oddities of the classes of a store. Before are those that it had before files were appended,
// nil of a new one.
func (r Job) sayClasses(tx *kv.Tx, nodes *nodesFile, before []string) {
	var added, missing []string
	for _, class := range namelist.Sorted(tx.Classes()) {
		if slices.Contains(before, class) {
			continue
		}
		added = append(added, class)
		if isMissingWord(class) && (class != "-1" || len(tx.Classes()) > 2) { // it may be the opposite of 1
			missing = append(missing, class)
		}
	}
	again := "--replace --yes "
	if before != nil {
		again = ""
		if added != nil {
			r.caution("The store has new classes: " + namelist.Of(added) + ". If a label is misspelt, correct the file and " +
				"append it again.")
		}
	}
	if missing != nil {
		r.caution(fmt.Sprintf("Labels that often mean that a node has none are classes here: %s. If they mean no label, "+
			"repeat this with %s%s",
			namelist.Of(missing), again, nodes.labels.flag(missing...)))
	}
}

// sayManyClasses asks whether a column has classes if it has more than one for every four labelled nodes.
func (r Job) sayManyClasses(nodes *nodesFile, stats kv.Stats) {
	const few = 20 // labelled nodes may well have classes of their own
	if nodes.label >= 0 && stats.Labelled >= few && 4*stats.Classes > stats.Labelled {
		r.caution(fmt.Sprintf("There are %d classes for %d labelled nodes: is the column %q the class? "+
			"The columns are %s. If another is meant, repeat this with --replace --yes --columns label=NAME",
			stats.Classes, stats.Labelled, nodes.in.Header()[nodes.label], nodes.in.ListColumns()))
	}
}

// classNames are the names of a header that are to be classes of a store: as they are, or, where the store has no such
// class, without white space around them.
func classNames(tx *kv.Tx, header []string) []string {
	classes := tx.Classes()
	names := slices.Clone(header)
	for i, name := range names {
		if !slices.Contains(classes, name) {
			names[i] = strings.TrimSpace(name)
		}
	}
	return names
}
