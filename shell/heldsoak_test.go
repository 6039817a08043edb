//go:build unix

package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
)

const soakAsked = "GRAPHCLEANER_TEST_SOAK" // how long TestManyAtOnce takes, such as 10m

// TestManyAtOnce has several people and jobs work at one store, each in processes of their own, and kills any of these
// at random, also the one that holds the store. Every decision that was acknowledged is in the history, no answer mixes
// two snapshots, nothing is stuck.
func TestManyAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for seconds")
	}
	cleanedStore(t)
	lasts := time.Duration(longtest.Of(2, 20)) * time.Second
	if text := os.Getenv(soakAsked); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", soakAsked, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	c := &crowd{t: t, running: map[*exec.Cmd]bool{}, done: map[string]int{}, reasons: map[string]bool{}}
	ids := strings.Fields(mustRun(t, "shell", "h", "--format", "csv", "-c", "nodes return id limit 60"))[1:]
	label := strings.Fields(mustRun(t, "shell", "h", "--format", "csv", "-c", "nodes where label is not null return "+
		"label limit 1"))[1]
	others := "id in ('" + strings.Join(ids[45:], "', '") + "')" // which bob alone decides on
	workers := map[string]func(round int){
		"serve": func(int) { c.run("serve", "g", "--wait", "1m") },
		"decide": func(round int) {
			three := ids[round%15*3:][:3]
			reason := "round " + strconv.Itoa(round)
			if code, _ := c.run("shell", "g", "--yes", "--who", "ann", "--wait", "1m", "-c",
				fmt.Sprintf("unsure '%s', '%s', '%s' because '%s'", three[0], three[1], three[2], reason)); code == exitDone {
				c.locked(func() { c.reasons[reason] = true })
			}
			c.run("shell", "g", "--who", "ann", "--wait", "1m", "-c", "undo")
		},
		"ask": func(int) {
			code, out := c.run("shell", "g", "--format", "csv", "--wait", "1m", "-c", "count nodes where decision = 'unsure'")
			if n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(out, "count\n"))); code == exitDone &&
				(err != nil || n%3 != 0) {
				t.Errorf("unsure: got %q, want a multiple of three", out)
			}
		},
		"explain": func(round int) { c.run("shell", "g", "--wait", "1m", "-c", "explain "+ids[round%len(ids)]) },
		"reject": func(int) {
			c.run("shell", "g", "--who", "bob", "--wait", "1m", "--yes", "-c", "reject where label is not null and "+
				others+"; undo")
		},
		"clean": func(int) { c.run("clean", "g", "--hops", "1", "--wait", "1m") },
		"backup": func(round int) {
			name := fmt.Sprintf("%d.backup", round)
			if code, _ := c.run("backup", "g", name, "--wait", "1m"); code == exitDone {
				if verified := run(t, "", "restore", "--verify", name); verified.code != exitDone {
					t.Errorf("a backup is damaged: %s", verified.err)
				}
			}
			if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		},
		"gate": func(int) {
			c.run("gate", "g", "--most", "1", "--wait", "1m")
			time.Sleep(time.Second)
		},
		"append": func(round int) {
			file := fmt.Sprintf("more-%d.csv", round)
			rows := fmt.Sprintf("id,label\nmore-%d-a,%s\nmore-%d-b,%s\n", round, label, round, label)
			edges := fmt.Sprintf("src,dst\nmore-%d-a,%s\nmore-%d-a,more-%d-b\n", round, ids[round%len(ids)], round, round)
			if err := errors.Join(os.WriteFile(file, []byte(rows), 0o600),
				os.WriteFile("edges-"+file, []byte(edges), 0o600)); err != nil {
				t.Error(err)
			}
			if code, _ := c.run("import", "g", "--append", "--nodes", file, "--edges", "edges-"+file, "--wait",
				"1m"); code == exitDone {
				c.locked(func() { c.pairs = append(c.pairs, round) })
			}
			c.run("rescore", "g", "--wait", "1m")
			time.Sleep(time.Duration(round%5) * 100 * time.Millisecond)
		},
		"remove": func(round int) {
			time.Sleep(200 * time.Millisecond)
			pair, ok := c.takePair()
			if !ok {
				return
			}
			file := fmt.Sprintf("gone-%d.csv", round)
			if err := os.WriteFile(file, fmt.Appendf(nil, "id\nmore-%d-a\nmore-%d-b\n", pair, pair), 0o600); err != nil {
				t.Error(err)
			}
			if code, _ := c.run("remove", "g", "--nodes", file, "--wait", "1m"); code == exitDone {
				c.locked(func() { c.gone = append(c.gone, pair) })
			}
		},
		"export": func(round int) {
			file := fmt.Sprintf("scores-%d.csv", round)
			code, _ := c.run("export", "g", "scores", "--out", file, "--wait", "1m")
			scores, err := os.ReadFile(file)
			if err == nil {
				// Also if the command was killed, a file that is there is whole.
				if n := strings.Count(string(scores), "\nmore-"); n%2 != 0 ||
					!strings.HasPrefix(string(scores), "id,given_label,") || !strings.HasSuffix(string(scores), "\n") {
					t.Errorf("export: got %d nodes that were appended in pairs, in %q", n, scores)
				}
				err = os.Remove(file)
			}
			if err != nil && (code == exitDone || !errors.Is(err, os.ErrNotExist)) {
				t.Error(err)
			}
		},
		"count": func(int) {
			code, out := c.run("shell", "g", "--format", "csv", "--wait", "1m", "-c", "count nodes where id like 'more-%'")
			if n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(out, "count\n"))); code == exitDone &&
				(err != nil || n%2 != 0) {
				t.Errorf("nodes that were appended in pairs: got %q, want an even number", out)
			}
		},
	}
	for scorer := range 3 {
		workers["score "+strconv.Itoa(scorer)] = func(round int) {
			three := ids[(round+5*scorer)%15*3:][:3]
			code, out := c.run("score", "g", "--ids", strings.Join(three, ","), "--format", "csv", "--wait", "1m")
			if code == exitDone && strings.Count(out, "\n") != 4 {
				t.Errorf("score of three nodes: got %q", out)
			}
		}
	}
	for name, work := range workers {
		c.working.Go(func() {
			for round := 0; ctx.Err() == nil && !t.Failed(); round++ {
				work(round)
				c.locked(func() { c.done[name]++ })
			}
		})
	}
	r := rand.New(rand.NewPCG(7, 7))
	for ctx.Err() == nil && !t.Failed() {
		time.Sleep(time.Duration(r.Int64N(int64(300 * time.Millisecond))))
		c.killOne(r)
	}
	for end := time.Now().Add(30 * time.Second); c.left() > 0; time.Sleep(50 * time.Millisecond) {
		if c.stopServing(); time.Now().After(end) {
			t.Fatalf("%d processes do not end", c.left())
		}
	}
	c.working.Wait()
	t.Logf("done %v, %d kills, %d decisions, %d appends and %d removals acknowledged", c.done, c.kills, len(c.reasons),
		len(c.pairs)+len(c.gone), len(c.gone))
	mustRun(t, "check", "g", "--wait", "10s")
	history := mustRun(t, "shell", "g", "--format", "csv", "-c", "history")
	appended := mustRun(t, "shell", "g", "--format", "csv", "-c", "nodes where id like 'more-%' return id")
	for isThere, pairs := range map[bool][]int{true: c.pairs, false: c.gone} {
		for _, round := range pairs {
			for _, of := range []string{"a", "b"} {
				if id := fmt.Sprintf("more-%d-%s", round, of); strings.Contains(appended, id+"\n") != isThere {
					t.Errorf("%s: that it is there is %v, want %v as acknowledged", id, !isThere, isThere)
				}
			}
		}
	}
	for reason := range c.reasons {
		if !strings.Contains(history, ","+reason+",") {
			t.Errorf("the decisions of %s were acknowledged, and are not in the history", reason)
		}
	}
	tried, failed := 0, 0
	for _, rounds := range c.done {
		tried += rounds
	}
	if t.Failed() {
		failed = 1
	}
	t.Logf("durability: soak: %.1f minutes, operations: %d of %d", lasts.Minutes(), tried-failed, tried)
}

// A crowd is the processes that work at one store.
type crowd struct {
	t       *testing.T
	working sync.WaitGroup

	mu      sync.Mutex
	running map[*exec.Cmd]bool // true: it was killed
	done    map[string]int
	reasons map[string]bool // of decisions that were acknowledged
	pairs   []int           // of nodes whose append was acknowledged, and that nobody has tried to remove
	gone    []int           // of nodes whose removal was acknowledged
	kills   int

	finished int // processes that were not killed
}

// locked calls fn while no other goroutine of the crowd does.
func (c *crowd) locked(fn func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn()
}

// takePair returns a pair of nodes to be removed, one of every two, if there is one.
func (c *crowd) takePair() (pair int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.pairs, func(round int) bool { return round%2 == 0 })
	if at < 0 {
		return 0, false
	}
	pair = c.pairs[at]
	c.pairs = slices.Delete(c.pairs, at, at+1)
	return pair, true
}

// run runs a command, and returns its exit code, -1 if it was killed. It fails the test if the command failed for
// another reason than a kill.
func (c *crowd) run(args ...string) (code int, out string) {
	p := child(c.t, args...)
	var outText, errText bytes.Buffer
	p.Stdout, p.Stderr = &outText, &errText
	c.mu.Lock()
	err := p.Start()
	c.running[p] = false
	c.mu.Unlock()
	if err == nil {
		err = p.Wait()
	}
	c.mu.Lock()
	killed := c.running[p]
	delete(c.running, p)
	if !killed {
		c.finished++
	}
	c.mu.Unlock()
	code = p.ProcessState.ExitCode()
	if strings.Contains(errText.String(), "DATA RACE") { // of the race detector, also of one that was killed
		c.t.Errorf("%q: %s", args, &errText)
	}
	if killed || code == exitDone || code == exitVerdict {
		return code, outText.String()
	}
	for _, excuse := range []string{
		"is gone", "the process that holds the store ends", "interrupted", // by kills
		// by others
		"nothing to undo", "changed since", "cannot be taken back", "nothing to take back", "no suspects are left",
	} {
		if strings.Contains(errText.String(), excuse) {
			return code, outText.String()
		}
	}
	c.t.Errorf("%q: %v: %s", args, err, &errText)
	return code, outText.String()
}

// killOne kills one of the processes, unless that would be so often that the others get little done, as on a slow
// machine.
func (c *crowd) killOne(r *rand.Rand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished < 4*c.kills {
		return
	}
	left := r.IntN(max(len(c.running), 1))
	for p := range c.running {
		if left--; left < 0 {
			c.running[p] = true
			c.kills++
			p.Process.Kill() //nolint:errcheck // it may have ended
			return
		}
	}
}

func (c *crowd) left() (n int) {
	c.locked(func() { n = len(c.running) })
	return n
}

// stopServing ends the process that would hold the store for ever.
func (c *crowd) stopServing() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.running {
		if p.Args[1] == "serve" && !c.running[p] {
			c.running[p] = true
			p.Process.Signal(os.Interrupt) //nolint:errcheck // it may have ended
		}
	}
}
