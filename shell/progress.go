package shell

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/print"
)

// What the names of stages that go through a file begin with.
const (
	readStage = "read "    // counts bytes
	rowsStage = "rows of " // counts nodes
)

// Stages that count bytes of records.
const (
	backupStage  = "backup"
	restoreStage = "restore"
)

// countedUnits says what stages count, those that go through enough of it for a rate to say something.
var countedUnits = map[string]string{
	"ids": "nodes", "columns": "nodes", "degrees": "nodes",
	"edges": "edges", "diagonal": "edges", "propagate": "edges",
}

// A progress shows how far the stage of a long command is, with its rate and the time left, if standard error is a
// terminal, or logs it. Its zero value, and nil, show nothing.
type progress struct {
	out  io.Writer    // the terminal; nil if there is none
	sent kv.Progress  // sends progress to the process that shows it; nil if none does
	log  *slog.Logger // has a message for progress now and then; nil: there is none

	mu    sync.Mutex
	stage string
	total int64
	began time.Time // of the stage; of a log: when its last message was
	bar   *progressbar.ProgressBar
}

func newProgress(errOut io.Writer) *progress {
	file, ok := errOut.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return &progress{}
	}
	return &progress{out: file}
}

// report is what commands hand down, nil if nothing is shown.
func (p *progress) report() kv.Progress {
	switch {
	case p == nil:
		return nil
	case p.sent != nil:
		return p.sent
	case p.log != nil:
		return p.write
	case p.out == nil:
		return nil
	}
	return p.show
}

// logEvery is the time between two messages for the progress of a stage.
const logEvery = time.Second

// write logs the beginning and the end of a stage, and its progress every second.
func (p *progress) write(stage string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if stage == p.stage && total == p.total && (done < total || total <= 0) && now.Sub(p.began) < logEvery {
		return
	}
	p.stage, p.total, p.began = stage, total, now
	attributes := []any{"stage", stage, "done", done}
	if total > 0 {
		attributes = append(attributes, "total", total)
	}
	p.log.Info("progress", attributes...)
}

func (p *progress) show(stage string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if total <= 0 {
		total = -1 // a spinner
	}
	if p.bar == nil || p.stage != stage || p.total != total {
		p.erase()
		p.stage, p.total, p.began = stage, total, time.Now()
		p.bar = progressbar.NewOptions64(total, p.options()...)
	}
	took := time.Since(p.began)
	if took > settled {
		progressbar.OptionSetPredictTime(true)(p.bar)
	}
	text := print.EscapeControls(stageText(stage, done, total, took))
	progressbar.OptionSetDescription(text)(p.bar)
	p.draw(p.bar.Set64(done)) // which draws where the percentage is another
	if p.bar != nil {
		p.bar.Describe(text)
	}
}

// settled is how long a stage runs before its rate tells anything of what is to come.
const settled = time.Second

// options are those of the bar of the stage. What it says stands behind the bar, which so stays in its place.
func (p *progress) options() []progressbar.Option {
	return []progressbar.Option{
		progressbar.OptionSetWriter(p.out),
		progressbar.OptionSetDescription(print.EscapeControls(p.stage)),
		progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSetWidth(24),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionSetPredictTime(false), // until it has settled
		progressbar.OptionClearOnFinish(),
		progressbar.OptionUseANSICodes(true),
	}
}

// stageText says how far a stage is, such as "propagate: 12.3 M of 31.4 M edges, 45 M/s". A stage of unknown length has
// only its name, and one that counts a few large things, such as detectors, no rate.
func stageText(stage string, done, total int64, took time.Duration) string {
	count, unit := shortCount, countedUnits[stage]
	switch {
	case total <= 0:
		return stage
	case strings.HasPrefix(stage, readStage), stage == backupStage, stage == restoreStage:
		count = func(x float64) string { return byteSize(x).String() }
	case strings.HasPrefix(stage, rowsStage):
		unit = "nodes"
	case unit == "":
		return fmt.Sprintf("%s: %d of %d", stage, done, total)
	}
	text := stage + ": " + strings.TrimSuffix(count(float64(done))+" of "+count(float64(total))+" "+unit, " ")
	if took > settled {
		text += ", " + count(float64(done)/took.Seconds()) + "/s"
	}
	return text
}

// shortCount is a count of three digits, in thousands or millions if it has more.
func shortCount(x float64) string {
	unit := ""
	for _, larger := range []string{" k", " M", " G", " T"} {
		if x < 999.5 {
			break
		}
		x, unit = x/1000, larger
	}
	return strconv.FormatFloat(x, 'g', 3, 64) + unit
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
		p.draw(p.bar.Finish()) // a bar of unknown length turns until then
		p.bar = nil
	}
}

// draw gives up the bar if it cannot be drawn: it is for show, and the command goes on without it.
func (p *progress) draw(err error) {
	if err != nil {
		p.bar, p.out = nil, nil
	}
}
