package review

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/internal/keyboard"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
)

// keys are what a reviewer can say.
var keys = []keyboard.Choice{
	{Key: 'y', Word: "accept", Help: "take the suggested label"},
	{Key: 'n', Word: "reject", Help: "the label now is right"},
	{Key: 'l', Word: "relabel", Help: "another label"},
	{Key: 'u', Word: "unlabel", Help: "remove the label"},
	{Key: 'd', Word: "unsure", Help: "do not know"},
	{Key: 's', Word: "skip", Help: "skip"},
	{Key: 'z', Word: "undo", Help: "take back the last reply"},
	{Key: 'w', Word: "why", Help: "reason of the next decision"},
	{Key: 'e', Word: "explain", Help: "all the evidence"},
	{Key: '?', Word: "help", Help: "the keys"},
	{Key: 'q', Word: "quit", Help: "leave"},
}

// blindKeys are those of an audit: a number takes one of the labels that the prompt offers.
var blindKeys = func() (blind []keyboard.Choice) {
	for i := range survey.BlindOptions {
		blind = append(blind, keyboard.Choice{Key: '1' + rune(i), Word: strconv.Itoa(i + 1), Help: "this label is right"})
	}
	return append(blind, slices.DeleteFunc(slices.Clone(keys), func(k keyboard.Choice) bool { return strings.ContainsRune("ynue", k.Key) })...)
}()

func (r *review) keys() []keyboard.Choice {
	if r.Find.Audit != nil {
		return blindKeys
	}
	return keys
}

// Keys lists the keys of a review.
func Keys() string { return list(keys) }

// AuditKeys lists the keys of an audit.
func AuditKeys() string { return "1 to " + list(blindKeys[survey.BlindOptions-1:]) }

func list(keys []keyboard.Choice) string {
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = fmt.Sprintf("%c %s", k.Key, k.Help)
	}
	return strings.Join(parts, ", ")
}

// Replies are what the reviewer says: a *keyboard.Keyboard.
type Replies interface {
	Choose(prompt string, choices []keyboard.Choice) (rune, error)
	Word(prompt string) (string, error)
}

// These say how to decide without keys.
var (
	errNoTerminal = errors.New("review takes keys, and there is no terminal for them: " +
		"decide with statements, such as accept 'p1', in shell -c or shell -f, or use review --web")
	errNoTerminalForAudit = errors.New("audit takes keys, and there is no terminal for them: " +
		"write the draws with --draws, and decide with statements, such as reject 'p1', with import --decisions, or use review --web")
)

// A replyError is what is wrong with a reply.
type replyError struct{ msg string }

func (e *replyError) Error() string { return e.msg }

func replyErrorf(format string, args ...any) error { return &replyError{fmt.Sprintf(format, args...)} }
