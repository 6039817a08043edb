package shell

import (
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/graphcleaner/graphcleaner/kv"
)

// readStage begins the name of a stage that counts bytes of a file.
const readStage = "read "

// A progress shows how far the stage of a long command is, with its rate and the time left, where standard error is a
// terminal. Its zero value, and nil, show nothing.
type progress struct {
	out io.Writer // the terminal; nil where there is none

	mu    sync.Mutex
	stage string
	total int64
	bar   *progressbar.ProgressBar
}

func newProgress(errOut io.Writer) *progress {
	file, ok := errOut.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return &progress{}
	}
	return &progress{out: file}
}

// report is what commands hand down, nil where nothing is shown.
func (p *progress) report() kv.Progress {
	if p == nil || p.out == nil {
		return nil
	}
	return p.show
}

func (p *progress) show(stage string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if total <= 0 {
		total = -1 // a spinner
	}
	if p.bar == nil || p.stage != stage || p.total != total {
		p.erase()
		p.stage, p.total = stage, total
		p.bar = progressbar.NewOptions64(total, p.options()...)
	}
	p.draw(p.bar.Set64(done))
}

// options are those of the bar of the stage. A stage of unknown length has only its time to show.
func (p *progress) options() []progressbar.Option {
	options := []progressbar.Option{
		progressbar.OptionSetWriter(p.out),
		progressbar.OptionSetDescription(p.stage),
		progressbar.OptionSetWidth(24),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionUseANSICodes(true),
	}
	switch {
	case p.total < 0:
		return options
	case strings.HasPrefix(p.stage, readStage):
		return append(options, progressbar.OptionShowCount(), progressbar.OptionShowBytes(true))
	}
	return append(options, progressbar.OptionShowCount(), progressbar.OptionShowIts())
}

// clear takes the bar off the terminal, so that a line can be printed there.
func (p *progress) clear() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

func (p *progress) erase() {
	if p.bar != nil {
		p.draw(p.bar.Clear())
		p.bar = nil
	}
}

// draw gives up the bar where it cannot be drawn: it is for show, and the command goes on without it.
func (p *progress) draw(err error) {
	if err != nil {
		p.bar, p.out = nil, nil
	}
}
