package files

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// A Form is in which form the names of classes are taken from files. Ids and the values of properties are always taken as
// they are: an id stands for a node in other files too, and nothing is made of the values.
type Form struct {
	Trim bool // without white space around, and with one space within
	NFC  bool // in this form of Unicode
}

// of brings the name of a class into the form.
func (f Form) of(name string) string {
	if f.NFC {
		name = norm.NFC.String(name)
	}
	if f.Trim {
		name = strings.Join(strings.Fields(name), " ")
	}
	return name
}

// ofAll brings names into the form.
func (f Form) ofAll(names []string) []string {
	forms := make([]string, len(names))
	for i, name := range names {
		forms[i] = f.of(name)
	}
	return forms
}

// classNames are the names of a header that are to be classes of a store: as they are, or, where the store has no such
// class, without white space around them.
func classNames(tx *kv.Tx, header []string) []string {
	classes := make(map[string]bool)
	for _, class := range tx.Classes() {
		classes[class] = true
	}
	names := slices.Clone(header)
	for i, name := range names {
		if !classes[name] {
			names[i] = strings.TrimSpace(name)
		}
	}
	return names
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

// lookAlikes are the classes that look like others, or like none, in groups.
func lookAlikes(classes []string) [][]string {
	groups := map[string][]string{}
	for _, class := range classes {
		key := looks(class)
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

// sayLookAlikes says which classes look alike, or like a number that is missing, and how many nodes have each.
func (r Job) sayLookAlikes(ctx context.Context, tx *kv.Tx) error {
	alike := lookAlikes(tx.Classes())
	notNumbers := slices.DeleteFunc(slices.Clone(tx.Classes()), func(class string) bool { return !strings.EqualFold(class, "nan") })
	if len(alike) == 0 && len(notNumbers) == 0 {
		return nil
	}
	labels, err := CountLabels(ctx, tx)
	if err != nil {
		return err
	}
	counts := make(map[string]int64, len(labels))
	for _, of := range labels {
		counts[of.Class] = of.All
	}
	for _, class := range notNumbers {
		r.say("%s is the class of %s: where it stands for a missing label, leave the field empty.", class, wording.Nodes(counts[class]))
	}
	if len(alike) == 0 {
		return nil
	}
	r.say("Classes that differ by white space, Unicode form or invisible characters alone:")
	const most = 10
	for _, group := range alike[:min(len(alike), most)] {
		var parts []string
		for _, class := range group[:min(len(group), most)] {
			parts = append(parts, fmt.Sprintf("%s: %s", strconv.QuoteToASCII(class), wording.Nodes(counts[class])))
		}
		if more := len(group) - most; more > 0 {
			parts = append(parts, fmt.Sprintf("and %d more", more))
		}
		r.say("  %s", strings.Join(parts, ", "))
	}
	if more := len(alike) - most; more > 0 {
		r.say("  and %d more groups", more)
	}
	r.say("They stay classes of their own. import --trim joins those that differ by white space, --nfc those that differ by Unicode form.")
	return nil
}

// sayTextIDs says that ids are text though some are integers, and names one that is none.
func (r Job) sayTextIDs(ctx context.Context, tx *kv.Tx) error {
	if mixed, err := index.MixedIDs(tx); err != nil || !mixed {
		return err
	}
	seen := 0
	for id, err := range tx.IDs() {
		if err != nil {
			return err
		}
		if !index.IsInteger(id) {
			r.say("Ids are text, since %q is no integer: id is ordered as text, in which 10 comes before 9, and cannot be compared with numbers by order.", id)
			return nil
		}
		if seen++; seen%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
