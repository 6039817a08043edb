package files

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A Form is in which form labels and the names of classes are taken from files. Ids and the values of properties are always taken as
// they are: an id stands for a node in other files too, and nothing is made of the values.
type Form struct {
	Trim bool // without white space around, and with one space within
	NFC  bool // in this form of Unicode

	Unlabelled []string // labels that mean that there is none
}

// Label brings a label into the form; "" is none.
func (f Form) Label(text string) string {
	if text = f.of(text); slices.Contains(f.Unlabelled, text) {
		return ""
	}
	return text
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
