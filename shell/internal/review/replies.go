package review

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/internal/keyboard"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// keys are what a reviewer can say; lines may have the words.
var keys = []keyboard.Choice{
	{Key: 'y', Word: "accept", Help: "take the suggested label"},
	{Key: 'n', Word: "reject", Help: "the label now is right"},
	{Key: 'l', Word: "relabel", Help: "another label", Text: true},
	{Key: 'u', Word: "unlabel", Help: "remove the label"},
	{Key: 'd', Word: "unsure", Help: "do not know"},
	{Key: 's', Word: "skip", Help: "skip"},
	{Key: 'g', Word: "go", Help: "go to the node with an id", Text: true},
	{Key: 'z', Word: "undo", Help: "take back the last reply"},
	{Key: 'w', Word: "why", Help: "reason of the next decision", Text: true},
	{Key: 'e', Word: "explain", Help: "all the evidence"},
	{Key: '?', Word: "help", Help: "the keys"},
	{Key: 'q', Word: "quit", Help: "leave"},
}

// Keys lists the keys of a review.
func Keys() string {
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = fmt.Sprintf("%c %s", k.Key, k.Help)
	}
	return strings.Join(parts, ", ")
}

// A reply is what a reviewer says about a suspect.
type reply struct {
	key  rune   // of keys
	text string // that came with it: a label, an id or a reason
}

// replies are what the reviewer says.
type replies interface {
	// next waits for a reply, and returns io.EOF after the last. Prompt is for a person.
	next(prompt string) (reply, error)

	// word waits for a label, an id or a reason that did not come with its key. Choices, if any, complete it. It returns "" if the
	// reviewer gives none.
	word(prompt string, choices []string) (string, error)

	// forgiving reports whether a person reads remarks and can reply again.
	forgiving() bool
}

// A replyError is what is wrong with a reply.
type replyError struct{ msg string }

func (e *replyError) Error() string { return e.msg }

func replyErrorf(format string, args ...any) error { return &replyError{fmt.Sprintf(format, args...)} }

// newReplies reads keys from a terminal, and lines from everything else.
func newReplies(ctx context.Context, opt Options) replies {
	in, ok := opt.In.(*os.File)
	if ok && print.IsTerminal(in) && print.IsTerminal(opt.Out) && os.Getenv("TERM") != "dumb" {
		return replyKeys{keyboard.New(ctx, in, opt.Err)}
	}
	return newReplyLines(stream.NewReader(ctx, opt.In), opt.Err, ok && print.IsTerminal(in))
}

// replyKeys are replies of a key each.
type replyKeys struct{ *keyboard.Keyboard }

func (replyKeys) forgiving() bool { return true }

func (k replyKeys) next(prompt string) (reply, error) {
	key, err := k.Choose(prompt, keys)
	return reply{key: key}, err
}

func (k replyKeys) word(prompt string, choices []string) (string, error) {
	return k.Word(prompt, choices)
}
