package shell

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/holder"
	"github.com/graphcleaner/graphcleaner/shell/internal/web"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// serveCommand holds a store and answers other commands.
type serveCommand struct {
	DB       string `arg:"" name:"DB" help:"Directory of the store."`
	ReadOnly bool   `help:"Refuse commands and statements that write."`
	pageFlags
	resources
}

func (*serveCommand) Help() string {
	return `serve holds the store and does the work of the commands that others give on it, until Ctrl-C or SIGTERM ` +
		`ends it. Then running commands end with a message.

Other commands need no flag: a command that finds the store held asks the holder. So do review and the prompt, for ` +
		`each step. Only processes of the same user on the same machine are answered.

serve prints the address of a page on which a person of this machine reviews suspects: see review --web. The ` +
		`address has a token.

While a command has a store open for writing, it also does the work of other commands. Use serve if many people and ` +
		`jobs use a store all day: the store stays open, its caches stay warm, and nobody's command has to wait for the ` +
		`commands of others.

    graphcleaner serve my.graph
    graphcleaner serve my.graph --read-only
    graphcleaner shell my.graph -c stats`
}

func (c *serveCommand) Run(ctx context.Context, s *streams) (err error) {
	var store *kv.Store
	err = c.untilFree(ctx, s, func(time.Duration) (err error) {
		store, err = c.open(c.DB, toWrite)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	h := host{store: store, readOnly: c.ReadOnly}
	server, err := holder.Listen(ctx, c.DB, h.work)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	page, err := c.serve(ctx, store, web.Options{
		Name: c.DB, ReadOnly: c.ReadOnly, Query: query.Options{Who: query.UserName(), Workers: c.Threads,
			MemoryBudget: c.work()},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, page.Close()) }()
	s.say("%s is open. Other commands on it are answered by this process, %d. Ctrl-C ends it.", c.DB, os.Getpid())
	s.tell(slog.LevelInfo, "The page for reviews is "+page.Address(), "address", page.Address())
	<-ctx.Done()
	return nil
}

// Serve lets a program answer graphcleaner commands on a store that it has open. The commands run in other processes of
// the same user. Serve returns at once. The end of ctx ends the commands that run. Stop ends the answers: it takes no
// more commands, and waits for those that run. Call stop before the store is closed. Open the store with index.Open.
//
// The flag --memory of a command bounds the memory of its work in this process.
func Serve(ctx context.Context, store *kv.Store) (stop func() error, err error) {
	if store.ReadOnly() {
		return nil, fmt.Errorf("%s: %w: other processes can open it themselves", store.Dir(), kv.ErrReadOnly)
	}
	tx := store.Begin()
	defer tx.Close()
	if err := tx.Err(); errors.Is(err, kv.ErrClosed) {
		return nil, err
	}
	h := host{store: store, foreign: true}
	server, err := holder.Listen(ctx, store.Dir(), h.work)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot answer other processes: %w", store.Dir(), err)
	}
	return server.Close, nil
}

// pageFlags are those of commands that serve the page.
type pageFlags struct {
	Addr pageAddress `default:"${address}" placeholder:"ADDRESS" help:"Address of the page, on this machine. Port 0 is any free port. Default: ${address}."`
}

// anyPort is the default address of the page.
const anyPort = "127.0.0.1:0"

// A pageAddress is a host and a port.
type pageAddress string

// Validate refuses an address that the page cannot have.
func (a pageAddress) Validate() error { return web.CheckAddress(string(a)) }

// serve serves the page of a store.
func (f *pageFlags) serve(ctx context.Context, store *kv.Store, opt web.Options) (*web.Server, error) {
	opt.Store = store
	page, err := web.Serve(ctx, string(f.Addr), opt)
	if err != nil {
		return nil, fmt.Errorf("--addr: %w", err)
	}
	return page, nil
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
	text := fmt.Sprintf(`<!DOCTYPE html><meta http-equiv="refresh" content="0;url=%[1]s">`+
		`<a href="%[1]s">The review page</a>`+"\n", address)
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
