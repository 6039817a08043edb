package files

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/namelist"
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
func (w *writtenForm) add(count, line int64, example func() string) {
	if w.count += count; w.line == 0 || line < w.line {
		w.line, w.example = line, example()
	}
}

// addForm counts values of a form.
func addForm(forms []writtenForm, form []byte, count, line int64, example func() string) []writtenForm {
	i := slices.IndexFunc(forms, func(w writtenForm) bool { return w.form == string(form) })
	if i < 0 {
		i, forms = len(forms), append(forms, writtenForm{form: string(form)})
	}
	forms[i].add(count, line, example)
	return forms
}

// longestTime is the longest text that is taken for a time, in bytes.
const longestTime = 40

// timeNames are the beginnings of the names of months and days.
const timeNames = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec Mon Tue Wed Thu Fri Sat Sun"

// namedMonth is a time whose month has a name.
var namedMonth = regexp.MustCompile(`^([A-Z][a-z]{2,8},? )?(\d{1,2}[ -])?` +
	`(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?` +
	`([ -]\d{1,2})?,?( [\d:]{5,8})?( [A-Z]{3})?[ -]\d{2,4}\b`)

// timeForm appends the form of a time to dst: its date with a 0 for each digit, what stands before its hours, and its
// offset from UTC. It is empty for what is no time.
func timeForm(dst, text []byte) []byte {
	if len(text) < len("1/2/24") || len(text) > longestTime {
		return nil
	}
	if first := text[0]; first > '9' || bytes.IndexByte(text[:min(len(text), 3)], ' ') > 0 {
		if (first <= '9' || strings.Contains(timeNames, string(text[:3]))) && namedMonth.Match(text) {
			return append(dst, "month"...)
		}
		return nil
	}
	date, rest := text, []byte(nil)
	if at := bytes.IndexAny(text, "T "); at >= 0 {
		date, rest = text[:at], text[at:]
	}
	var lengths [3]int // of year, month and day, in any order
	part, sign := 0, byte(0)
	for _, b := range date {
		switch {
		case '0' <= b && b <= '9':
			lengths[part]++
			b = '0'
		case strings.IndexByte("-./", b) < 0 || part == 2 || part == 1 && b != sign:
			return nil
		default:
			part, sign = part+1, b
		}
		dst = append(dst, b)
	}
	isDay := func(i int) bool { return lengths[i] == 1 || lengths[i] == 2 }
	yearFirst, hasYear := lengths[0] == 4 && isDay(2), lengths[2] == 4 || lengths[2] == 2 && sign == '/'
	isDate := part == 2 && isDay(1) && (yearFirst || isDay(0) && hasYear)
	if !isDate || len(bytes.Trim(rest, "0123456789:.,+-TZ APMUC")) > 0 {
		return nil
	}
	if len(rest) > 0 {
		dst = append(dst, rest[0])
	}
	if at := bytes.IndexAny(rest, "ZUM+-"); at >= 0 { // M as in AM and PM
		dst = append(dst, rest[at:]...)
	}
	return dst
}

// isOrdered reports whether times of the form are ordered as texts.
func (w *writtenForm) isOrdered() bool {
	date := strings.NewReplacer("/", "-", ".", "-").Replace(w.form)
	return strings.HasPrefix(date, "0000-00-00")
}

// hasDecimalComma reports whether a text is a number with a decimal comma.
func hasDecimalComma(text []byte) bool {
	whole, rest, ok := bytes.Cut(bytes.TrimPrefix(text, []byte{'-'}), []byte{','})
	const digits = "0123456789"
	return ok && len(whole) > 0 && len(rest) > 0 && len(bytes.Trim(whole, digits))+len(bytes.Trim(rest, digits)) == 0
}

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
	if len(forms) == 0 || 2*count < g.values || len(forms) == 1 && forms[0].isOrdered() {
		return false
	}
	slices.SortFunc(forms, func(a, b writtenForm) int { return cmp.Compare(a.line, b.line) })
	var parts []string
	for _, of := range forms {
		parts = append(parts, fmt.Sprintf("%d as %q (%s)", of.count, of.example, placeOf(in, of.line)))
	}
	r.say("%s: property %s has times, which are ordered as texts, and so may be out of order: %s. "+
		"Write all in one form that begins with the year, such as 2026-01-31 or 2026-01-31T18:00:00Z",
		in.Path(), strconv.Quote(property.Name), namelist.Of(parts))
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
