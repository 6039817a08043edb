// Package metricstest reads pages of metrics in tests.
package metricstest

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

var (
	helpLine   = regexp.MustCompile(`^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$`)
	typeLine   = regexp.MustCompile(`^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary|untyped)$`)
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{([^\n]*)\})? ([^ ]+)$`)
	labelPair  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)`)
)

// Parse reads a page by the grammar of the text format, version 0.0.4, and returns the samples by name and labels. Its errors are
// those of the grammar, and what Prometheus does not take: a family that comes twice, a sample outside its family or twice, and a
// histogram whose buckets do not add up.
func Parse(page string) (map[string]float64, error) {
	if page != "" && !strings.HasSuffix(page, "\n") {
		return nil, fmt.Errorf("the last line has no end")
	}
	samples, families := map[string]float64{}, map[string]bool{}
	family, kind, helped := "", "", ""
	buckets := map[string]float64{} // the last bucket of each histogram, by its labels
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if m := helpLine.FindStringSubmatch(line); m != nil {
			helped = m[1]
			continue
		}
		if m := typeLine.FindStringSubmatch(line); m != nil {
			if families[m[1]] || m[1] != helped {
				return nil, fmt.Errorf("%s: the family comes again, or its help is not before it", line)
			}
			family, kind = m[1], m[2]
			families[family] = true
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("%s: no sample", line)
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		labels, le := "", ""
		for rest := m[2]; rest != ""; {
			pair := labelPair.FindStringSubmatch(rest)
			if pair == nil {
				return nil, fmt.Errorf("%s: the labels are wrong at %s", line, rest)
			}
			rest = rest[len(pair[0]):]
			if pair[1] == "le" && kind == "histogram" {
				le = pair[2]
			} else {
				labels += strings.TrimSuffix(pair[0], ",") + ","
			}
		}
		key := m[1] + "{" + m[2] + "}"
		if _, again := samples[key]; again {
			return nil, fmt.Errorf("%s: the sample comes again", line)
		}
		samples[key] = value
		switch suffix, ok := strings.CutPrefix(m[1], family); {
		case !ok, kind != "histogram" && suffix != "":
			return nil, fmt.Errorf("%s: the sample is not of the family %s", line, family)
		case kind == "histogram" && suffix == "_bucket":
			if _, err := strconv.ParseFloat(le, 64); err != nil || value < buckets[labels] {
				return nil, fmt.Errorf("%s: buckets go up, and have a bound", line)
			}
			buckets[labels] = value
		case kind == "histogram" && suffix == "_count":
			if value != buckets[labels] || samples[family+"_bucket{"+strings.TrimSuffix(labels, ",")+`,le="+Inf"}`] != value {
				return nil, fmt.Errorf("%s: the last bucket has another number", line)
			}
			delete(buckets, labels)
		case kind == "histogram" && (suffix != "_sum" || math.IsNaN(value)):
			return nil, fmt.Errorf("%s: no sample of a histogram", line)
		}
	}
	return samples, nil
}
