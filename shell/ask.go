package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/shell/print"
)

// checkWho refuses a name that no decision can have.
func checkWho(name string) error {
	if strings.ContainsFunc(name, decide.IsControl) {
		return usagef("--who %q has control characters, want none but tab and newline", name)
	}
	return nil
}

// askTerminal asks a question that the key y affirms and any other denies.
func askTerminal(ctx context.Context, in *os.File, out io.Writer, question string) (yes bool, err error) {
	keys := newKeyboard(ctx, in, out)
	err = keys.whileRaw(func() error {
		if err := keys.prompt(print.EscapeControls(question) + " [y/N] "); err != nil {
			return err
		}
		key, err := keys.key()
		yes = err == nil && (key == 'y' || key == 'Y')
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return nil // Ctrl-C, as a key, and the end of the input are a no
	})
	answer := "no"
	if yes {
		answer = "yes"
	}
	_, failed := fmt.Fprintln(out, answer)
	return yes, errors.Join(err, failed)
}
