// Package metrics counts how long things take, and writes numbers in the text format of Prometheus, version 0.0.4. It knows no store and no
// server.
package metrics

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ContentType is the type of a Page.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// A Page has families of numbers, in the order in which they are added.
type Page struct{ out bytes.Buffer }

// Bytes are the text of the page.
func (p *Page) Bytes() []byte { return p.out.Bytes() }

// Gauge adds a number that goes up and down.
func (p *Page) Gauge(name, help string, value float64) {
	p.family(name, help, "gauge")
	p.sample(name, "", value)
}

// Info adds a family of the value 1, whose label says something.
func (p *Page) Info(name, help, label, text string) {
	p.family(name, help, "gauge")
	p.sample(name, labelled(label, text), 1)
}

// Durations adds histograms, and nothing if there is none.
func (p *Page) Durations(name, help string, d *Durations) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.series) == 0 {
		return
	}
	p.family(name, help, "histogram")
	for _, labels := range slices.Sorted(maps.Keys(d.series)) {
		h := d.series[labels]
		count := uint64(0)
		for i, n := range h.counts {
			count += n
			bound := "+Inf"
			if i < len(bounds) {
				bound = number(bounds[i])
			}
			p.sample(name+"_bucket", labels+","+labelled("le", bound), float64(count))
		}
		p.sample(name+"_sum", labels, h.seconds)
		p.sample(name+"_count", labels, float64(count))
	}
}

func (p *Page) family(name, help, kind string) {
	help = strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(help)
	fmt.Fprintf(&p.out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (p *Page) sample(name, labels string, value float64) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	fmt.Fprintf(&p.out, "%s%s %s\n", name, labels, number(value))
}

// number is a value as the format has it.
func number(x float64) string {
	if math.IsInf(x, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// labelled is a label with its value.
func labelled(name, value string) string { return name + `="` + labelEscapes.Replace(value) + `"` }

// bounds are the upper ends of the buckets, in seconds. The last bucket has none.
var bounds = [...]float64{0.01, 0.05, 0.25, 1, 5, 30, 300}

// Durations are histograms of how long things took, one for each combination of the values of some labels. Use few values.
type Durations struct {
	labels []string

	mu     sync.Mutex
	series map[string]*histogram // by labels with values
}

type histogram struct {
	counts  [len(bounds) + 1]uint64
	seconds float64
}

// NewDurations returns no histograms yet.
func NewDurations(labels ...string) *Durations {
	return &Durations{labels: labels, series: map[string]*histogram{}}
}

// Add counts a thing that has ended, with a value for each label.
func (d *Durations) Add(took time.Duration, values ...string) {
	parts := make([]string, len(d.labels))
	for i, label := range d.labels {
		parts[i] = labelled(label, values[i])
	}
	key := strings.Join(parts, ",")
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.series[key]
	if h == nil {
		h = new(histogram)
		d.series[key] = h
	}
	bucket, _ := slices.BinarySearch(bounds[:], took.Seconds())
	h.counts[bucket]++
	h.seconds += took.Seconds()
}
