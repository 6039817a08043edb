package shell

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/print"
)

// A progress shows how far the stage of a long command is, with its rate and the time left, if standard error is a
// terminal, or logs it. Its zero value shows nothing.
type progress struct {
	report kv.Progress // is handed down; nil: nothing is shown
	out    io.Writer   // the terminal; nil if there is none

	mu    sync.Mutex
	stage string
	total int64
	began time.Time // when the last message of a log was
	bar   *progressbar.ProgressBar
}

// logEvery is the time between two messages for the progress of a stage.
const logEvery = time.Second

// write logs the beginning and the end of a stage, and its progress every second.
func (p *progress) write(log *slog.Logger, stage string, done, total int64) {
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
	log.Info("progress", attributes...)
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
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(p.out),
			progressbar.OptionSetDescription(print.EscapeControls(stage)),
			progressbar.OptionSetWidth(24),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionShowBytes(countsBytes(stage)),
			progressbar.OptionSetItsString(""),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionUseANSICodes(true),
		)
	}
	p.draw(p.bar.Set64(done))
}

// countsBytes says whether a stage counts bytes, of a file or of records.
func countsBytes(stage string) bool {
	return strings.HasPrefix(stage, "read ") || stage == "backup" || stage == "restore"
}

// clear takes the bar off the terminal, so that a line can be printed there.
func (p *progress) clear() {
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
		p.bar, p.out = nil, io.Discard
	}
}

// stageFile is the flag of commands that read or write all of a graph.
type stageFile struct {
	Stats stageFileName `file:"write" placeholder:"FILE" help:"Write a json file with the seconds of each stage and the peak memory."`
}

type stageFileName string

// AfterApply has the stages of the command written to the file.
func (f stageFileName) AfterApply(s *streams) error {
	s.stages.file = string(f)
	return nil
}

// A stageLog collects the finished stages of a command for --stats. Beside those of the work there are start, until the
// command line is read; open and close, of the store; end, of the time after all others.
type stageLog struct {
	file   string // "": none is wanted
	mu     sync.Mutex
	began  time.Time
	stages []ops.Stage
}

func (l *stageLog) add(stage ops.Stage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stages = append(l.stages, stage)
}

// end adds a stage that ends now, of all the time that is in no stage before it.
func (l *stageLog) end(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seconds := time.Since(l.began).Seconds()
	for _, stage := range l.stages {
		seconds -= stage.Seconds
	}
	l.stages = append(l.stages, ops.Stage{Name: name, Seconds: max(0, seconds)})
}

// write ends the last stage, and writes all of them and the process's peak memory as json, to the file that was asked
// for, if any.
func (l *stageLog) write(s *streams) error {
	if l.file == "" {
		return nil
	}
	l.end("end")
	return s.writeFile(l.file, func(out *bufio.Writer) error {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(struct {
			Stages       []ops.Stage `json:"stages"`
			PeakRSSBytes int64       `json:"peak_rss_bytes"`
		}{l.stages, peakMemory()})
	})
}

// peakMemory is the most memory in bytes that the process has held resident, zero if the system does not say.
func peakMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(peak, &kib); err != nil {
		return 0
	}
	return kib << 10
}
