package picture

import (
	"encoding/xml"
	"strings"

	"github.com/rivo/uniseg"
)

// In sentences about a node, names have at most these lengths, in cells of a terminal.
const (
	NodeLength  = 120
	ClassLength = 44
)

// An isolate is a text that may run from right to left and does not turn the text around it.
const isolateStart, isolateEnd = "\u2068", "\u2069"

// mostBytes is how many bytes of a character are drawn: marks can be piled up without end.
const mostBytes = 48

// wrap breaks a text into lines: at spaces, and within words that are longer than a line.
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
	return lines
}

// split divides a text before the first character for which a line has no room. A line has room for at least one.
func split(text string, most int) (line, rest string) {
	width, state := 0, -1
	for text != "" {
		character, after, columns, next := uniseg.FirstGraphemeClusterInString(text, state)
		if width += max(columns, 1); width > most && line != "" {
			return line, text
		}
		line += strings.ToValidUTF8(character[:min(len(character), mostBytes)], "\ufffd")
		text, state = after, next
	}
	return line, ""
}

// Shorten returns the beginning of a text, at most so many cells. A dot-dot-dot stands for the rest.
func Shorten(text string, most int) string {
	line, rest := split(text, most)
	if rest != "" {
		line += "…"
	}
	return line
}

// Within returns a name as a picture or a sentence has it: short, and an isolate if it may run from right to left. The
// name has no marks of direction of its own: print.EscapeControls has taken them.
func Within(name string, most int) string {
	name = Shorten(name, most)
	if !strings.ContainsFunc(name, func(r rune) bool { return r >= 0x590 }) {
		return name
	}
	return isolateStart + name + isolateEnd
}

// Plain is a sentence without the isolates of the names in it, for screens that would show the marks.
func Plain(sentence string) string {
	return strings.NewReplacer(isolateStart, "", isolateEnd, "").Replace(sentence)
}

// escape writes a text as XML, with replacement characters for those that XML forbids.
func escape(text string) string {
	var out strings.Builder
	if err := xml.EscapeText(&out, []byte(text)); err != nil {
		panic(err) // a Builder takes all
	}
	return out.String()
}
