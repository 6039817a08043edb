package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"time"
)

// reviewsCommand times what the review page does for a person.
type reviewsCommand struct {
	DB      string   `arg:"" help:"Directory of a cleaned store. It is changed: give a copy."`
	Binary  string   `required:"" placeholder:"FILE" help:"The program graphcleaner."`
	Memory  byteSize `default:"1GiB" help:"Memory budget of the program."`
	Filter  string   `default:"score > 0.5 and degree > 10" help:"Condition of the list."`
	Bulk    int      `default:"1000" help:"Nodes of a bulk decision."`
	Repeats int      `default:"20" help:"Times that each thing is done."`
}

func (*reviewsCommand) Help() string {
	return `Starts the page, asks as a browser does, and waits for each answer to its last byte. Cold is the first page after the start. Next is ` +
		`an accepted suggestion with the card behind it. Filter is the list of a condition, with its count. Bulk asks for the question about many ` +
		`nodes, and decides; each bulk decision is taken back by undo.`
}

// A reviewsReport has the times of the page.
type reviewsReport struct {
	Suspects int64                    `json:"suspects"` // that were left at the start
	Filtered int64                    `json:"filtered"` // nodes of the filter
	ColdUS   float64                  `json:"cold_us"`
	Pages    map[string]lookupTimings `json:"pages"`
	Bytes    map[string]int           `json:"bytes"` // of the last answer
	// PeakResidentBytes counts mapped files; BudgetBytes is --memory.
	PeakResidentBytes int64 `json:"peak_resident_bytes"`
	BudgetBytes       int64 `json:"budget_bytes"`
}

func (c *reviewsCommand) Run(ctx context.Context, out io.Writer) error {
	if c.Bulk < 1 || c.Repeats < 1 {
		return fmt.Errorf("--bulk %d --repeats %d: want one or more of both", c.Bulk, c.Repeats)
	}
	report := &reviewsReport{Pages: map[string]lookupTimings{}, Bytes: map[string]int{}, BudgetBytes: int64(c.Memory)}
	page, err := startPage(ctx, c)
	if err != nil {
		return err
	}
	err = c.measure(ctx, page, report)
	state, ended := page.end()
	if err = errors.Join(err, ended); err != nil {
		return err
	}
	report.PeakResidentBytes = peakResident(state)
	return printJSON(out, report)
}

// A reviewPage is a process that serves the page.
type reviewPage struct {
	process       *exec.Cmd
	origin, token string
	said          chan struct{} // closed once the process has closed its standard error
}

var pageAddress = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/\?token=(\S+)`)

func startPage(ctx context.Context, c *reviewsCommand) (*reviewPage, error) {
	p := &reviewPage{
		process: exec.CommandContext(ctx, c.Binary, "review", c.DB, "--web", "--no-open", "--who", "bench", "--memory", fmt.Sprint(int64(c.Memory))),
		said:    make(chan struct{}),
	}
	p.process.Cancel = func() error { return p.process.Process.Signal(os.Interrupt) }
	apart(p.process)
	lines, err := p.process.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.process.Start(); err != nil {
		return nil, err
	}
	text := bufio.NewScanner(lines)
	var last string
	for text.Scan() {
		last = text.Text()
		if found := pageAddress.FindStringSubmatch(last); found != nil {
			p.origin, p.token = found[1], found[2]
			go func() {
				defer close(p.said)
				io.Copy(io.Discard, lines) //nolint:errcheck // nobody reads it
			}()
			return p, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("review printed no address: %s", last), p.process.Wait())
}

// end interrupts the process and waits for it.
func (p *reviewPage) end() (*os.ProcessState, error) {
	err := p.process.Process.Signal(os.Interrupt)
	<-p.said
	if waited := p.process.Wait(); err == nil && waited != nil {
		err = fmt.Errorf("review: %w", waited)
	}
	return p.process.ProcessState, err
}

// ask asks for a path, with a body or without, and reads the whole answer: a page, or JSON into a value that is not nil.
func (p *reviewPage) ask(ctx context.Context, path string, body, into any) (size int, err error) {
	method, sent := http.MethodGet, io.Reader(nil)
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		method, sent = http.MethodPost, bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, p.origin+path, sent)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	r.Header.Set("Accept", "text/html")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if into != nil {
		r.Header.Set("Accept", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	if answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s: %.300s", path, answer.Status, text)
	}
	if into != nil {
		err = json.Unmarshal(text, into)
	}
	return len(text), err
}

// A cardOf is what the card says.
type cardOf struct {
	ID    string `json:"id"`
	Empty bool   `json:"empty"`
}

func (c *reviewsCommand) measure(ctx context.Context, p *reviewPage, report *reviewsReport) error {
	began := time.Now()
	if _, err := p.ask(ctx, "/review", nil, nil); err != nil {
		return err
	}
	report.ColdUS = 1e6 * time.Since(began).Seconds()
	var progress struct {
		Left int64 `json:"left"`
	}
	if _, err := p.ask(ctx, "/progress", nil, &progress); err != nil {
		return err
	}
	report.Suspects = progress.Left
	filtered := "/list?" + url.Values{"where": {c.Filter}}.Encode()
	var list struct {
		Count int64 `json:"count"`
	}
	if _, err := p.ask(ctx, filtered, nil, &list); err != nil {
		return err
	}
	report.Filtered = list.Count
	bulk, err := c.bulkOf(ctx, p)
	if err != nil {
		return err
	}
	var decided struct {
		Undo int64 `json:"undo"`
	}
	undo := func() error {
		_, err := p.ask(ctx, "/undo", map[string]int64{"step": decided.Undo}, new(struct{}))
		return err
	}
	var now cardOf
	var asked struct {
		Confirm string `json:"confirm"`
	}
	for _, thing := range []struct {
		name          string
		before, after func() error
		do            func() (int, error)
	}{
		{"first", nil, nil, func() (int, error) { return p.ask(ctx, "/review", nil, nil) }},
		{
			"next", func() error { _, err := p.ask(ctx, "/review", nil, &now); return err }, nil,
			func() (int, error) {
				if now.Empty {
					return 0, errors.New("no suspect is left")
				}
				if _, err := p.ask(ctx, "/decide", map[string]string{"id": now.ID, "decision": "accept"}, new(struct{})); err != nil {
					return 0, err
				}
				return p.ask(ctx, "/review", nil, nil)
			},
		},
		{"list", nil, nil, func() (int, error) { return p.ask(ctx, "/list", nil, nil) }},
		{"filter", nil, nil, func() (int, error) { return p.ask(ctx, filtered, nil, nil) }},
		{"overview", nil, nil, func() (int, error) { return p.ask(ctx, "/overview", nil, nil) }},
		{"bulk question", nil, nil, func() (int, error) { return p.ask(ctx, "/bulk", bulk, &asked) }},
		{
			"bulk", func() error { delete(bulk, "confirm"); _, err := p.ask(ctx, "/bulk", bulk, &asked); return err }, undo,
			func() (int, error) {
				bulk["confirm"] = asked.Confirm
				return p.ask(ctx, "/bulk", bulk, &decided)
			},
		},
	} {
		var seconds []float64
		for i := range c.Repeats + 1 {
			if thing.before != nil {
				if err := thing.before(); err != nil {
					return err
				}
			}
			began := time.Now()
			size, err := thing.do()
			took := time.Since(began).Seconds()
			if err != nil {
				return fmt.Errorf("%s: %w", thing.name, err)
			}
			report.Bytes[thing.name] = size
			if i > 0 { // the first one warms up
				seconds = append(seconds, took)
			}
			if thing.after != nil {
				if err := thing.after(); err != nil {
					return err
				}
			}
		}
		report.Pages[thing.name] = summarize(seconds)
	}
	return nil
}

// bulkOf is a decision about the first suspects.
func (c *reviewsCommand) bulkOf(ctx context.Context, p *reviewPage) (map[string]any, error) {
	var ids []string
	for page := 1; len(ids) < c.Bulk; page++ {
		var list struct {
			Page int `json:"page"`
			Rows []struct {
				ID string `json:"id"`
			} `json:"rows"`
		}
		if _, err := p.ask(ctx, fmt.Sprintf("/list?page=%d", page), nil, &list); err != nil {
			return nil, err
		}
		if list.Page != page || len(list.Rows) == 0 {
			return nil, fmt.Errorf("there are %d suspects, want %d", len(ids), c.Bulk)
		}
		for _, row := range list.Rows {
			ids = append(ids, row.ID)
		}
	}
	return map[string]any{"of": "suspects", "ids": ids[:c.Bulk], "decision": "reject"}, nil
}
