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

// A stageLog collects the finished stages of a command for --stats. Beside those of the work there are start, until the command line is
// read; open and close, of the store; report, of the pictures of a page.
type stageLog struct {
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

// write writes the stages and the process's peak memory as json; a path of "" writes nothing.
func (l *stageLog) write(path string, s *streams) error {
	if path == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	stages := l.stages
	if stages == nil {
		stages = []ops.Stage{}
	}
	return s.writeFile(path, func(out *bufio.Writer) error {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(struct {
			Stages       []ops.Stage `json:"stages"`
			PeakRSSBytes int64       `json:"peak_rss_bytes"`
		}{stages, peakMemory()})
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
