package shell

import (
	"bufio"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/graphcleaner/graphcleaner/ops"
)

// stageFile is the flag of commands that read or write all of a graph.
type stageFile struct {
	Stats string `file:"write" placeholder:"FILE" help:"Write a json file with the seconds of each stage and the peak memory."`
}

// AfterApply has the stages of the command written to the file. It keeps the flag and not the path: if another process gave the command, the
// path is another one here (streams.resolve).
func (c *stageFile) AfterApply(s *streams) error {
	s.stages.file = c
	return nil
}

// A stageLog collects the finished stages of a command for --stats. Beside those of the work there are start, until the command line is read; open and close, of the store; report, of the pictures of a page; end, of what comes after all others.
type stageLog struct {
	file   *stageFile // nil: the command has none
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

// write ends the last stage, and writes all of them and the process's peak memory as json, to the file that was asked for, if any. The time
// that it takes itself is in no stage, so it does not wait for the disk.
func (l *stageLog) write(s *streams) error {
	if l.file == nil || l.file.Stats == "" {
		return nil
	}
	l.end("end")
	return s.writeNote(l.file.Stats, func(out *bufio.Writer) error {
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
		return maxResident()
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "VmHWM:" && fields[2] == "kB" {
			if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return maxResident()
}
