package picture

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// egoOf is a suspect of class 0, predicted 1, with as many neighbours as there are votes, by class, and nodes behind
// the first ones.
func egoOf(classes, votes, behind int, class func(i int) int) *Ego {
	e := &Ego{
		ID: "suspect-1", Title: "s has the label class 0. Is it class 1?", Text: "A sentence about it.", Votes: map[int]int{},
		Nodes: []Node{{Name: "s", Class: 0, Predicted: 1, Confidence: 0.875, Score: 0.9375}}, Neighbors: min(votes,
			MostNeighbors),
	}
	for i := range classes {
		e.Classes = append(e.Classes, fmt.Sprint("class ", i))
	}
	for i := range votes {
		e.Votes[class(i)]++
		if i < e.Neighbors {
			n := Node{ID: fmt.Sprint("id", i), Name: fmt.Sprint("n", i), Class: class(i), Predicted: class(i), Confidence: 0.5,
				Score: math.NaN(), Weight: 3 - float64(i%3)}
			e.Nodes, e.Edges = append(e.Nodes, n), append(e.Edges, [2]int{0, i + 1})
		}
	}
	for i := range behind {
		e.Nodes = append(e.Nodes, Node{Name: fmt.Sprint("b", i), Class: 1, Predicted: None, Score: math.NaN()})
		e.Edges = append(e.Edges, [2]int{1 + i*i%votes, len(e.Nodes) - 1}, [2]int{1 + i%votes, len(e.Nodes) - 1})
	}
	return e
}

// read returns the texts of an SVG and how often each element is there. It fails if the SVG is not well formed.
func read(t *testing.T, svg string) (texts string, elements map[string]int) {
	t.Helper()
	elements = map[string]int{}
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return texts, elements
		}
		must.Do(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			elements[token.Name.Local]++
		case xml.CharData:
			texts += string(token)
		}
	}
}

// TestGolden compares pictures with those in testdata, byte by byte. GRAPHCLEANER_GOLDEN=write makes them anew.
func TestGolden(t *testing.T) {
	one := func(int) int { return 1 }
	alone := egoOf(2, 0, 0, one)
	unlabelled := egoOf(2, 5, 0, func(i int) int { return i%2 - 1 })
	hub := egoOf(40, 149, 0, func(i int) int { return i % 40 })
	hub.Votes[1] += 100_000
	awkward := egoOf(3, 3, 2, func(i int) int { return i })
	awkward.Title, awkward.Text = "</title><script>\x00\x1b[31m & \"'", strings.Repeat("a sentence ", 20)+
		strings.Repeat("x", 200)
	awkward.Classes = []string{"<b>&amp;", "مرحبا بالعالم", "שלום"}
	awkward.Nodes[0].Name, awkward.Nodes[1].Name, awkward.Nodes[2].Name = "東京&<>", "عقدة 7", "👩‍👩‍👧 \xff\x01 "+
		strings.Repeat("é", 99)
	links := egoOf(8, 4, 3, one)
	links.Nodes[0].Decided, links.Nodes[2].Decided, links.Nodes[6].Decided = "unsure by ann", `accept by <ann>, "بوب"`,
		"reject by bob"
	links.Nodes[2].ID = `id "1"&`
	links.Link = func(id string) string { return "/node?id=" + url.QueryEscape(id) + `&from="s"` }
	for name, test := range map[string]struct {
		ego      *Ego
		circles  int
		contains []string
	}{
		"alone": {alone, 4, []string{"class 0 (its label): 0 of 0 neighbours"}},
		"few": {egoOf(8, 4, 30, one), 38,
			[]string{"class 1: 4 of 4 neighbours", "n3", "s: class 0, predicted class 1 (87.5%), score 0.938",
				"The larger a neighbour, the more it counts.", "hops away."}},
		"links": {links, 11,
			[]string{"score 0.938, decided: unsure by ann", `decided: ` + Within(`accept by <ann>, "بوب"`, 99)}},

		"unlabelled": {unlabelled, 10, []string{"no label: 3 of 5 neighbours", "n0: no label"}},
		"hub":        {hub, 23, []string{"60 of 100149 neighbours are drawn", "And 30 more classes."}},
		"awkward": {awkward, 10,
			[]string{"</title><script>\ufffd\ufffd[31m & \"'", "東京&<>", "<b>&amp; (its label): 1 of 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			svg := test.ego.SVG()
			if again := test.ego.SVG(); again != svg {
				t.Error("another picture the second time")
			}
			texts, elements := read(t, svg)
			for _, want := range test.contains {
				if !strings.Contains(strings.ReplaceAll(texts, "\n", " "), want) { // lines break anywhere
					t.Errorf("no %q in the texts", want)
				}
			}
			if elements["circle"] != test.circles || elements["script"] > 0 {
				t.Errorf("got elements %v, want %d circles and no script", elements, test.circles)
			}
			path := filepath.Join("testdata", name+".svg")
			if os.Getenv("GRAPHCLEANER_GOLDEN") == "write" {
				must.Do(t, os.WriteFile(path, []byte(svg), 0o666))
			}
			want, err := os.ReadFile(path)
			if err != nil || svg != string(want) {
				t.Errorf("other than %s (%v)", path, err)
			}
		})
	}
}

// lines returns the content of each element text of an SVG.
func lines(t *testing.T, svg string) (lines []string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return lines
		}
		must.Do(t, err)
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
			var line string
			must.Do(t, decoder.DecodeElement(&line, &start))
			lines = append(lines, line)
		}
	}
}

// TestNames draws names that are long, that run from right to left, or that have marks. No line leaves the picture.
func TestNames(t *testing.T) {
	const bytes = 2000
	long := func(text string) string { return strings.Repeat(text, bytes/len(text)) }
	for test, name := range map[string]string{
		"Arabic":     long("معرف عقدة طويل جدا "),
		"Hebrew":     long("מזהה ארוך של צומת "),
		"mixed":      long("node מזהה 12 عقدة "),
		"one word":   long("0123456789"),
		"capitals":   long("WM"),
		"wide":       long("東京"),
		"words":      long("a word "),
		"one letter": "e" + long("\u0301"),
		"letters":    long("e\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308"),
		"marks":      long("\u0301"),
		"emoji":      long("👩‍👩‍👧"),
		"directions": long("א\u2069\u202e\u2067\u202bא "),
		"controls":   long("\x00\u200b"),
	} {
		t.Run(test, func(t *testing.T) {
			e := egoOf(2, 20, 0, func(i int) int { return i % 2 })
			e.Classes = []string{name, "1" + name}
			e.Title = fmt.Sprintf("%s has the label %s. Is it %s?", Within(name, NodeLength), Within(name, ClassLength),
				Within("1"+name, ClassLength))
			e.Text = fmt.Sprintf("10 of 20 neighbours are %s; the classifier agrees (50%%).", Within(name, ClassLength))
			for i := range e.Nodes {
				e.Nodes[i].Name = name
			}
			svg := e.SVG()
			if !utf8.ValidString(svg) {
				t.Error("the picture is no UTF-8")
			}
			texts := lines(t, svg)
			if len(texts) > 38 {
				t.Errorf("got %d lines", len(texts))
			}
			for _, line := range texts {
				if width := uniseg.StringWidth(line); width > textLength || len(line) > mostBytes*textLength {
					t.Errorf("got a line of %d characters and %d bytes: %q", width, len(line), line)
				}
			}
		})
	}
}

// TestWrap compares the words of lines with those of the text.
func TestWrap(t *testing.T) {
	for text, want := range map[string][]string{
		"":              nil,
		"a bc def":      {"a bc", "def"},
		"abcdefgh ij k": {"abcde", "fgh", "ij k"},
		"東京東京":          {"東京", "東京"},
	} {
		if got := wrap(text, 5); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for text, want := range map[string]string{"": "", "東京": "東京", "東京都": "東京…", "abcd": "abcd", "abcde": "abcd…",
		"👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧": "👩‍👩‍👧👩‍👩‍👧…"} {
		if got := Shorten(text, 4); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
