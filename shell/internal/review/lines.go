package review

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// replyLines are replies of a line each: a key or its word, and what belongs to it.
type replyLines struct {
	read   func() (string, error) // the next line
	number int
	prompt io.Writer // nil if nobody is asked
}

// longestReply bounds a line, in bytes.
const longestReply = 64 << 10

// newReplyLines reads lines; asked says that a person is to be prompted for them.
func newReplyLines(in io.Reader, errOut io.Writer, asked bool) *replyLines {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestReply)
	a := &replyLines{read: func() (string, error) {
		if lines.Scan() {
			return lines.Text(), nil
		}
		if err := lines.Err(); err != nil {
			return "", err
		}
		return "", io.EOF
	}}
	if asked {
		a.prompt = errOut
	}
	return a
}

func (a *replyLines) forgiving() bool { return a.prompt != nil }

// line reads the next line.
func (a *replyLines) line(prompt string) (string, error) {
	if a.prompt != nil {
		if _, err := fmt.Fprint(a.prompt, prompt); err != nil {
			return "", err
		}
	}
	line, err := a.read()
	if errors.Is(err, bufio.ErrTooLong) {
		a.number++
		return "", a.errorf("got more than %d KiB, want one of: %s", longestReply>>10, Keys())
	}
	if err != nil {
		return "", err
	}
	a.number++
	return strings.TrimSpace(line), nil
}

func (a *replyLines) next(prompt string) (reply, error) {
	for {
		line, err := a.line(prompt)
		if err != nil {
			return reply{}, err
		}
		if line == "" {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		for _, k := range keys {
			if !strings.EqualFold(word, string(k.Key)) && !strings.EqualFold(word, k.Word) {
				continue
			}
			rest = strings.TrimSpace(rest)
			if k.Text || rest == "" {
				return reply{key: k.Key, text: rest}, nil
			}
		}
		err = a.errorf("got %q, want one of: %s", wording.Short(line), Keys())
		if !a.forgiving() {
			return reply{}, err
		}
		if _, err := fmt.Fprintln(a.prompt, err); err != nil {
			return reply{}, err
		}
	}
}

func (a *replyLines) word(prompt string, _ []string) (string, error) {
	if !a.forgiving() {
		return "", a.errorf("want a label, an id or a reason behind its key")
	}
	return a.line(prompt)
}

func (a *replyLines) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", a.number, fmt.Sprintf(format, args...))
}
