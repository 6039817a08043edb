package query

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// maxStatement bounds a statement, in bytes. It also bounds how much of a script is held at once.
const maxStatement = 1 << 20

// A Script cuts a text that arrives piece by piece into statements and dot commands. A dot command is a line that
// begins with a point; it is for the program that reads the script.
type Script struct {
	in    *bufio.Reader
	err   error   // of in, once it has one
	scan  scanner // of what was read and not handed out; it stands before what was not looked at
	start Pos     // of that text
	begin Pos     // of the step, if one has begun
	begun bool
}

// A Step is one statement, with its semicolon if it has one, or one dot command.
type Step struct {
	Text string
	Pos  Pos
	Dot  bool
}

// Parse parses the statement of a step. Errors point into the text of the script.
func (s Step) Parse() (Statement, error) {
	return parse(s.Text, s.Pos)
}

// NewScript returns a Script of the text that a reader brings.
func NewScript(in io.Reader) *Script {
	return &Script{in: bufio.NewReaderSize(in, 16<<10), scan: newScanner("", startOfText), start: startOfText}
}

// Next returns the next step, and io.EOF after the last. A statement of more than 1 MiB is a *TextError, and nothing
// after it can be read.
func (s *Script) Next() (Step, error) {
	const mark = "\ufeff" // of the order of bytes
	if begin, err := s.in.Peek(len(mark)); err == nil && string(begin) == mark && s.start == startOfText &&
		s.scan.text == "" {
		s.in.Discard(len(mark)) //nolint:errcheck // it was peeked at
	}
	for {
		if step, ok := s.cut(); ok {
			return step, nil
		}
		if len(s.scan.text) > maxStatement {
			at := newScanner(s.scan.text, s.start)
			if at.skipBlank(); at.rest() == "" { // a comment
				at.pos = s.start
			}
			return Step{}, faultAt(at.pos, "got a statement of more than %d MiB, want a semicolon before that", maxStatement>>20)
		}
		if s.err != nil {
			return Step{}, s.err
		}
		_, s.err = s.in.Peek(1)
		piece, err := s.in.Peek(s.in.Buffered())
		if err != nil {
			panic(err) // it is in memory
		}
		s.scan.text += string(piece)
		s.in.Discard(len(piece)) //nolint:errcheck // likewise
	}
}

// cut hands out the next step, if all of it was read. What reaches the end of the text may go on in the next piece.
func (s *Script) cut() (step Step, ok bool) {
	ended := errors.Is(s.err, io.EOF)
	for {
		scan := s.scan
		scan.skipBlank()
		rest := scan.rest()
		if !s.begun {
			s.begin = scan.pos
		}
		token := scan.next()
		switch {
		case !s.begun && rest == "":
			blank := s.scan.rest()
			whole := strings.LastIndexByte(blank, '\n') + 1
			if !strings.Contains(blank[whole:], "-") { // which is no comment
				whole = len(blank)
			}
			s.scan.take(whole)
			s.drop()
			return step, false
		case !s.begun && rest[0] == '.':
			_, after, whole := strings.Cut(rest, "\n")
			if !whole && !ended {
				return step, false
			}
			scan.pos = s.begin
			scan.take(len(rest) - len(after))
			return s.hand(scan.pos, true), true
		case token.is(";"), rest == "" && ended:
			return s.hand(scan.pos, false), true
		case scan.rest() == "" && !ended:
			return step, false
		}
		s.scan, s.begun = scan, true
	}
}

// hand gives out the step that has begun, up to a place.
func (s *Script) hand(end Pos, dot bool) Step {
	text := s.scan.text[s.begin.Offset-s.scan.base : end.Offset-s.scan.base]
	s.scan.pos, s.begun = end, false
	s.drop()
	return Step{Text: text, Pos: s.begin, Dot: dot}
}

// drop forgets the text that was looked at.
func (s *Script) drop() { s.scan, s.start = newScanner(s.scan.rest(), s.scan.pos), s.scan.pos }
