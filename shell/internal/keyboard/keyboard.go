// Package keyboard asks a person at a terminal: for a key, or for a line. It takes no key that was pasted or
// typed before its question was there to be read. It knows nothing of the questions.
package keyboard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// ErrInterrupted is Ctrl-C, typed where it is a key as any other.
var ErrInterrupted = fmt.Errorf("Ctrl-C: %w", context.Canceled)

// Keys that print nothing, as terminals send them.
const (
	keyInterrupt = 0x03 // Ctrl-C
	keyEnd       = 0x04 // Ctrl-D
	keyEnter     = '\r'
	keyClear     = 0x15 // Ctrl-U
	keyEscape    = 0x1b
	keyBackspace = 0x7f
	keyErase     = 0x08 // Ctrl-H
	keyNone      = -1   // a sequence of a key that means nothing here, such as an arrow
)

// A Keyboard takes answers from the keys of a terminal. The terminal is raw only while a key is waited for.
type Keyboard struct {
	out     io.Writer // of the terminal
	input   []byte    // not used yet
	makeRaw func() (restore func() error, err error)

	// chunk waits for keys and returns them. It returns none if none came for a while. A while of zero has no end.
	chunk func(while time.Duration) ([]byte, error)
}

// pasteQuiet is how long nothing must come for a paste to be over. The parts of one come much faster, and nobody reads
// a remark and presses a key in that time.
const pasteQuiet = 50 * time.Millisecond

// New returns the keyboard of the terminal in, which echoes to out. The end of ctx ends its waits.
func New(ctx context.Context, in *os.File, out io.Writer) *Keyboard {
	makeRaw := func() (func() error, error) {
		state, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return nil, err
		}
		return func() error { return term.Restore(int(in.Fd()), state) }, nil
	}
	chunk := func(while time.Duration) ([]byte, error) { return chunkOf(ctx, in, while) }
	return &Keyboard{out: out, makeRaw: makeRaw, chunk: chunk}
}

// chunkOf reads typed text; see Keyboard.chunk.
func chunkOf(ctx context.Context, in io.Reader, while time.Duration) ([]byte, error) {
	soon := ctx
	if while > 0 {
		var cancel context.CancelFunc
		soon, cancel = context.WithTimeout(ctx, while)
		defer cancel()
	}
	buffer := make([]byte, 256)
	n, err := stream.NewReader(soon, in).Read(buffer)
	if n > 0 || ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = nil // that of a read comes again
	}
	return buffer[:n], err
}

// whileRaw runs fn while the terminal hands on every key.
func (k *Keyboard) whileRaw(fn func() error) (err error) {
	restore, err := k.makeRaw()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	return fn()
}

// key waits for a key; the terminal is raw.
func (k *Keyboard) key() (rune, error) {
	for !utf8.FullRune(k.input) {
		chunk, err := k.chunk(0)
		if err != nil {
			return 0, err
		}
		k.input = append(k.input, chunk...)
	}
	if size := escapeSequence(k.input); size > 1 {
		k.input = k.input[size:]
		return keyNone, nil
	}
	key, size := utf8.DecodeRune(k.input)
	if k.input = k.input[size:]; key == keyInterrupt {
		return 0, ErrInterrupted
	}
	return key, nil
}

// escapeSequence is how many bytes at the beginning of typed are the sequence of one key, such as ESC [ A of an arrow.
// Other keys may follow it. An ESC alone takes one byte. Without an ESC there is no sequence, of zero bytes.
func escapeSequence(typed []byte) int {
	switch {
	case len(typed) == 0 || typed[0] != keyEscape:
		return 0
	case len(typed) == 1:
		return 1
	case typed[1] == 'O': // and a letter
		return min(3, len(typed))
	case typed[1] != '[': // a key with Alt
		_, size := utf8.DecodeRune(typed[1:])
		return 1 + size
	}
	for i, c := range typed[2:] {
		if c >= '@' && c <= '~' {
			return i + 3
		}
	}
	return len(typed)
}

// prompt writes a question that a key answers. The terminal is raw, so that no later key is echoed or taken as a part
// of a line. Keys that were typed before the question are no answer to it: prompt drops them.
func (k *Keyboard) prompt(text string) error {
	if err := k.dropTyped(); err != nil {
		return err
	}
	_, err := fmt.Fprint(k.out, strings.ReplaceAll(text, "\n", "\r\n"))
	return err
}

// Choose asks for one of some keys, which are small letters and signs, and shows the one that was pressed. It returns
// io.EOF for Ctrl-D.
func (k *Keyboard) Choose(prompt, keys string) (answer rune, err error) {
	err = k.whileRaw(func() error {
		if err := k.prompt(prompt); err != nil {
			return err
		}
		for {
			key, err := k.key()
			if err != nil {
				return err
			}
			if key == keyEnd {
				return io.EOF
			}
			answer = unicode.ToLower(key)
			switch {
			case strings.ContainsRune(keys, answer) && len(k.input) == 0:
				_, err := fmt.Fprint(k.out, string(answer), "\r\n")
				return err
			case len(k.input) > 0 || key == keyEscape:
				if err := k.refuse(prompt); err != nil {
					return err
				}
			default: // a bell: no choice has this key
				if _, err := fmt.Fprint(k.out, "\a"); err != nil {
					return err
				}
			}
		}
	})
	if err != nil {
		_, _ = fmt.Fprintln(k.out) // the message of the end stands in a line of its own
	}
	return answer, err
}

// refuse drops a text that came where a key was waited for, up to its end, and asks again: keys come one at a time, and
// several at once were pasted, or typed for something else. An Escape alone may be the first part of the sequence of a
// key.
func (k *Keyboard) refuse(prompt string) error {
	several := len(k.input) > 0
	if err := k.dropTyped(); err != nil {
		return err
	}
	remark := "\a"
	if several {
		remark = "\a\r\nseveral keys at once are no reply: nothing is done\r\n" + prompt
	}
	_, err := fmt.Fprint(k.out, remark)
	return err
}

// dropTyped drops typed keys, until no key comes for a while. Ctrl-C among it counts.
func (k *Keyboard) dropTyped() error {
	for {
		if bytes.IndexByte(k.input, keyInterrupt) >= 0 {
			return ErrInterrupted
		}
		chunk, err := k.chunk(pasteQuiet)
		if k.input = chunk; err != nil || len(chunk) == 0 {
			return err
		}
	}
}

// Word reads a line. It is empty after Escape or Ctrl-D.
func (k *Keyboard) Word(prompt string) (text string, err error) {
	err = k.whileRaw(func() error {
		defer func() { _, _ = fmt.Fprint(k.out, "\r\n") }()
		var line []rune
		for {
			// Back to the margin, and clear the line.
			if _, err := fmt.Fprint(k.out, "\r\x1b[K", prompt, print.EscapeControls(string(line))); err != nil {
				return err
			}
			key, err := k.key()
			if err != nil {
				return err
			}
			switch key {
			case keyEnter, '\n':
				text = strings.TrimSpace(string(line))
				return nil
			case keyEscape, keyEnd:
				return nil
			case keyClear:
				line = nil
			case keyBackspace, keyErase:
				line = line[:max(0, len(line)-1)]
			default:
				if unicode.IsPrint(key) {
					line = append(line, key)
				}
			}
		}
	})
	return text, err
}
