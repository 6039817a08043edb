package table

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// separatorOf finds what separates the fields of a first line, which has no quoted fields. It gives the first rows as
// many fields each. Of several that do so, it is a tab, which texts hardly have, or the first in the line, which stands
// behind an id most often.
func (l layout) separatorOf(begin, first []byte, form Form, ending string, isHeader func([]string) bool) byte {
	var present []byte // in the order of the line
	for _, b := range first {
		if strings.IndexByte("\x01\t,;|", b) >= 0 && !slices.Contains(present, b) {
			present = append(present, b)
		}
	}
	hasBlanks, isNamed := bytes.ContainsAny(bytes.TrimSpace(first), " \t"), ending == ".csv" || ending == ".tsv"
	usual := byte(',')
	if ending == ".tsv" || !isNamed && slices.Contains(present, '\t') {
		usual = '\t'
	}
	if d := form.Delimiter; d == blanks && hasBlanks || d != 0 && d != blanks && bytes.IndexByte(first, d) >= 0 {
		return d
	}
	for _, separator := range present { // id;label;price, EUR
		if l.separator = separator; isHeader != nil && isHeader(l.cut(first)) {
			return separator
		}
	}
	// A tab beside a blank is part of a run of blanks, if every line has as many of these. So is one behind numbers
	// with a blank between them.
	isUsual := isNamed && slices.Contains(present, usual)
	if l.separator = blanks; hasBlanks && !isUsual && slices.Contains(present, '\t') {
		records := l.records(begin, evenRows)
		isRun := bytes.Contains(first, []byte(" \t")) || bytes.Contains(first, []byte("\t "))
		isRun = isRun || bytes.ContainsAny(first[:bytes.IndexByte(first, '\t')], " ") && areNumbers(records)
		if isRun && isEven(records) {
			return blanks
		}
	}
	best, fields := byte(0), 0
	for _, separator := range present {
		l.separator = separator
		records := l.records(begin, evenRows)
		if len(records) == 0 || !isEven(records) {
			continue
		}
		count := len(records[len(records)-1])
		if best == 0 || separator == usual && (usual == '\t' || count > fields || count == fields && best != ';') {
			best, fields = separator, count
		}
	}
	l.separator = blanks
	switch {
	case best != 0:
		return best
	case hasBlanks && !isUsual && (isEven(l.records(begin, evenRows)) || !isNamed && len(present) == 0):
		return blanks // "paper id" may also be the name of the only column of a .csv
	case len(present) == 0 || slices.Contains(present, usual):
		return usual
	}
	return present[0]
}

// areNumbers reports whether all fields of some records are numbers.
func areNumbers(records [][]string) bool {
	return !slices.ContainsFunc(slices.Concat(records...), func(field string) bool { return !isNumber(field) })
}

// isEven reports whether records have as many fields each, but for a header that isShort.
func isEven(records [][]string) bool {
	for _, record := range records {
		if last := records[len(records)-1]; len(record) != len(last) {
			return isShort(records)
		}
	}
	return true
}

// isShort reports whether the first of some records has one field fewer than all others, whose first fields are all
// different. None of these ends with an empty field, as lines with a separator at their end do.
func isShort(records [][]string) bool {
	const few = 3
	names := map[string]bool{}
	for i, record := range records {
		if i > 0 && (len(record) != len(records[0])+1 || names[record[0]] || record[len(record)-1] == "") {
			return false
		}
		if i > 0 {
			names[record[0]] = true
		}
	}
	return len(records) >= few
}

// unquoted is a line without what stands in quotes.
func unquoted(line []byte) []byte {
	var rest []byte
	for i, part := range bytes.Split(line, []byte{'"'}) {
		if i%2 == 1 {
			part = []byte{'"'}
		}
		rest = append(rest, part...)
	}
	return rest
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}
