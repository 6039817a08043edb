package shell

import (
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A screen is what answers are printed on. The zero value is no terminal: a file or a pipe.
type screen struct {
	terminal bool // which obeys the control characters that it is sent
	safeCSV  bool // texts of csv and tsv are SafeTexts
	width    int  // in cells; 0 has no end
	height   int  // in lines; 0 has no end
	coloured bool
	cut      bool // set where a value did not fit
}

// screenOf is the terminal that a stream leads to, if it does.
func screenOf(stream any) *screen {
	file, ok := stream.(*os.File)
	if !ok || !isTerminal(stream) {
		return &screen{}
	}
	width, height, err := term.GetSize(int(file.Fd()))
	if err != nil {
		width, height = 0, 0
	}
	return &screen{terminal: true, width: width, height: height, coloured: takesColour(stream)}
}

// takesColour reports whether a stream leads to a terminal that shows colours, to somebody who wants any
// (https://no-color.org).
func takesColour(stream any) bool {
	return isTerminal(stream) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// A paint is the escape sequence of a way to write on a terminal.
type paint string

const (
	paintNothing paint = ""
	paintTitle   paint = "\x1b[1m"
	paintHeader  paint = "\x1b[1m"
	paintRule    paint = "\x1b[2m"

	paintKeyword paint = "\x1b[1;34m"
	paintText    paint = "\x1b[32m"
	paintNumber  paint = "\x1b[36m"
	paintComment paint = "\x1b[2m"

	paintEnd = "\x1b[0m"
)

// paint returns a text with the escape sequences that paint it, where the screen has colours.
func (s *screen) paint(colour paint, text string) string {
	if !s.coloured || colour == paintNothing || text == "" {
		return text
	}
	return string(colour) + text + paintEnd
}

// highlight paints the keywords, texts, numbers and comments of typed statements.
func highlight(text string) string {
	var out strings.Builder
	on := &screen{coloured: true}
	for piece := range query.Pieces(text) {
		out.WriteString(on.paint(paints[piece.Kind], piece.Text))
	}
	return out.String()
}

var paints = map[query.PieceKind]paint{
	query.PlainPiece: paintNothing, query.KeywordPiece: paintKeyword, query.TextPiece: paintText, query.NumberPiece: paintNumber, query.CommentPiece: paintComment,
}
