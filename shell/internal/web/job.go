package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A job is a clean or a rescore that the page has started.
type job struct {
	Statement string   `json:"statement"` // "" if none was started
	Text      string   `json:"text"`      // what a person reads of it
	Running   bool     `json:"running"`
	Stage     string   `json:"stage,omitempty"`
	Done      int64    `json:"done,omitempty"`
	Total     int64    `json:"total,omitempty"` // 0: unknown
	Seconds   float64  `json:"seconds"`
	Notices   []string `json:"notices,omitempty"`
	Error     string   `json:"error,omitempty"`
	Stopped   bool     `json:"stopped,omitempty"`
}

// Jobs run one at a time.
type jobs struct {
	mu    sync.Mutex
	now   job
	began time.Time
	stop  context.CancelFunc
	told  time.Time // when pages were told of progress last
}

// state is the job as it is.
func (j *jobs) state() job {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.current()
}

// current is state for who has j.mu.
func (j *jobs) current() job {
	now := j.now
	if now.Running {
		now.Seconds = time.Since(j.began).Seconds()
	}
	now.Text = now.words()
	return now
}

// words say how far the job is, or how it ended.
func (j job) words() string {
	text := fmt.Sprintf("%s is done, %.1f s.", j.Statement, j.Seconds)
	switch {
	case j.Statement == "":
		return ""
	case j.Running:
		text = j.Statement + ": " + cmp.Or(j.Stage, "begins")
		if j.Total > 0 {
			text += fmt.Sprintf(", %d%%", 100*j.Done/j.Total)
		}
	case j.Error != "":
		text = j.Statement + " failed. " + j.Error
	case j.Stopped:
		text = j.Statement + " was stopped. The next clean goes on from what it has done."
	}
	for _, notice := range j.Notices {
		text += " " + notice + "."
	}
	return text
}

// A cleaning says what to start.
type cleaning struct {
	Statement string `json:"statement"` // "clean" or "rescore", with options as in the shell
	place
}

// showJob shows the job.
func (s *Server) showJob(*http.Request) (answer, error) {
	return answer{page: "job", title: "Clean", view: s.job.state()}, nil
}

// startClean starts a job.
func (s *Server) startClean(r *http.Request) (answer, error) {
	var c cleaning
	err := cmp.Or(s.checkWritable(), bring(r, &c, func() {
		c.place.form(r)
		c.Statement = strings.TrimSpace(r.PostFormValue("statement") + " " + r.PostFormValue("options"))
	}))
	if err != nil {
		return answer{}, err
	}
	word, _, _ := strings.Cut(c.Statement, " ")
	if word != "clean" && word != "rescore" {
		return answer{}, badRequest("The statement is %q: want clean or rescore.", wording.Short(c.Statement))
	}
	statement, err := query.Parse(c.Statement)
	if err != nil {
		return answer{}, err
	}
	ctx, stop := context.WithCancel(s.ctx)
	j := &s.job
	j.mu.Lock()
	if j.now.Running {
		j.mu.Unlock()
		stop()
		return answer{}, refuse(http.StatusConflict, "A job runs already: "+j.now.Statement+".")
	}
	j.now, j.began, j.stop = job{Statement: c.Statement, Running: true}, time.Now(), stop
	now := j.current()
	s.events.send("job", now)
	j.mu.Unlock()
	s.scores.pause()
	s.working.Go(func() {
		defer stop()
		s.run(ctx, statement)
	})
	return answer{view: now, seeOther: c.next()}, nil
}

// tellEvery is how often pages are told of the progress of a job.
const tellEvery = 200 * time.Millisecond

// run runs a job.
func (s *Server) run(ctx context.Context, statement query.Statement) {
	j := &s.job
	change := func(fn func(now *job)) {
		j.mu.Lock()
		defer j.mu.Unlock() // pages hear of changes in their order
		fn(&j.now)
		if time.Since(j.told) > tellEvery || !j.now.Running {
			j.told = time.Now()
			s.events.send("job", j.current())
		}
	}
	opt := s.Query
	opt.Progress = func(stage string, done, total int64) {
		change(func(now *job) { now.Stage, now.Done, now.Total = stage, done, total })
	}
	opt.Notice = func(line string) {
		change(func(now *job) { now.Notices = append(now.Notices, print.EscapeControls(line)) })
	}
	ctx = kv.OnWait(ctx, func() { opt.Notice("waiting for another job that writes to the store") })
	err := guard(func() error {
		result, err := statement.Exec(ctx, s.Store, opt)
		if err != nil {
			return err
		}
		defer result.Close()
		for _, notice := range result.Notices() {
			opt.Notice(notice)
		}
		s.scores.retry()
		return s.startAnew()
	})
	change(func(now *job) {
		now.Running, now.Seconds = false, time.Since(j.began).Seconds()
		switch {
		case errors.Is(err, context.Canceled):
			now.Stopped = true
		case err != nil:
			now.Error = sentence(err)
		}
	})
	notify(s.progress.wanted)
}

// stopClean stops the job. What a clean has computed is kept for the next one.
func (s *Server) stopClean(r *http.Request) (answer, error) {
	var p place
	if err := bring(r, &p, func() { p.form(r) }); err != nil {
		return answer{}, err
	}
	s.job.mu.Lock()
	if s.job.now.Running {
		s.job.stop()
	}
	now := s.job.current()
	s.job.mu.Unlock()
	return answer{view: now, seeOther: p.next()}, nil
}
