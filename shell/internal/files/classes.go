package files

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// A Form says which labels of files mean that a node has none, beside the empty one. Labels are compared letter by
// letter.
type Form struct{ Unlabelled []string }

// Labels returns a function that reads a label; "" is none.
func (f Form) Labels() func(text string) string { return f.label }

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
	"na", "n/a", "#n/a", "<na>", "nan", "nat", "none", "null", "nil", "unknown", "unlabelled", "unlabeled", "undefined", "missing", "?", "-", "-1", `\n`,
}

// isMissingWord reports whether a label may mean that there is none.
func isMissingWord(label string) bool {
	return slices.Contains(missingLabels, strings.ToLower(strings.TrimSpace(label)))
}

// A classCount is how many labels a class has.
type classCount struct {
	class string
	count int64
}

// labelBlock is how many labels are read at once.
const labelBlock = 1 << 16

// countLabels counts the labels of each class.
func countLabels(ctx context.Context, tx *kv.Tx) ([]classCount, error) {
	counts := make([]classCount, len(tx.Classes()))
	for i, class := range tx.Classes() {
		counts[i].class = class
	}
	labels := make([]kv.Class, min(labelBlock, tx.NumNodes()))
	for first := 0; first < tx.NumNodes(); first += labelBlock {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows := kv.Range{First: kv.NodeID(first), End: kv.NodeID(min(first+labelBlock, tx.NumNodes()))}
		if err := tx.ReadClasses(kv.LabelColumn, rows, labels[:rows.Len()]); err != nil {
			return nil, err
		}
		for _, y := range labels[:rows.Len()] {
			if y != kv.NoClass {
				counts[y].count++
			}
		}
	}
	return counts, nil
}

// few is from how many labelled nodes on it is odd that a class has one node.
const few = 10

// sayClasses tells what is odd about the classes of a store. Before are those that it had before files were appended,
// nil of a new one.
func (r Job) sayClasses(ctx context.Context, tx *kv.Tx, nodes *nodesFile, before []string) error {
	counts, err := countLabels(ctx, tx)
	if err != nil {
		return err
	}
	slices.SortFunc(counts, func(a, b classCount) int { return strings.Compare(a.class, b.class) })
	counts = slices.DeleteFunc(counts, func(c classCount) bool { return c.count == 0 || slices.Contains(before, c.class) })
	if before != nil && len(counts) > 0 {
		r.caution("The store has new classes: " + listClasses(counts) +
			". If a label is misspelt, correct the file and append it again.")
	}
	var missing []classCount
	single, labelled := 0, int64(0)
	for _, c := range counts {
		if isMissingWord(c.class) && (c.class != "-1" || len(counts) > 2) { // it may be the opposite of 1
			missing = append(missing, c)
			continue
		}
		if c.count == 1 {
			single++
		}
		labelled += c.count
	}
	if missing != nil {
		again := "--replace --yes "
		if before != nil {
			again = ""
		}
		var names []string
		for _, c := range missing {
			names = append(names, c.class)
		}
		r.caution(fmt.Sprintf("Labels that often mean that a node has none are classes here: %s. If they mean no label, repeat this with %s%s",
			listClasses(missing), again, nodes.labels.flag(names...)))
	}
	if before == nil && nodes.label >= 0 && labelled >= few && 2*single > len(counts)-len(missing) {
		column := cmp.Or(nodes.names[nodes.label], nodes.in.Header()[nodes.label])
		r.caution(fmt.Sprintf("%d of %d classes have one node: is the column %q the class? The columns are %s. If another is meant, repeat this with "+
			"--replace --yes --columns label=NAME", single, len(counts)-len(missing), column, nodes.in.ListColumns()))
	}
	return nil
}

// listClasses lists classes with their numbers of nodes.
func listClasses(counts []classCount) string {
	const most = 10
	var parts []string
	for _, c := range counts[:min(len(counts), most)] {
		parts = append(parts, fmt.Sprintf("%s (%s)", strconv.Quote(c.class), wording.Nodes(c.count)))
	}
	if more := len(counts) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
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
