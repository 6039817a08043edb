package files

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// A classRemark is what is odd about some classes. Those of a group stand in one line, each with its number of nodes.
type classRemark struct {
	head   string
	groups [][]string
	remedy string // may be empty
}

// A classCensus is the classes of a store, in the order of the names.
type classCensus struct {
	names  []string
	counts map[string]int64 // of nodes
}

func countClasses(ctx context.Context, tx *kv.Tx) (*classCensus, error) {
	labels, err := CountLabels(ctx, tx)
	if err != nil {
		return nil, err
	}
	c := &classCensus{counts: make(map[string]int64, len(labels))}
	for _, of := range labels {
		c.names, c.counts[of.Class] = append(c.names, of.Class), of.All
	}
	slices.Sort(c.names)
	return c, nil
}

// where are the classes of some nodes that a condition holds for.
func (c *classCensus) where(holds func(class string) bool) []string {
	return slices.DeleteFunc(slices.Clone(c.names),
		func(class string) bool { return c.counts[class] == 0 || !holds(class) })
}

// few is from how many labelled nodes on it is odd that a class has one node.
const few = 10

// sayClasses tells what is odd about the classes of a store. Before are those that it had before files were appended,
// nil of a new one.
func (r Job) sayClasses(ctx context.Context, tx *kv.Tx, nodes *nodesFile, before []string) error {
	c, err := countClasses(ctx, tx)
	if err != nil {
		return err
	}
	old := make(map[string]bool, len(before))
	for _, class := range before {
		old[class] = true
	}
	isNew := func(class string) bool { return !old[class] }
	again := "--replace --yes "
	if before != nil {
		again = ""
	}
	var remarks []classRemark
	if added := c.where(isNew); len(before) > 0 && len(added) > 0 {
		remarks = append(remarks, classRemark{
			"The store has new classes:", [][]string{added}, "If a label is misspelt, correct the file and append it again. " +
				"The store keeps the class, without a node: --prediction-classes names the columns of an array of predictions.",
		})
	}
	if missing := c.where(func(class string) bool { return isNew(class) && c.isMissing(class) }); len(missing) > 0 {
		remarks = append(remarks, classRemark{
			"Labels that often mean that a node has none are classes here:", [][]string{missing},
			"If they mean no label, repeat this with " + again + nodes.labels.flag(missing...),
		})
	}
	alike := slices.DeleteFunc(lookAlikes(c.names),
		func(group []string) bool { return !slices.ContainsFunc(group, isNew) })
	if len(alike) > 0 {
		remarks = append(remarks, classRemark{
			"Classes that may be one class, written in several ways:", alike,
			"They stay classes of their own. import --trim joins those that differ by white space, --nfc those that " +
				"differ by Unicode form. " +
				"Make others equal in the file.",
		})
	}
	if lists := c.where(func(class string) bool { return isNew(class) && c.isList(class) }); len(lists) > 0 {
		remarks = append(remarks, classRemark{
			"Classes that look like lists of several labels:", [][]string{lists},
			"A node has one label: each list is a class of its own.",
		})
	}
	if len(before) == 0 && nodes.label >= 0 {
		odd, err := c.whetherClass(ctx, tx, nodes, r)
		if err != nil {
			return err
		}
		remarks = append(remarks, odd...)
	}
	for _, remark := range remarks {
		r.caution(c.text(remark))
	}
	return nil
}

// text is a remark in a few lines.
func (c *classCensus) text(remark classRemark) string {
	const most = 10
	lines := []string{remark.head}
	for _, group := range remark.groups[:min(len(remark.groups), most)] {
		quote, seen := strconv.Quote, map[string]bool{}
		for _, class := range group {
			if seen[looks(class)] {
				quote = strconv.QuoteToASCII // or they would look alike here too
			}
			seen[looks(class)] = true
		}
		var parts []string
		for _, class := range group[:min(len(group), most)] {
			parts = append(parts, fmt.Sprintf("%s: %s", quote(class), wording.Nodes(c.counts[class])))
		}
		if more := len(group) - most; more > 0 {
			parts = append(parts, fmt.Sprintf("and %d more", more))
		}
		lines = append(lines, "  "+strings.Join(parts, ", "))
	}
	if more := len(remark.groups) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more groups", more))
	}
	if remark.remedy != "" {
		lines = append(lines, remark.remedy)
	}
	return strings.Join(lines, "\n")
}

// missingLabels are how programs and people write that there is no label, as missingKey has them, and missingNumbers
// the numbers that they write for it.
var (
	missingLabels = strings.Fields("na nana nan nat null nil none nonegiven nd tbd unk missing blank 1qnan 1ind qnan " +
		`ind nacharacter nainteger nareal \n`)
	missingNumbers = []string{"-1", "-99", "-100", "-999", "-9999"}
)

// notGiven are words such as unknown, not assigned and no label.
var notGiven = regexp.MustCompile(`^(un|not|no|non)(known|set|given|available|applicable|def|defined|specified|` +
	`assigned|determined|class|classified|categori[sz]ed|label|labell?ed|data|value)$`)

// missingKey is a class in lower case, without brackets, quotes, dots, hyphens, underscores, blanks and the like.
func missingKey(class string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune(`()[]{}<>"'.-–—_?#/`, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, looks(class))
}

// isMissingWord reports whether a class may mean that there is none. Excel writes errors such as #REF! and #NAME?.
func isMissingWord(class string) bool {
	class = looks(class)
	key := missingKey(class)
	return class != "" && (key == "" || slices.Contains(missingLabels, key) || notGiven.MatchString(key) ||
		slices.Contains(missingNumbers, numberKey(class)) ||
		class[0] == '#' && strings.ContainsAny(class[len(class)-1:], "!?"))
}

// isMissing is isMissingWord of a class that has no other sense beside the other classes, as numbers below 0 have that
// are not alone, and -1 and - as the opposites of 1 and +.
func (c *classCensus) isMissing(class string) bool {
	key := numberKey(looks(class))
	if !isMissingWord(class) || !strings.HasPrefix(key, "-") {
		return isMissingWord(class)
	}
	others := c.where(func(other string) bool { return !isMissingWord(other) })
	for i := range others {
		others[i] = numberKey(looks(others[i]))
	}
	switch {
	case strings.Trim(key, "-") == "":
		return !slices.Contains(others, strings.ReplaceAll(key, "-", "+"))
	case key == "-1" && slices.Equal(others, []string{"1"}):
		return false
	}
	return !slices.ContainsFunc(others, func(other string) bool { return strings.HasPrefix(other, "-") })
}

// whetherClass doubts that the column of the labels has classes, if too many of them have one node alone, or they look
// like quantities.
func (c *classCensus) whetherClass(ctx context.Context, tx *kv.Tx, nodes *nodesFile, r Job) ([]classRemark, error) {
	used := c.where(func(class string) bool { return !c.isMissing(class) })
	single := slices.DeleteFunc(slices.Clone(used), func(class string) bool { return c.counts[class] > 1 })
	labelled := int64(0)
	for _, class := range used {
		labelled += c.counts[class]
	}
	var head string
	column := strconv.Quote(nodes.labelColumn())
	switch {
	case labelled < few:
		return nil, nil
	case int64(len(used)) == labelled:
		head = fmt.Sprintf("Each of the %d labelled nodes has a class of its own: is the column %s the class?",
			labelled, column)
	case 2*len(single) > len(used):
		head = fmt.Sprintf("%d of %d classes have one node: is the column %s the class?", len(single), len(used), column)
	case areQuantities(used, labelled):
		head = fmt.Sprintf("All %d classes are numbers: is the column %s the class, or a quantity?", len(used), column)
	case len(single) > 0:
		return []classRemark{{"Classes of one node, from which nothing can be learned:", [][]string{single}, ""}}, nil
	default:
		return nil, nil
	}
	others, err := nodes.likelyLabels(ctx, tx)
	if err != nil || len(others) == 0 {
		return []classRemark{{head: head}}, err
	}
	var list []string
	for _, other := range others {
		list = append(list, fmt.Sprintf("%q (%d)", other.column, other.values))
	}
	return []classRemark{{head: head, remedy: fmt.Sprintf("Columns with fewer values: %s. To take %q, repeat this "+
		"with --replace --yes --columns %s",
		strings.Join(list, ", "), others[0].column, wording.ShellWord(nodes.labelledBy(others[0].column, r.Columns).String()))}}, nil
}

// areQuantities reports whether classes look like values of a quantity: many numbers, and not all whole, or wide apart
// with few nodes each.
func areQuantities(classes []string, labelled int64) bool {
	const many, crowd = 20, 20 // classes; nodes of each
	least, greatest, whole := math.Inf(1), math.Inf(-1), true
	for _, class := range classes {
		x, ok := parseNumber([]byte(class))
		if !ok {
			return false
		}
		least, greatest, whole = min(least, x), max(greatest, x), whole && x == math.Trunc(x)
	}
	count := int64(len(classes))
	return count >= many && (!whole || greatest-least >= float64(2*count) && labelled < crowd*count)
}

// A likelyLabel is a column of a nodes file that may have the labels.
type likelyLabel struct {
	column string
	values int
}

// likelyLabels are the columns of properties with few values, those with usual names of a label first.
func (n *nodesFile) likelyLabels(ctx context.Context, tx *kv.Tx) (likely []likelyLabel, err error) {
	most := min(tx.Shape().Present/5, 100)
	for k, property := range n.properties {
		if property.Kind == kv.KindFloat || property.Name == "split" {
			continue
		}
		values, err := tx.Reader(property.Name)
		if err != nil {
			return nil, err
		}
		seen := map[kv.Value]bool{}
		for v := range kv.NodeID(tx.NumNodes()) {
			if v%checkEvery == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			value, err := values.At(v)
			if err != nil {
				return nil, err
			}
			if !value.IsNull() {
				seen[value] = true
			}
			if len(seen) > most {
				break
			}
		}
		if len(seen) >= 2 && len(seen) <= most {
			likely = append(likely, likelyLabel{n.names[n.columns[k]], len(seen)})
		}
	}
	names := make([]string, len(likely))
	for i := range likely {
		names[i] = likely[i].column
	}
	if usual := guessColumn(names, kv.LabelColumn, nil, false); usual > 0 {
		likely[0], likely[usual] = likely[usual], likely[0]
	}
	return likely, nil
}

// labelColumn is the name of the column of the labels, or its header where that has a type alone.
func (n *nodesFile) labelColumn() string { return cmp.Or(n.names[n.label], n.in.Header()[n.label]) }

// labelledBy is the flag --columns that takes another column for the labels, and keeps the one that had them under a
// name that is allowed.
func (n *nodesFile) labelledBy(column string, columns Columns) Columns {
	changed, before := Columns{}, n.labelColumn()
	maps.Copy(changed, columns)
	maps.DeleteFunc(changed, func(_, of string) bool { return of == column })
	changed[kv.LabelColumn] = column
	if slices.ContainsFunc(cleaner.ReservedNames,
		func(word string) bool { return strings.EqualFold(word, strings.TrimSpace(before)) }) {
		changed["my_"+strings.TrimSpace(before)] = before
	}
	return changed
}

// looks maps names that look alike to one key: without white space, Unicode form and characters of no width.
func looks(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name)
	return Form{Trim: true, NFC: true}.of(name)
}

// numberKey maps the ways to write a decimal number, such as 1, 1.0, 01 and 1e0, to one; other texts stay.
func numberKey(text string) string {
	if at := strings.IndexAny(text, "eE"); at > 0 {
		if shift, err := strconv.Atoi(text[at+1:]); err == nil && max(shift, -shift) <= 400 {
			if number, ok := new(big.Rat).SetString(text); ok {
				text = number.FloatString(at + 400)
			}
		}
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "+"), "-")
	whole, rest, _ := strings.Cut(digits, ".")
	if digits == "" || strings.Trim(whole, "0123456789") != "" || strings.Trim(rest, "0123456789") != "" ||
		whole+rest == "" {
		return text
	}
	key := cmp.Or(strings.TrimLeft(whole, "0"), "0")
	if rest = strings.TrimRight(rest, "0"); rest != "" {
		key += "." + rest
	}
	if strings.HasPrefix(text, "-") && key != "0" {
		key = "-" + key
	}
	return key
}

// classKey maps the names of classes that may be one class to one key: they look alike, differ by case, are one number,
// or are lists of the same parts.
func classKey(name string) string {
	key := strings.ToLower(looks(name))
	if parts := partsOf(key); len(parts) > 1 {
		slices.Sort(parts)
		return strings.Join(parts, ";")
	}
	return numberKey(key)
}

// partsOf are the parts of a name that may be a list, such as a;b or [a, b]; one of other names.
func partsOf(name string) []string {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	for _, comma := range []string{";", "|", ","} {
		if parts := strings.Split(name, comma); len(parts) > 1 {
			for i, part := range parts {
				parts[i] = strings.TrimSpace(part)
			}
			return parts
		}
	}
	return []string{name}
}

// isList reports whether a class looks like several: it stands in brackets, or its parts are classes.
func (c *classCensus) isList(class string) bool {
	parts := partsOf(class)
	return len(parts) > 1 && (strings.HasPrefix(class, "[") && strings.HasSuffix(class, "]") ||
		!slices.ContainsFunc(parts, func(part string) bool { return c.counts[part] == 0 }))
}

// lookAlikes are the classes that may be one class, or that look like none, in groups.
func lookAlikes(classes []string) [][]string {
	groups := map[string][]string{}
	for _, class := range classes {
		key := classKey(class)
		groups[key] = append(groups[key], class)
	}
	var alike [][]string
	for key, group := range groups {
		if len(group) > 1 || key == "" {
			slices.Sort(group)
			alike = append(alike, group)
		}
	}
	slices.SortFunc(alike, slices.Compare)
	return alike
}
