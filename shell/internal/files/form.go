package files

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/text/unicode/norm"

	"github.com/graphcleaner/graphcleaner/internal/namelist"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// A Form is in which form labels and the names of classes are taken from files. Ids and the values of properties are
// always taken as they are: an id stands for a node in other files too, and nothing is made of the values.
type Form struct {
	Trim bool // without white space around, and with one space within
	NFC  bool // in this form of Unicode

	Unlabelled []string // labels that mean that there is none
}

// Labels returns a function that brings a label into the form; "" is none.
func (f Form) Labels() func(text string) string { return newLabelReader(f).label }

// A labelReader brings labels into a form. It knows which of the spellings of none it has met. Goroutines may share it.
type labelReader struct {
	Form
	met []atomic.Bool // as Unlabelled
}

func newLabelReader(f Form) *labelReader {
	spellings := make([]string, len(f.Unlabelled))
	for i, spelling := range f.Unlabelled {
		spellings[i] = f.of(spelling)
	}
	f.Unlabelled = spellings
	return &labelReader{f, make([]atomic.Bool, len(spellings))}
}

// label brings a label into the form; "" is none.
func (l *labelReader) label(text string) string {
	if text = l.of(text); text == "" {
		return ""
	}
	if i := slices.Index(l.Unlabelled, text); i >= 0 {
		l.met[i].Store(true)
		return ""
	}
	return text
}

// used are the spellings of none that it has met.
func (l *labelReader) used() (used []string) {
	for i, spelling := range l.Unlabelled {
		if l.met[i].Load() {
			used = append(used, spelling)
		}
	}
	return used
}

// flag makes labels none beside the spellings that it has met.
func (l *labelReader) flag(labels ...string) string {
	list := wording.ShellWord(joinNames(slices.Concat(l.used(), labels)))
	if strings.HasPrefix(list, "--") { // behind a space it would be another flag
		return "--unlabelled=" + list
	}
	return "--unlabelled " + list
}

// sayUnused tells which spellings of none a file does not have, when it is read.
func (l *labelReader) sayUnused(path string, r Job) {
	used := l.used()
	isUsed := func(spelling string) bool { return slices.Contains(used, spelling) }
	if unused := slices.DeleteFunc(slices.Clone(l.Unlabelled), isUsed); len(unused) > 0 {
		r.say("%s: --unlabelled names labels that it does not have: %s. Labels are compared letter by letter.",
			path, namelist.Of(unused))
	}
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
	if mixed, err := wording.MixedIDs(tx); err != nil || !mixed {
		return err
	}
	seen := 0
	for id, err := range tx.IDs() {
		if err != nil {
			return err
		}
		if !wording.IsInteger(id) {
			r.say("Ids are text, since %q is no integer: id is ordered as text, in which 10 comes before 9, and cannot be compared with numbers by order.", id)
			return nil
		}
		if seen++; seen%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
