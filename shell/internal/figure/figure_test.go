package figure

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// read returns the texts of a figure, the labels of its images, and how often each element is there. It fails if the
// figure is not well formed, if one of its images says nothing, or if anything in it runs, leads outside or has a style
// of its own.
func read(t *testing.T, figure string) (texts, labels string, elements map[string]int) {
	t.Helper()
	elements = map[string]int{}
	for decoder := xml.NewDecoder(strings.NewReader(figure)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return texts, labels, elements
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, figure)
		}
		switch token := token.(type) {
		case xml.StartElement:
			elements[token.Name.Local]++
			attributes := map[string]string{}
			for _, a := range token.Attr {
				attributes[a.Name.Local] = a.Value
			}
			if token.Name.Local == "svg" {
				if attributes["role"] != "img" || attributes["aria-label"] == "" {
					t.Errorf("got an image with %v, want a role and a label", attributes)
				}
				labels += attributes["aria-label"]
			}
			for _, unwanted := range []string{"style", "href", "src", "onclick"} {
				if _, ok := attributes[unwanted]; ok || token.Name.Local == "script" {
					t.Errorf("got an element %s with %v", token.Name.Local, attributes)
				}
			}
		case xml.CharData:
			texts += string(token)
		}
	}
}

// TestHistogramChart has a threshold, then none.
func TestHistogramChart(t *testing.T) {
	h := new(Histogram)
	h.Add(0.1, 1000)
	h.Add(0.9, 10)
	texts, labels, elements := read(t, h.Chart(0.25))
	if want := "Scores of the labelled nodes; nodes; threshold 0.25"; labels != want {
		t.Errorf("got the label %q, want %q", labels, want)
	}
	if !strings.Contains(texts, "score 0.1 to 0.125: 1000 nodes") || strings.Contains(texts, "mislabelled") {
		t.Errorf("got the texts %q", texts)
	}
	if chart := h.Chart(0.25); strings.Count(chart, `<line class="threshold" x1="159" x2="159" y1="12" y2="252"/>`) != 1 {
		t.Errorf("got no threshold a quarter from the left:\n%s", chart)
	}
	h.Add(0.9, 5)
	texts, labels, more := read(t, h.Chart(math.NaN()))
	if labels != "Scores of the labelled nodes; nodes" || !strings.Contains(texts, "15 nodes") || strings.Contains(texts, "threshold") {
		t.Errorf("got the label %q and the texts %q", labels, texts)
	}
	if more["rect"] != elements["rect"]-1 { // an entry of the legend less
		t.Errorf("got %d rectangles, and %d with a threshold", more["rect"], elements["rect"])
	}
}

func TestHistogramPlacesScores(t *testing.T) {
	h := new(Histogram)
	for _, score := range []float64{0, 1, 0.999, math.NaN(), 0.5} {
		h.Add(score, 1)
	}
	if h.nodes[0] != 2 || h.nodes[histogramBins-1] != 2 || h.nodes[histogramBins/2] != 1 {
		t.Errorf("got %v", h.nodes)
	}
}
