// Package picture draws a node with its neighbours as SVG: the same bytes for the same input, for light and dark pages,
// with every text escaped. It knows no store and no page.
package picture

import (
	"cmp"
	_ "embed" // for the style
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Most is how many nodes a picture shows. It counts the others in words.
const Most = 150

// None is the class of a node without a label or a prediction.
const None = -1

// Colors are those of classes and lines, by turns. Readers who see few colours can tell them apart too, as a test
// computes. The last is that of text. On dark pages, the style has others in their place.
var Colors = []string{"#0040ff", "#ffa020", "#a000a0", "#40c0c0", "#606000", "#a08060", "currentColor"}

// shapes are those of classes: the first for as many classes as there are colours, and so on. Without sides, it is a
// circle.
var shapes = []struct {
	sides        int
	angle, scale float64
}{{0, 0, 1}, {4, math.Pi / 4, 1.2}, {3, -math.Pi / 2, 1.4}, {4, 0, 1.3}, {3, math.Pi / 2, 1.4}, {6, 0, 1.15}}

// A Node is the suspect, or a node near it.
type Node struct {
	ID                string
	Name              string  // title or id
	Class, Predicted  int     // places in Ego.Classes, or None
	Confidence, Score float64 // chance of Predicted by the classifier, and that the label is wrong (NaN: unknown)
	Weight            float64 // in the vote
	Decided           string  // the decision in force and by whom, such as "accept by ann"; else ""
}

// An Ego is a node with the nodes near it.
type Ego struct {
	ID          string // of the svg element
	Title, Text string // above the drawing
	Classes     []string
	Nodes       []Node      // the first is the suspect
	Edges       [][2]int    // places in Nodes; a node with an edge to the first is its neighbour
	Votes       map[int]int // how many neighbours have each class, or None, drawn or not

	// Link is the address of a node. With it, each node but the first is a link. Then the drawing has no style of its
	// own: the page that has the links has Style in its style sheet, as the page may forbid styles elsewhere.
	Link func(id string) string
}

// Sizes are in pixels, lengths in characters of usual width.
const (
	width, margin, line     = 540.0, 18.0, 18.0
	drawingHeight, stretch  = 330.0, 1.35 // of the drawing, sideways
	nearRadius, farRadius   = 88.0, 142.0
	titleLength, textLength = 58, 70
	mostNames, mostOnRing   = 20, 36 // neighbours with names, and in a circle
	leastRadius             = 4.0
	mostClasses             = 10    // in the legend
	mostRunes, mostMarks    = 12, 4 // of one character
	tooltipLength           = 80    // of a name in a tooltip
)

// In the sentences of an Ego, names have at most these lengths.
const (
	NodeLength  = 120
	ClassLength = 44
)

// nameLengths are those of a node in the drawing: the first that has room.
var nameLengths = []int{36, 22, 10}

// An isolate is a text that may run from right to left and does not turn the text around it. It has no other marks of
// direction.
const (
	isolateStart, isolateEnd = "\u2068", "\u2069"
	directionMarks           = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)

// Style is the style of drawings and swatches.
//
//go:embed style.css
var Style string

// A drawing is an Ego that is being drawn.
type drawing struct {
	*Ego
	out       strings.Builder
	near, far []int        // the nodes that are drawn
	origins   map[int]int  // of each node, the node that led to it
	at        [][2]float64 // their places
	neighbors int          // drawn or not
	most      float64      // the greatest weight of a neighbour
}

// SVG draws the picture.
func (e *Ego) SVG() string {
	d := &drawing{Ego: e, at: make([][2]float64, len(e.Nodes))}
	for _, count := range e.Votes {
		d.neighbors += count
	}
	d.choose()
	legend := d.legend()
	title := wrap(e.Title, titleLength)
	if e.Link != nil {
		title = nil // the page has it
	}
	text, notes := wrap(e.Text, textLength), wrap(d.notes(len(legend)), textLength)
	legend = legend[:min(len(legend), mostClasses)]
	foot := margin + line*float64(len(title)+len(text)+1) + drawingHeight
	d.place(width/2, foot-line-drawingHeight/2)
	height := foot + line*float64(len(legend)+len(notes))
	role := "img"
	if e.Link != nil {
		role = "group" // whose links can be reached
	}
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" id="%s" class="ego" viewBox="0 0 %v %v" role="%s" aria-label="%s">`+"\n",
		escape(e.ID), width, height, role, escape(e.Title+" "+e.Text))
	if e.Link == nil {
		d.printf("<style>\n%s</style>\n", Style)
	}
	d.printf(`<rect class="paper" x="0.5" y="0.5" width="%v" height="%v" rx="8"/>`+"\n", width-1, height-1)
	d.paragraph("words", d.paragraph("title", margin+10, title), text)
	d.drawEdges()
	radius := 8.0
	if len(d.near) > mostNames {
		radius = 5.5
	}
	d.drawNode(0, 16)
	for _, i := range d.near {
		d.drawNode(i, max(leastRadius, radius*d.share(i)))
	}
	for _, i := range d.far {
		d.drawNode(i, leastRadius)
	}
	d.drawNames(radius)
	y := foot
	for _, class := range legend {
		d.printf("%s\n", mark(class, margin+6, y-4.5, 5.5))
		d.text("words", margin+20, y, d.legendLine(class))
		y += line
	}
	d.paragraph("note", y, notes)
	d.printf("</svg>\n")
	return d.out.String()
}

func (d *drawing) visible() []int { return slices.Concat([]int{0}, d.near, d.far) }

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.out, format, args...) }
func (d *drawing) text(class string, x, y float64, text string) {
	d.printf(`<text class="%s" x="%v" y="%v">%s</text>`+"\n", class, pixel(x), pixel(y), escape(text))
}

// paragraph writes lines from y on, and returns where the next one goes.
func (d *drawing) paragraph(class string, y float64, lines []string) float64 {
	for _, words := range lines {
		d.text(class, margin, y, words)
		y += line
	}
	return y
}

// choose finds the nodes to draw: the neighbours with most weight and, where these are few, nodes two hops away.
func (d *drawing) choose() {
	d.origins = map[int]int{0: 0}
	beside := func(origins ...int) (nodes []int) {
		for _, edge := range d.Edges {
			for end, from := range edge {
				to := edge[1-end]
				if _, seen := d.origins[to]; !seen && slices.Contains(origins, from) {
					d.origins[to] = from
					nodes = append(nodes, to)
				}
			}
		}
		slices.SortFunc(nodes, func(a, b int) int { return cmp.Or(cmp.Compare(d.Nodes[b].Weight, d.Nodes[a].Weight), a-b) })
		return nodes[:min(len(nodes), Most-1-len(d.near))]
	}
	if d.near = beside(0); len(d.near) <= mostOnRing {
		d.far = beside(d.near...)
	}
	for _, i := range d.near {
		d.most = max(d.most, d.Nodes[i].Weight)
	}
	counts := map[int]int{} // neighbours of a class are drawn side by side
	for _, i := range d.near {
		counts[d.Nodes[i].Class]++
	}
	slices.SortStableFunc(d.near, func(a, b int) int {
		p, q := d.Nodes[a].Class, d.Nodes[b].Class
		return cmp.Or(counts[q]-counts[p], p-q)
	})
}

// place puts the suspect at x and y, its neighbours around it, and behind each of these the nodes that it leads to.
func (d *drawing) place(x, y float64) {
	behind := map[int][]int{}
	for _, f := range d.far {
		behind[d.origins[f]] = append(behind[d.origins[f]], f)
	}
	leaning := func(k, f int) (side int) { // to the neighbour after the k-th, or the one before it, where f has an edge to it
		for i, to := range []int{d.near[(k+len(d.near)-1)%len(d.near)], d.near[(k+1)%len(d.near)]} {
			if slices.Contains(d.Edges, [2]int{to, f}) || slices.Contains(d.Edges, [2]int{f, to}) {
				side += 2*i - 1
			}
		}
		return side
	}
	put := func(i int, radius, angle float64) {
		d.at[i] = [2]float64{x + float64(stretch*radius*math.Cos(angle)), y + float64(radius*math.Sin(angle))}
	}
	put(0, 0, 0)
	rings, angle := (len(d.near)-1)/mostOnRing+1, -math.Pi/2
	for k, n := range d.near {
		sector := 2 * math.Pi / float64(len(d.near))
		if len(d.far) > 0 { // half of the circle is shared equally, half by the nodes behind
			sector = sector/2 + float64(math.Pi*float64(len(behind[n]))/float64(len(d.far)))
		}
		radius := nearRadius
		if rings > 1 {
			radius = 60 + float64(float64(k%rings)*(farRadius-60)/float64(rings-1))
		}
		put(n, radius, angle+sector/2)
		slices.SortStableFunc(behind[n], func(a, b int) int { return leaning(k, a) - leaning(k, b) })
		for j, f := range behind[n] {
			put(f, farRadius+float64(14*(j%2)), angle+float64(sector*(float64(j)+0.5)/float64(len(behind[n]))))
		}
		angle += sector
	}
}

// drawEdges draws the edges between nodes that are drawn, and those of the suspect last.
func (d *drawing) drawEdges() {
	nodes := d.visible()
	for _, class := range []string{"edge far", "edge"} {
		path := ""
		for _, edge := range d.Edges {
			a, b := edge[0], edge[1]
			if (a == 0 || b == 0) == (class == "edge") && slices.Contains(nodes, a) && slices.Contains(nodes, b) {
				path += fmt.Sprintf("M%v %vL%v %v", pixel(d.at[a][0]), pixel(d.at[a][1]), pixel(d.at[b][0]), pixel(d.at[b][1]))
			}
		}
		d.printf(`<path class="%s" d="%s"/>`+"\n", class, path)
	}
}

// share is that of the full radius which a neighbour has: areas are as weights, but none is too small for its colour to
// be seen.
func (d *drawing) share(i int) float64 {
	if d.most <= 0 {
		return 1
	}
	return max(0.5, math.Sqrt(max(0, d.Nodes[i].Weight/d.most)))
}

// drawNode draws a node in the colour of its label, in a ring of that of its prediction where this is another class.
func (d *drawing) drawNode(i int, radius float64) {
	n, x, y := d.Nodes[i], d.at[i][0], d.at[i][1]
	tooltip, element := escape(d.tooltip(n)), "g"
	if d.Link != nil && i != 0 {
		element = "a"
		d.printf(`<a href="%s">`, escape(d.Link(n.ID)))
	} else {
		d.printf("<g>")
	}
	d.printf("<title>%s</title>", tooltip)
	outer := radius
	if n.isDoubted() {
		outer = 1.5 * radius
		d.printf("%s", mark(n.Predicted, x, y, outer))
	}
	d.printf("%s", mark(n.Class, x, y, radius))
	if n.Decided != "" {
		beside := float64(0.75*outer) + 1.5
		tick := fmt.Sprintf("M%v %v", pixel(x+beside), pixel(y-beside)) + verdictOf(n).path
		d.printf(`<path class="tick-edge" d="%s"/><path class="tick" d="%s"/>`, tick, tick)
	}
	d.printf("</%s>\n", element)
}

// A verdict is a kind of decision as it is drawn.
type verdict struct{ path, note string }

// verdicts are those by the first word of Node.Decided; all others have changed the label.
var (
	verdicts = map[string]verdict{"reject": {"l2.5 3l4.5 -6.5", "✓: people kept the label."}, "unsure": {"h7", "–: people are not sure of the label."}}
	changed  = verdict{"h7m-3.5 -3.5v7", "+: people changed the label."}
)

func verdictOf(n Node) verdict {
	kind, _, _ := strings.Cut(n.Decided, " ")
	if v, ok := verdicts[kind]; ok {
		return v
	}
	return changed
}

func (n Node) isDoubted() bool { return n.Predicted != None && n.Predicted != n.Class }

// mark is the shape of a class in its colour.
func mark(class int, x, y, radius float64) string {
	if class == None {
		return fmt.Sprintf(`<circle class="none" cx="%v" cy="%v" r="%v"/>`, pixel(x), pixel(y), pixel(radius))
	}
	color, shape := Colors[class%len(Colors)], shapes[class/len(Colors)%len(shapes)]
	if shape.sides == 0 {
		return fmt.Sprintf(`<circle class="node" fill="%s" cx="%v" cy="%v" r="%v"/>`, color, pixel(x), pixel(y), pixel(radius))
	}
	points := ""
	for k := range shape.sides {
		r, angle := radius*shape.scale, shape.angle+float64(2*math.Pi*float64(k)/float64(shape.sides))
		points += fmt.Sprintf("%v,%v ", pixel(x+float64(r*math.Cos(angle))), pixel(y+float64(r*math.Sin(angle))))
	}
	return fmt.Sprintf(`<polygon class="node" fill="%s" points="%s"/>`, color, strings.TrimSpace(points))
}

// Swatch is the mark of a class alone, to stand beside its name.
func Swatch(class int) string {
	return `<svg class="ego" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">` + mark(class, 8, 8, 5.5) + `</svg>`
}

// tooltip is the text of a node for those who point at it.
func (d *drawing) tooltip(n Node) string {
	text := Within(n.Name, tooltipLength) + ": " + d.name(n.Class, ClassLength)
	if n.Predicted != None {
		text += fmt.Sprintf(", predicted %s (%.1f%%)", d.name(n.Predicted, ClassLength), 100*n.Confidence)
	}
	if !math.IsNaN(n.Score) {
		text += fmt.Sprintf(", score %.3g", n.Score)
	}
	if n.Decided != "" {
		text += ", decided: " + Within(n.Decided, tooltipLength)
	}
	return text
}

// A box is a part of the drawing.
type box struct{ left, top, right, bottom float64 }

func (b box) overlaps(c box) bool {
	return b.left < c.right && c.left < b.right && b.top < c.bottom && c.top < b.bottom
}

func around(at [2]float64, radius float64) box {
	return box{at[0] - radius, at[1] - radius, at[0] + radius, at[1] + radius}
}

// letterWidth is how wide a letter of a name is.
const letterWidth = 7

// over is the box of a name whose line begins at x.
func over(x, y float64, name string) box {
	return box{x, y - 11, x + float64(letterWidth*breadth(name)), y + 3}
}

// centred is the box of a name with its middle at x.
func centred(x, y float64, name string) box {
	return over(x-float64(letterWidth*breadth(name)/2), y, name)
}

// drawNames writes the names of the neighbours with most weight. The name of the suspect is in the title. No name lies
// on another or on a node: a name is as long as there is room, and above, below or beside its node. One that has no
// such place is in the tooltip alone.
func (d *drawing) drawNames(radius float64) {
	x, y := d.at[0][0], d.at[0][1]
	var taken []box
	for _, i := range d.near {
		taken = append(taken, around(d.at[i], radius))
	}
	for _, i := range d.far {
		taken = append(taken, around(d.at[i], leastRadius))
	}
	isFree := func(b box) bool { return b.left > 4 && b.right < width-4 && !slices.ContainsFunc(taken, b.overlaps) }
	d.text("title on-disc", x, y+6, "?")
	taken = append(taken, around(d.at[0], 24))
	heaviest := slices.Clone(d.near)
	slices.SortStableFunc(heaviest, func(a, b int) int { return cmp.Compare(d.Nodes[b].Weight, d.Nodes[a].Weight) })
	for _, i := range heaviest[:min(len(heaviest), mostNames)] {
		at, beyond := d.at[i], float64(1.5*radius)
		away := math.Copysign(beyond+8, at[1]-y)
	choice:
		for _, most := range nameLengths {
			name := Within(d.Nodes[i].Name, most)
			left, right := at[0]-beyond-4, at[0]+beyond+4
			outside := over(right, at[1]+5, name)
			class, start := "name start", right
			if at[0] < x {
				class, start, outside = "name end", left, over(left-float64(letterWidth*breadth(name)), at[1]+5, name)
			}
			for _, place := range []struct {
				class string
				x, y  float64
				box   box
			}{
				{"name", at[0], at[1] + 5 + away, centred(at[0], at[1]+5+away, name)},
				{class, start, at[1] + 5, outside},
				{"name", at[0], at[1] + 5 - away, centred(at[0], at[1]+5-away, name)},
			} {
				if isFree(place.box) {
					d.text(place.class, place.x, place.y, name)
					taken = append(taken, place.box)
					break choice
				}
			}
		}
	}
}

// legend lists the classes that are drawn: most votes first.
func (d *drawing) legend() (classes []int) {
	for _, i := range d.visible() {
		n := d.Nodes[i]
		classes = append(classes, n.Class)
		if n.isDoubted() {
			classes = append(classes, n.Predicted)
		}
	}
	slices.SortFunc(classes, func(a, b int) int { return cmp.Or(d.Votes[b]-d.Votes[a], a-b) })
	return slices.Compact(classes)
}

// legendLine is the line of a class in the legend.
func (d *drawing) legendLine(class int) string {
	votes := fmt.Sprintf(": %d of %d neighbours", d.Votes[class], d.neighbors)
	switch {
	case d.Votes[class] == 0 && class == d.Nodes[0].Class:
		votes = ": no neighbour"
	case d.Votes[class] == 0:
		votes = ": not a neighbour, only further away or predicted"
	case d.neighbors == 1:
		votes = strings.TrimSuffix(votes, "s")
	}
	if class == d.Nodes[0].Class {
		votes = " (its label)" + votes
	}
	return d.name(class, min(ClassLength, textLength-4-len(votes))) + votes
}

// name is the name of a class in at most so many characters.
func (d *drawing) name(class, most int) string {
	if class == None {
		return "no label"
	}
	return Within(d.Classes[class], most)
}

// notes say how to read the drawing, and what is not in it.
func (d *drawing) notes(classes int) (text string) {
	if more := classes - mostClasses; more > 0 {
		text = fmt.Sprintf("And %d more classes. ", more)
	}
	text += "Fill: the label. Ring: the predicted class, if different."
	if len(d.near) < d.neighbors {
		text += fmt.Sprintf(" %d of %d neighbours are drawn, those with most weight.", len(d.near), d.neighbors)
	}
	if slices.ContainsFunc(d.near, func(i int) bool { return d.share(i) < 1 }) {
		text += " The larger a neighbour, the more it counts."
	}
	if slices.ContainsFunc(d.Edges, func(edge [2]int) bool { return edge[0] != 0 && edge[1] != 0 }) {
		text += " Strong lines are edges of the node in the middle, faint ones those of others."
	}
	if len(d.far) > 0 {
		text += " The outer nodes are two hops away."
	}
	var seen []verdict
	for _, i := range d.visible() {
		if n := d.Nodes[i]; n.Decided != "" && !slices.Contains(seen, verdictOf(n)) {
			seen = append(seen, verdictOf(n))
			text += " " + verdictOf(n).note
		}
	}
	return text
}

// wrap breaks a text into lines: at spaces, and within words that are longer than a line. A line closes the isolates
// that are open at its end, and the next line opens them again.
func wrap(text string, most int) (lines []string) {
	for _, word := range strings.Fields(text) {
		if last := len(lines) - 1; last >= 0 {
			if _, rest := split(lines[last]+" "+word, most); rest == "" {
				lines[last] += " " + word
				continue
			}
		}
		for word != "" {
			var line string
			line, word = split(word, most)
			lines = append(lines, line)
		}
	}
	open := 0 // isolates
	for i, line := range lines {
		lines[i] = strings.Repeat(isolateStart, open) + line
		open = max(0, strings.Count(lines[i], isolateStart)-strings.Count(line, isolateEnd))
		lines[i] += strings.Repeat(isolateEnd, open)
	}
	return lines
}

// split divides a text before the first character for which a line has no room. A line has room for at least one. Of
// the marks of a character, the line has the first ones.
func split(text string, most int) (line, rest string) {
	room, state := float64(most), -1
	for text != "" {
		character, after, columns, next := uniseg.FirstGraphemeClusterInString(text, state)
		room -= lettersOf(character, columns)
		if room < 0 && line != "" {
			return line, text
		}
		runes, marks := 0, 0
		for _, r := range character {
			runes++
			if unicode.Is(unicode.M, r) {
				marks++
			}
			if runes > mostRunes || marks > mostMarks {
				break
			}
			line += string(r)
		}
		text, state = after, next
	}
	return line, ""
}

// lettersOf is how wide a character is, in characters of usual width.
func lettersOf(character string, columns int) float64 {
	first, _ := utf8.DecodeRuneInString(character)
	switch {
	case first == 'M' || first == 'W':
		return 1.8
	case unicode.IsUpper(first):
		return 1.3
	}
	return float64(max(columns, 1))
}

// breadth is how wide a text is, in characters of usual width.
func breadth(text string) (sum float64) {
	for state := -1; text != ""; {
		var character string
		var columns int
		character, text, columns, state = uniseg.FirstGraphemeClusterInString(text, state)
		sum += lettersOf(character, columns)
	}
	return sum
}

// Shorten returns the beginning of a text, at most so many characters of usual width. A dot-dot-dot stands for the
// rest.
func Shorten(text string, most int) string {
	line, rest := split(text, most)
	if rest != "" {
		line += "…"
	}
	return line
}

// Within returns a name as a picture or a sentence has it: short, and an isolate if it may run from right to left.
func Within(name string, most int) string { return isolate(Shorten(name, most)) }

// Plain is a sentence without the isolates of the names in it, for screens that would show the marks.
func Plain(sentence string) string {
	return strings.NewReplacer(isolateStart, "", isolateEnd, "").Replace(sentence)
}

// isolate makes an isolate of a text that may run from right to left.
func isolate(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x590 }) {
		return text
	}
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune(directionMarks, r) {
			return -1
		}
		return r
	}, text)
	return isolateStart + text + isolateEnd
}

// escape writes a text as XML, with replacement characters for those that XML forbids.
func escape(text string) string {
	var out strings.Builder
	if err := xml.EscapeText(&out, []byte(text)); err != nil {
		panic(err) // a Builder takes all
	}
	return out.String()
}

// pixel rounds to a tenth.
func pixel(at float64) float64 { return math.Round(10*at) / 10 }
