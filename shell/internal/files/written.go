package files

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// A writtenForm is how some values of a column are written, with the first of them.
type writtenForm struct {
	form    string
	count   int64
	line    int64
	example string
}

// add counts values of the form, the first of which is in a line.
func (w *writtenForm) add(count, line int64, example []byte) {
	if w.count += count; w.line == 0 || line < w.line {
		w.line, w.example = line, string(example)
	}
}

// mostForms is how many forms of times of a column are told apart. Times of other forms count as the last of them.
const mostForms = 8

// addForm counts values of a form.
func addForm(forms []writtenForm, form []byte, count, line int64, example []byte) []writtenForm {
	i := slices.IndexFunc(forms, func(w writtenForm) bool { return w.form == string(form) })
	switch {
	case i < 0 && len(forms) < mostForms:
		i, forms = len(forms), append(forms, writtenForm{form: string(form)})
	case i < 0:
		i = mostForms - 1
	}
	forms[i].add(count, line, example)
	return forms
}

// longestTime is the longest text that is taken for a time, in bytes.
const longestTime = 40

const (
	month   = `(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?`
	weekday = `(?:[A-Z][a-z]{2,8},? )?`
	date    = `\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{4}|\d{1,2}/\d{1,2}/\d{2}|\d{1,2}/\d{4}|` +
		weekday + `\d{1,4}[ /-]` + month + `[ /-]\d{2,4}|` +
		weekday + month + ` {1,2}\d{1,2},?(?: [\d:]{5,8}(?: [A-Z]{3})?)? \d{4}`
	clock = `\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?`
)

var (
	writtenTime = regexp.MustCompile(`^(?:(?:` + date + `)(?:[T :]` + clock + `)?|` + clock + `)(?: ?[AaPp][Mm])?` +
		`(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?$`)
	orderedForm = regexp.MustCompile(`^(?:0000[-./]00[-./]00)?(?:[T ]?00:00(?::00(?:[.,]0+)?)?)?(?:Z|[+-]\d{2}:?\d{2})?$`)
)

// timeForm appends the form of a time to dst: a 0 for each digit, an A for a word, and the offset from UTC. It is
// empty for what is no time.
func timeForm(dst, text []byte) []byte {
	if len(text) < len("9:05") || len(text) > longestTime || text[0] < '0' || text[0] > 'W' || !writtenTime.Match(text) {
		return nil
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte(" UTC")), []byte(" GMT"))
	offset := len(text)
	if colon := bytes.IndexByte(text, ':'); colon > 0 && bytes.LastIndexAny(text, "+-") > colon {
		offset = bytes.LastIndexAny(text, "+-")
	}
	for i, b := range text[:offset] {
		isWord := isLetter(b) && (i > 0 && isLetter(text[i-1]) || i+1 < len(text) && isLetter(text[i+1]))
		switch {
		case '0' <= b && b <= '9':
			b = '0'
		case isWord && len(dst) > 0 && dst[len(dst)-1] == 'A':
			continue
		case isWord:
			b = 'A'
		}
		dst = append(dst, b)
	}
	return append(dst, text[offset:]...)
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// isEpoch reports whether a number may be a time: a date without signs, or seconds or milliseconds since 1970.
func isEpoch(number []byte) bool {
	return (len(number) == 8 || len(number) == 10 || len(number) == 13) && len(bytes.Trim(number, "0123456789")) == 0
}

// decimalComma is a number with a decimal comma, or with marks between thousands.
var decimalComma = regexp.MustCompile(`^-?(?:\d+,\d+|\d{1,3}(?:[.' ]\d{3})+(?:,\d+)?)$`)

// sayTimes tells of a column of texts that are times, most of them, and may be out of order as texts. It reports
// whether it did.
func (g *kindGuess) sayTimes(r Job, in *table.Reader, property kv.Column) bool {
	forms := slices.Clone(g.times)
	if len(forms) > 0 && g.epochs.count > 0 {
		forms = append(forms, g.epochs)
	}
	count := int64(0)
	for _, of := range forms {
		count += of.count
	}
	if len(forms) == 0 || 2*count < g.values || len(forms) == 1 && orderedForm.MatchString(forms[0].form) {
		return false
	}
	slices.SortFunc(forms, func(a, b writtenForm) int { return cmp.Compare(a.line, b.line) })
	var parts []string
	for _, of := range forms {
		parts = append(parts, fmt.Sprintf("%d as %q (%s)", of.count, of.example, placeOf(in, of.line)))
	}
	r.say("%s: property %s has times, which are ordered as texts, and so may be out of order: %s. "+
		"Write all in one form that begins with the year, such as 2026-01-31 or 2026-01-31T18:00:00Z",
		in.Path(), strconv.Quote(property.Name), strings.Join(parts, ", "))
	return true
}

// placeOf says where a line of a table is: in which line, and in which of several files.
func placeOf(in *table.Reader, line int64) string {
	path, at := in.Parts().Place(line)
	if path == in.Path() {
		return fmt.Sprintf("line %d", at)
	}
	return fmt.Sprintf("%s:%d", path, at)
}
