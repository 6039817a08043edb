package shell

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// longestAnswer bounds the line that answers a question, in bytes.
const longestAnswer = 4 << 10

// agree asks a question that y or yes affirms, unless a flag has said yes. Any other answer is the error refused.
func (s *streams) agree(ctx context.Context, yes bool, question string, refusal error) error {
	if yes {
		return nil
	}
	yes, err := s.confirm(ctx, question)
	if err == nil && !yes {
		err = refusal
	}
	return err
}

// confirm asks a question that y or yes affirms.
func (s *streams) confirm(ctx context.Context, question string) (yes bool, err error) {
	if s.asked != nil {
		return s.asked.confirm(ctx, question)
	}
	s.progress.clear()
	form := "%s [y/N] "
	if s.log != nil && !print.IsTerminal(s.err) {
		form += "\n"
	}
	if _, err := fmt.Fprintf(s.dialogue(), form, print.EscapeLines(question)); err != nil {
		return false, err
	}
	in := io.LimitReader(stream.NewReader(ctx, s.in), longestAnswer)
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && line == "" || ctx.Err() != nil {
		s.tell(slog.LevelInfo, "")
	}
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes", ctx.Err()
}
