package keyboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/graphcleaner/graphcleaner/shell/print"
)

// Ask asks a question that the key y affirms and any other denies.
func Ask(ctx context.Context, in *os.File, out io.Writer, question string) (yes bool, err error) {
	keys := New(ctx, in, out)
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
