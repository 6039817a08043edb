package shell

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A script cuts text that arrives line by line into statements and dot commands.
type script struct {
	in      *bufio.Reader
	pending []byte // read and not handed out
	start   Pos    // of pending
}

// A step is one statement, with its semicolon where it has one, or one dot command.
type step struct {
	text string
	pos  Pos
	dot  bool
}

func newScript(in io.Reader) *script {
	return &script{in: bufio.NewReader(in), start: startOfText}
}

// next returns the next step, io.EOF after the last.
func (s *script) next() (step, error) {
	var cut cutter
	for {
		if end, dot := cut.find(s.pending); end >= 0 {
			return s.hand(end, dot), nil
		}
		line, err := s.in.ReadBytes('\n')
		if s.start.Offset == 0 && len(s.pending) == 0 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		s.pending = append(s.pending, line...)
		if errors.Is(err, io.EOF) {
			end, dot := cut.find(s.pending)
			if end < 0 && cut.blank() {
				return step{}, io.EOF
			}
			if end < 0 {
				end = len(s.pending)
			}
			return s.hand(end, dot), nil
		}
		if err != nil {
			return step{}, err
		}
	}
}

// hand gives out the first bytes of what is pending, without the blanks before them.
func (s *script) hand(end int, dot bool) step {
	text := string(s.pending[:end])
	skipped := newScanner(text, s.start)
	skipped.skipBlank()
	given := step{text: skipped.rest(), pos: skipped.pos, dot: dot}
	s.start = s.start.after(text)
	s.pending = s.pending[end:]
	return given
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

// find returns the offset just after the first statement or dot command, -1 where it does not end yet.
func (c *cutter) find(text []byte) (end int, dot bool) {
	for c.read < len(text) {
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
		case r == '-' && apart && bytes.HasPrefix(text[at:], []byte("--")):
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

// writes reports whether a text has a statement that changes the store, or may read one from a file.
func writes(text string) bool {
	for source := newScript(strings.NewReader(text)); ; {
		next, err := source.next()
		if err != nil {
			return false // the end: a string has no other error
		}
		if next.dot && strings.HasPrefix(next.text, ".read") {
			return true
		}
		if parsed, err := parse(next.text, next.pos); err == nil {
			switch parsed.(type) {
			case *cleanStatement, *decideStatement, *undoStatement, *indexStatement:
				return true
			}
		}
	}
}
