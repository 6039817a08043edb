package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/web"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// pageFlags are those of commands that serve the page.
type pageFlags struct {
	Addr  string `default:"${address}" placeholder:"ADDRESS" help:"Address of the page, on this machine. Port 0 is any free port. Default: ${address}."`
	Title string `placeholder:"PROPERTY" help:"The page calls a node by this property. Default: title or name, if there is one, else the id."`
	Text  string `placeholder:"PROPERTY" help:"The page shows this text of a node. Default: abstract, text or description, if there is one."`
	Link  string `placeholder:"PROPERTY" help:"The page shows this link of a node, as text. Default: link or url, if there is one."`
}

// anyPort is the default address of the page.
const anyPort = "127.0.0.1:0"

// checkAddress refuses an address that the page cannot have.
func (f *pageFlags) checkAddress() error {
	if err := web.CheckAddress(f.Addr); err != nil {
		return usagef("--addr: %v", err)
	}
	return nil
}

// serve serves the page of a store.
func (f *pageFlags) serve(ctx context.Context, store *kv.Store, opt web.Options) (page *web.Server, err error) {
	err = store.View(func(tx *kv.Tx) error {
		opt.Columns = survey.Guess(tx)
		for _, flag := range []struct {
			name, given string
			into        *string
		}{{"title", f.Title, &opt.Columns.Title}, {"text", f.Text, &opt.Columns.Text}, {"link", f.Link, &opt.Columns.Link}} {
			if flag.given == "" {
				continue
			}
			if _, ok := tx.Column(flag.given); !ok {
				return fmt.Errorf("--%s: the store has no property %q%s", flag.name, flag.given, wording.DidYouMean(flag.given, query.UserColumns(tx)))
			}
			*flag.into = flag.given
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	opt.Store = store
	listener, err := web.Listen(ctx, f.Addr)
	if err != nil {
		return nil, fmt.Errorf("--addr: %w", err)
	}
	page, err = web.Serve(ctx, listener, opt)
	if err != nil {
		err = errors.Join(err, listener.Close())
	}
	return page, err
}

// openBrowser opens the page in the browser of the desktop, if there is one. Everybody on the machine can see the
// arguments of a browser, so it gets a file that only this user can read, which leads to the address. Clear removes the
// file.
func openBrowser(address string) (clear func() error, err error) {
	dir, err := os.MkdirTemp("", "graphcleaner-review-")
	if err != nil {
		return nil, err
	}
	clear = func() error { return os.RemoveAll(dir) }
	file := filepath.Join(dir, "review.html")
	text := fmt.Sprintf(`<!DOCTYPE html><meta http-equiv="refresh" content="0;url=%[1]s"><a href="%[1]s">The review page</a>`+"\n", address)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, clear())
	}
	var command *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		command = exec.Command("open", file)
	case "windows":
		command = exec.Command("rundll32", "url.dll,FileProtocolHandler", file)
	default:
		command = exec.Command("xdg-open", file)
	}
	if command.Start() == nil {
		go command.Wait() //nolint:errcheck // nobody waits for a browser
	}
	return clear, nil
}
