package print

import (
	"os"

	"golang.org/x/term"
)

// A Screen is the place that answers are printed on. The zero value is no terminal: a file or a pipe.
type Screen struct {
	Terminal bool // which obeys the control characters that it is sent
	Width    int  // in cells; 0 has no end
	Height   int  // in lines; 0 has no end
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
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return &Screen{}
	}
	width, height, err := term.GetSize(int(file.Fd()))
	if err != nil {
		width, height = 0, 0
	}
	return &Screen{Terminal: true, Width: width, Height: height}
}

// IsTerminal reports whether a stream is a terminal, also that of a Remote.
func IsTerminal(stream any) bool { return ScreenOf(stream).Terminal }
