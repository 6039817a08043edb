// Package picture draws a node with its neighbours as SVG: the same bytes for the same input, for light and dark pages,
// with every text escaped. It knows no store and no page.
package picture

import (
	"cmp"
	_ "embed" // for the style
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

// A picture shows at most so many nodes, and so many of them neighbours. It counts the others in words.
const (
	Most          = 150
	MostNeighbors = 60
)

// None is the class of a node without a label or a prediction.
const None = -1

// Colors are those of classes and lines, by turns. Readers who see few colours can tell them apart too. The last is
// that of text. On dark pages, the style has others in their place.
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
	Nodes       []Node      // the suspect, its neighbours, the heaviest first, and some of theirs: at most Most
	Neighbors   int         // so many of Nodes are neighbours of the first
	Edges       [][2]int    // places in Nodes; those to nodes that are no neighbours begin at the neighbour
	Votes       map[int]int // how many neighbours have each class, or None, drawn or not

	// Link is the address of a node. With it, each node but the first is a link. Then the drawing has no style of its
	// own: the page that has the links has Style in its style sheet, as the page may forbid styles elsewhere.
	Link func(id string) string
}

// Sizes are in pixels, lengths of texts in cells.
const (
	width, margin, line     = 540.0, 18.0, 18.0
	drawingHeight, stretch  = 330.0, 1.35 // of the drawing, sideways
	nearRadius, farRadius   = 88.0, 142.0
	titleLength, textLength = 58, 70
	mostNames, nameLength   = 20, 22 // neighbours with names
	leastRadius             = 4.0
	letterWidth             = 7.0
	mostClasses             = 10 // in the legend
	tooltipLength           = 80 // of a name
)

// Style is the style of drawings and swatches.
//
//go:embed style.css
var Style string

// A drawing is an Ego that is being drawn.
type drawing struct {
	*Ego
	out strings.Builder
	at  [][2]float64 // places of the nodes
}

// SVG draws the picture.
func (e *Ego) SVG() string {
	d := &drawing{Ego: e, at: make([][2]float64, len(e.Nodes))}
	legend := d.legend()
	title := wrap(e.Title, titleLength)
	role := "img"
	if e.Link != nil {
		title = nil    // the page has it
		role = "group" // whose links can be reached
	}
	text, notes := wrap(e.Text, textLength), wrap(d.notes(len(legend)), textLength)
	legend = legend[:min(len(legend), mostClasses)]
	foot := margin + line*float64(len(title)+len(text)+1) + drawingHeight
	d.place(width/2, foot-line-drawingHeight/2)
	height := foot + line*float64(len(legend)+len(notes))
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" id="%s" class="ego" viewBox="0 0 %v %v" role="%s" `,
		escape(e.ID), width, height, role)
	d.printf(`aria-label="%s">`+"\n", escape(e.Title+" "+e.Text))
	if e.Link == nil {
		d.printf("<style>\n%s</style>\n", Style)
	}
	d.printf(`<rect class="paper" x="0.5" y="0.5" width="%v" height="%v" rx="8"/>`+"\n", width-1, height-1)
	d.paragraph("words", d.paragraph("title", margin+10, title), text)
	d.drawEdges()
	for i := range d.Nodes {
		d.drawNode(i)
	}
	d.drawNames()
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

// isNear reports whether a node is a neighbour of the first.
func (d *drawing) isNear(i int) bool { return i > 0 && i <= d.Neighbors }

// place puts the suspect at x and y, its neighbours around it, those of a class side by side, and behind each of these
// the nodes that it leads to.
func (d *drawing) place(x, y float64) {
	put := func(i int, radius, angle float64) {
		d.at[i] = [2]float64{x + float64(stretch*radius*math.Cos(angle)), y + float64(radius*math.Sin(angle))}
	}
	put(0, 0, 0)
	near, behind, far := []int{}, map[int][]int{}, map[int]bool{}
	for i := range d.Neighbors {
		near = append(near, i+1)
	}
	slices.SortStableFunc(near, func(a, b int) int {
		p, q := d.Nodes[a].Class, d.Nodes[b].Class
		return cmp.Or(d.Votes[q]-d.Votes[p], p-q)
	})
	for _, edge := range d.Edges {
		if from, to := edge[0], edge[1]; d.isNear(from) && to > d.Neighbors && !far[to] {
			behind[from], far[to] = append(behind[from], to), true
		}
	}
	angle := -math.Pi / 2
	for k, n := range near {
		sector := 2 * math.Pi / float64(len(near))
		if len(far) > 0 { // half of the circle is shared equally, half by the nodes behind
			sector = sector/2 + float64(math.Pi*float64(len(behind[n]))/float64(len(far)))
		}
		radius := nearRadius
		if len(near) > mostNames { // in two circles
			radius += 20 * float64(k%2*2-1)
		}
		put(n, radius, angle+sector/2)
		for j, f := range behind[n] {
			put(f, farRadius+float64(14*(j%2)), angle+float64(sector*(float64(j)+0.5)/float64(len(behind[n]))))
		}
		angle += sector
	}
}

// drawEdges draws the edges of others, and then those of the suspect.
func (d *drawing) drawEdges() {
	for _, class := range []string{"edge far", "edge"} {
		path := ""
		for _, edge := range d.Edges {
			if a, b := d.at[edge[0]], d.at[edge[1]]; (edge[0] == 0 || edge[1] == 0) == (class == "edge") {
				path += fmt.Sprintf("M%v %vL%v %v", pixel(a[0]), pixel(a[1]), pixel(b[0]), pixel(b[1]))
			}
		}
		d.printf(`<path class="%s" d="%s"/>`+"\n", class, path)
	}
}

// radius is that of a node. Areas of neighbours are as weights, but none is too small for its colour to be seen.
func (d *drawing) radius(i int) float64 {
	most := 8.0
	if d.Neighbors > mostNames {
		most = 5.5
	}
	switch heaviest := d.Nodes[min(1, len(d.Nodes)-1)].Weight; {
	case i == 0:
		return 16
	case !d.isNear(i):
		return leastRadius
	case heaviest <= 0:
		return most
	default:
		return max(leastRadius, most*math.Sqrt(max(0, d.Nodes[i].Weight/heaviest)))
	}
}

// drawNode draws a node in the colour of its label, in a ring of that of its prediction where this is another class.
func (d *drawing) drawNode(i int) {
	n, x, y, radius, element := d.Nodes[i], d.at[i][0], d.at[i][1], d.radius(i), "g"
	if d.Link != nil && i != 0 {
		element = "a"
		d.printf(`<a href="%s">`, escape(d.Link(n.ID)))
	} else {
		d.printf("<g>")
	}
	d.printf("<title>%s</title>", escape(d.tooltip(n)))
	if n.isDoubted() {
		d.printf("%s", mark(n.Predicted, x, y, 1.5*radius))
	}
	d.printf("%s</%s>\n", mark(n.Class, x, y, radius), element)
}

func (n Node) isDoubted() bool { return n.Predicted != None && n.Predicted != n.Class }

// mark is the shape of a class in its colour.
func mark(class int, x, y, radius float64) string {
	if class == None {
		return fmt.Sprintf(`<circle class="none" cx="%v" cy="%v" r="%v"/>`, pixel(x), pixel(y), pixel(radius))
	}
	color, shape := Colors[class%len(Colors)], shapes[class/len(Colors)%len(shapes)]
	if shape.sides == 0 {
		return fmt.Sprintf(`<circle class="node" fill="%s" cx="%v" cy="%v" r="%v"/>`,
			color, pixel(x), pixel(y), pixel(radius))
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
	return `<svg class="ego" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">` +
		mark(class, 8, 8, 5.5) + `</svg>`
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

// drawNames writes the names of the neighbours with most weight, above or below their nodes. The name of the suspect is
// in the title. A name that would lie on another or on a node is in the tooltip alone.
func (d *drawing) drawNames() {
	var taken []box
	for i, at := range d.at {
		radius := d.radius(i)
		taken = append(taken, box{at[0] - radius, at[1] - radius, at[0] + radius, at[1] + radius})
	}
	d.text("title on-disc", d.at[0][0], d.at[0][1]+6, "?")
	for i := 1; i <= min(d.Neighbors, mostNames); i++ {
		name := Within(d.Nodes[i].Name, nameLength)
		half := letterWidth / 2 * float64(uniseg.StringWidth(name))
		away := math.Copysign(1.5*d.radius(i)+8, d.at[i][1]-d.at[0][1])
		for _, y := range []float64{d.at[i][1] + 5 + away, d.at[i][1] + 5 - away} {
			b := box{d.at[i][0] - half, y - 11, d.at[i][0] + half, y + 3}
			if b.left > 4 && b.right < width-4 && !slices.ContainsFunc(taken, b.overlaps) {
				d.text("name", d.at[i][0], y, name)
				taken = append(taken, b)
				break
			}
		}
	}
}

// legend lists the classes that are drawn: most votes first.
func (d *drawing) legend() (classes []int) {
	for _, n := range d.Nodes {
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
	votes := fmt.Sprintf(": %d of %d neighbours", d.Votes[class], d.voters())
	if class == d.Nodes[0].Class {
		votes = " (its label)" + votes
	}
	return d.name(class, min(ClassLength, textLength-4-len(votes))) + votes
}

// voters counts the neighbours, drawn or not.
func (d *drawing) voters() (sum int) {
	for _, count := range d.Votes {
		sum += count
	}
	return sum
}

// name is the name of a class in at most so many cells.
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
	text += "Fill: the label. Ring: the predicted class, if different. The larger a neighbour, the more it counts."
	if all := d.voters(); d.Neighbors < all {
		text += fmt.Sprintf(" %d of %d neighbours are drawn, those with most weight.", d.Neighbors, all)
	}
	if len(d.Nodes) > 1+d.Neighbors {
		text += " The outer nodes are two hops away."
	}
	return text
}

// pixel rounds to a tenth.
func pixel(at float64) float64 { return math.Round(10*at) / 10 }
