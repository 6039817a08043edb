package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// rendered is a page as a browser gets it. Its figures are well-formed, and nothing in it leads outside or runs.
func rendered(t *testing.T, p *Page) string {
	t.Helper()
	var text strings.Builder
	must.Do(t, p.Write(&text, "graphcleaner v1.0.0"))
	checkPage(t, text.String())
	return text.String()
}

func checkPage(t *testing.T, page string) {
	t.Helper()
	if !strings.HasPrefix(page, "<!DOCTYPE html>") || !strings.HasSuffix(strings.TrimSpace(page), "</html>") {
		t.Error("page: it does not begin or end as one")
	}
	page = strings.ReplaceAll(page, `xmlns="http://www.w3.org/2000/svg"`, "") // a name, and no address
	for _, unwanted := range []string{"<script", "src=", "href=", "@import", "url(", "ZgotmplZ", "NaN", "+Inf"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("page: has %q", unwanted)
		}
	}
	for _, tag := range regexp.MustCompile(`<[^>]*>`).FindAllString(page, -1) { // a text may be an address
		if strings.Contains(tag, "http:") || strings.Contains(tag, "https:") {
			t.Errorf("page: has %s", tag)
		}
	}
	for i, part := range strings.Split(page, "<svg")[1:] {
		figure, _, closed := strings.Cut(part, "</svg>")
		if !closed {
			t.Fatalf("figure %d has no end", i+1)
		}
		for decoder := xml.NewDecoder(strings.NewReader("<svg" + figure + "</svg>")); ; {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("figure %d: %v", i+1, err)
			}
		}
	}
}

// watched is a report of nodes with random labels and scores, of which a tenth is mislabelled.
func watched(classes []string, scores func(wrong bool, random *rand.Rand) float64, threshold float64) (*Evaluation, *cleaner.Evaluation) {
	const nodes = 500
	random := rand.New(rand.NewPCG(1, 1))
	m := cleaner.Measurement{
		Method: "default", Truth: make([]kv.Class, nodes), Labels: make([]kv.Class, nodes), Scores: make([]float64, nodes),
		Flagged: make([]bool, nodes),
	}
	for v := range nodes {
		m.Nodes = append(m.Nodes, kv.NodeID(v))
		m.Truth[v] = kv.Class(random.IntN(len(classes)))
		m.Labels[v] = m.Truth[v]
		if random.IntN(10) == 0 {
			m.Labels[v] = (m.Truth[v] + 1) % kv.Class(len(classes))
		}
		m.Scores[v] = scores(m.Labels[v] != m.Truth[v], random)
		m.Flagged[v] = m.Scores[v] > threshold
	}
	r := NewEvaluation(classes, []Fact{{"seed", "1"}})
	m.Repeat = 1 // whose suspects are not listed, so that no store is needed
	if err := r.add(nil, m); err != nil {
		panic(err)
	}
	result := cleaner.MethodResult{Name: "default", Repeats: make([]cleaner.MethodMetrics, 2)}
	return r, &cleaner.Evaluation{Methods: []cleaner.MethodResult{result}}
}

func probable(wrong bool, random *rand.Rand) float64 {
	if wrong {
		return math.Sqrt(random.Float64())
	}
	return random.Float64() / 2
}

func TestPageEscapes(t *testing.T) {
	const name = `</title><script>alert("x")</script>&'`
	r, evaluation := watched([]string{name, "b"}, probable, 0.5)
	r.suspects = [][]string{{"1", name, name, "b", "0.9", "yes"}}
	r.options = []Fact{{"graph", name}}
	evaluation.Methods[0].Name = "default"
	page := rendered(t, r.Page("Evaluation of "+name, evaluation, &Table{}))
	if strings.Contains(page, "alert(\"x\")") || strings.Count(page, "&lt;script&gt;") < 5 {
		t.Errorf("page: a class name is not escaped")
	}
}

func TestPageOfEvaluation(t *testing.T) {
	for name, test := range map[string]struct {
		classes  []string
		scores   func(bool, *rand.Rand) float64
		figures  int
		cells    int
		contains []string
	}{
		"two classes": {[]string{"a", "b"}, probable, 4, 4, []string{"expected calibration error", "Reliability", "No node was flagged"}},
		"no probability": {[]string{"a", "b", "c"}, func(wrong bool, random *rand.Rand) float64 { return -3 + 7*probable(wrong, random) }, 3, 9,
			[]string{"These scores are no probabilities."}},
		"equal scores": {[]string{"a", "b"}, func(bool, *rand.Rand) float64 { return 1 }, 4, 4, nil},
		"no score":     {[]string{"a", "b"}, func(bool, *rand.Rand) float64 { return math.NaN() }, 4, 4, []string{"expected calibration error"}},
		"1000 classes": {manyNames(1000), probable, 4, 24 * 24, []string{"Of 1000 classes, the 24 that are confused most."}},
	} {
		t.Run(name, func(t *testing.T) {
			r, evaluation := watched(test.classes, test.scores, 2)
			page := rendered(t, r.Page("Evaluation", evaluation, &Table{}))
			if got := strings.Count(page, "<svg"); got != test.figures {
				t.Errorf("got %d figures, want %d", got, test.figures)
			}
			if got := strings.Count(page, `class="cell"`); got != test.cells {
				t.Errorf("got %d cells of the heat map, want %d", got, test.cells)
			}
			for _, want := range test.contains {
				if !strings.Contains(page, want) {
					t.Errorf("page: has no %q", want)
				}
			}
		})
	}
}

func manyNames(count int) (names []string) {
	for i := range count {
		names = append(names, fmt.Sprintf("class %d with a name longer than its place", i))
	}
	return names
}

// TestPrecisionAtRecall is of five nodes, the second and third with equal scores.
func TestPrecisionAtRecall(t *testing.T) {
	var m measuredMethod
	scores, wrong := []float64{0.9, 0.8, 0.8, 0.5, 0.1}, []bool{true, false, true, false, true}
	m.addPrecision(scores, wrong, []int{0, 1, 2, 3, 4})
	for recall, want := range map[int]float64{1: 1, 33: 1, 34: 2. / 3, 66: 2. / 3, 67: 3. / 5, 100: 3. / 5} {
		if got := m.precision[recall]; got != want {
			t.Errorf("precision at recall %d%%: got %v, want %v", recall, got, want)
		}
	}
	if m.addPrecision([]float64{1}, []bool{false}, []int{0}); m.repeats != 1 {
		t.Errorf("got %d repeats, want that with mislabels alone", m.repeats)
	}
}
