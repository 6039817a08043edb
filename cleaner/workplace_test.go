package cleaner

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/ops"
)

// TestCleanGoesOnWhereItWasInterrupted interrupts runs after stages: diagonals are not computed again.
func TestCleanGoesOnWhereItWasInterrupted(t *testing.T) {
	opt := Options{Seed: 3}
	p := newPlanted(21, 120)
	s := p.load(t, false)
	last := 0
	counted := opt
	counted.OnStage = func(ops.Stage) { last++ }
	mustClean(t, s, counted)
	want := outcome(t, s)
	resumed := false
	for stages := last - 1; stages > 0; stages -= longtest.Of(3, 1) {
		s := p.load(t, false)
		ctx, cancel := context.WithCancel(t.Context())
		left, once := stages, opt
		once.OnStage = func(ops.Stage) {
			if left--; left == 0 {
				cancel()
			}
		}
		if _, err := Clean(ctx, s, once); !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled after stage %d of %d: got %v, want context.Canceled", stages, last, err)
		}
		var done []string
		again := opt
		again.OnStage = func(stage ops.Stage) { done = append(done, stage.Name) }
		mustClean(t, s, again)
		if !bytes.Equal(outcome(t, s), want) {
			t.Errorf("interrupted after stage %d: the outcome differs from that of a run that was not", stages)
		}
		resumed = resumed || !slices.Contains(done, "diagonal")
	}
	if !resumed {
		t.Error("diagonals were computed again each time")
	}
}

// TestCleanAfterKill kills a process in the midst of a run: the test itself is the process.
func TestCleanAfterKill(t *testing.T) {
	const variable = "CLEANER_TEST_KILL"
	opt := Options{Seed: 3}
	if at := os.Getenv(variable); at != "" {
		stage, dir, _ := strings.Cut(at, ":")
		s := openPlanted(t, dir)
		opt.OnStage = func(done ops.Stage) {
			if done.Name == stage {
				process, err := os.FindProcess(os.Getpid())
				if err == nil {
					err = process.Kill()
				}
				t.Errorf("killing this process: %v", err)
				select {}
			}
		}
		mustClean(t, s, opt)
		t.Fatal("nobody killed this process")
	}
	p := newPlanted(24, 200)
	dir := p.loadDir(t)
	s := openPlanted(t, dir)
	p.predict(t, s)
	mustClean(t, s, opt)
	want := outcome(t, s)
	for _, stage := range []string{"combine", "score"} {
		must.Do(t, s.Close())
		child := exec.Command(os.Args[0], "-test.run=^TestCleanAfterKill$")
		child.Env = append(os.Environ(), variable+"="+stage+":"+dir)
		if text, err := child.CombinedOutput(); err == nil {
			t.Fatalf("the child was not killed: %s", text)
		}
		s = openPlanted(t, dir)
		mustClean(t, s, opt)
		if !bytes.Equal(outcome(t, s), want) {
			t.Errorf("killed after %s: the outcome differs", stage)
		}
	}
	mustEndSound(t, s)
	must.Do(t, s.Close())
}
