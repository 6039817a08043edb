package query

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// maxStatement bounds a statement, in bytes. It also bounds how much of a script is held at once.
const maxStatement = 1 << 20

// A Script cuts a text that arrives line by line into statements and dot commands. A dot command is a line that begins
// with a point; it is for the program that reads the script.
type Script struct {
	in      *bufio.Reader
	pending []byte // read and not handed out
	whole   bool   // pending ends with a line, or with the input
	start   Pos    // of pending
}

// A Step is one statement, with its semicolon if it has one, or one dot command.
type Step struct {
	Text string
	Pos  Pos
	Dot  bool
}

// Parse parses the statement of a step. Errors point into the text of the script.
func (s Step) Parse() (Statement, error) {
	parsed, err := parse(s.Text, s.Pos)
	return Statement{parsed}, err
}

// NewScript returns a Script of the text that a reader brings.
func NewScript(in io.Reader) *Script {
	return &Script{in: bufio.NewReader(in), start: startOfText}
}

// Next returns the next step, and io.EOF behind the last. A statement of more than 1 MiB is a *ParseError, and nothing
// behind it can be read.
func (s *Script) Next() (Step, error) {
	var cut cutter
	for {
		if end, dot := cut.find(s.pending, s.whole); end >= 0 {
			return s.hand(end, dot), nil
		}
		if cut.blank() && cut.inside == 0 {
			s.drop(cut.read)
			cut.read = 0
		}
		if len(s.pending) > maxStatement {
			begin := s.start // of a comment, where nothing else has begun
			if !cut.blank() {
				begin = s.hand(len(s.pending), false).Pos
			}
			return Step{}, &ParseError{
				Pos: begin,
				Msg: fmt.Sprintf("got a statement of more than %d MiB, want a semicolon before that", maxStatement>>20),
			}
		}
		piece, err := s.in.ReadSlice('\n')
		s.whole = !errors.Is(err, bufio.ErrBufferFull)
		if !s.whole {
			err = nil
		}
		if s.start.Offset == 0 && len(s.pending) == 0 {
			piece = bytes.TrimPrefix(piece, []byte("\ufeff"))
		}
		s.pending = append(s.pending, piece...)
		if errors.Is(err, io.EOF) {
			end, dot := cut.find(s.pending, true)
			if end < 0 && cut.blank() {
				return Step{}, io.EOF
			}
			if end < 0 {
				end = len(s.pending)
			}
			return s.hand(end, dot), nil
		}
		if err != nil {
			return Step{}, err
		}
	}
}

// hand gives out the first bytes of what is pending, without the blanks before them.
func (s *Script) hand(end int, dot bool) Step {
	text := string(s.pending[:end])
	scan := newScanner(text, s.start)
	scan.skipBlank()
	step := Step{Text: scan.rest(), Pos: scan.pos, Dot: dot}
	s.drop(end)
	return step
}

// drop forgets the first bytes of what is pending.
func (s *Script) drop(end int) {
	s.start = s.start.after(string(s.pending[:end]))
	s.pending = s.pending[end:]
}

// A cutter looks for the end of a statement in a text that grows at its end. It knows as much of the
// language as that takes: quotes, comments and semicolons.
type cutter struct {
	read   int  // bytes looked at
	inside rune // the quote that is open, - in a comment, . in a dot command, or 0
	begun  bool // something other than blanks and comments was seen
	last   rune
}

// blank reports whether there was nothing but blanks and comments.
func (c *cutter) blank() bool { return !c.begun }

// find returns the offset just after the first statement or dot command, -1 if it does not end yet. Where the text is
// not whole, its last bytes may be a part of a rune or of the mark of a comment: they are looked at with those that
// follow.
func (c *cutter) find(text []byte, whole bool) (end int, dot bool) {
	for c.read < len(text) && (whole || len(text)-c.read >= utf8.UTFMax) {
		at := c.read
		r, size := utf8.DecodeRune(text[at:])
		c.read += size
		apart := at == 0 || c.last == ';' || unicode.IsSpace(c.last)
		c.last = r
		switch {
		case c.inside == '.':
			if r == '\n' {
				return at + 1, true
			}
		case c.inside == '-':
			if r == '\n' {
				c.inside = 0
			}
		case c.inside != 0:
			if r == c.inside {
				c.inside = 0
			}
		case r == '.' && !c.begun:
			c.inside, c.begun = '.', true
		case r == '-' && apart && bytes.HasPrefix(text[at:], []byte("--")) && !beginsFlag(text[at:]):
			c.inside = '-'
		case r == ';':
			return at + 1, false
		case r == '\'' || r == '"':
			c.inside, c.begun = r, true
		case !unicode.IsSpace(r):
			c.begun = true
		}
	}
	return -1, c.inside == '.'
}
