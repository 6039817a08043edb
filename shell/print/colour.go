package print

import (
	"os"

	"golang.org/x/term"
)

// A Screen is what answers are printed on. The zero value is no terminal: a file or a pipe.
type Screen struct {
	Terminal bool // which obeys the control characters that it is sent
	SafeCSV  bool // texts in csv and tsv that a spreadsheet would take for formulas begin with an apostrophe
	Width    int  // in cells; 0 has no end
	Height   int  // in lines; 0 has no end
	Coloured bool // colours are wanted
	Cut      bool // set where a value did not fit
}

// A Remote is a stream of another process.
type Remote interface {
	// Screen describes the terminal that the stream leads to, the zero Screen if there is none.
	Screen() Screen
}

// ScreenOf describes the terminal that a stream leads to, also a Remote. A stream that leads to none has the zero
// Screen.
func ScreenOf(stream any) *Screen {
	if remote, ok := stream.(Remote); ok {
		screen := remote.Screen()
		return &screen
	}
	file, ok := stream.(*os.File)
	if !ok || !IsTerminal(stream) {
		return &Screen{}
	}
	width, height, err := term.GetSize(int(file.Fd()))
	if err != nil {
		width, height = 0, 0
	}
	return &Screen{Terminal: true, Width: width, Height: height, Coloured: TakesColour(stream)}
}

// TakesColour reports whether a stream leads to a terminal that shows colours, and the user wants colours
// (https://no-color.org).
func TakesColour(stream any) bool {
	return IsTerminal(stream) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// A paint is the escape sequence of a way to write on a terminal.
type paint string

const (
	paintNothing paint = ""
	paintTitle   paint = "\x1b[1m"
	paintHeader  paint = "\x1b[1m"
	paintRule    paint = "\x1b[2m"

	paintEnd = "\x1b[0m"
)

// paint returns a text with the escape sequences that paint it, if the screen has colours.
func (s *Screen) paint(colour paint, text string) string {
	if !s.Coloured || colour == paintNothing || text == "" {
		return text
	}
	return string(colour) + text + paintEnd
}

// IsTerminal reports whether a stream is a terminal, also that of a Remote.
func IsTerminal(stream any) bool {
	if remote, ok := stream.(Remote); ok {
		return remote.Screen().Terminal
	}
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
