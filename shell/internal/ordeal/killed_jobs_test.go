package ordeal

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/faults"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

const (
	killsAsked  = "GRAPHCLEANER_TEST_KILLS"  // how many operations of a job are killed; all where there are fewer
	faultsAsked = "GRAPHCLEANER_TEST_FAULTS" // how many operations of a job fail in each way; all where there are fewer
	powerAsked  = "GRAPHCLEANER_TEST_POWER"  // how many operations of a job the power fails at; all where there are fewer
	someFaults  = 1                          // without faultsAsked
)

// TestKilledJobs kills the processes of jobs in place of operations on files: the store opens and holds what was there
// or what comes of it, no less than was acknowledged, and the same job again comes to the same end.
func TestKilledJobs(t *testing.T) {
	disturb(t, "kills", jobsOf(0, killsAsked), asked(t, killsAsked, longtest.Of(1, 2)), []faults.Plan{{Kind: faults.Kill}})
}

// TestPowerFailures is TestKilledJobs where the disk keeps what was synced, or by chance some of the rest as well.
func TestPowerFailures(t *testing.T) {
	tries := asked(t, powerAsked, longtest.Of(1, 2))
	plans := []faults.Plan{{Kind: faults.Power}}
	for torn := range uint64(min(tries, 4)) { // one draw seldom loses a write and keeps a later one
		plans = append(plans, faults.Plan{Kind: faults.Power, Torn: torn + 1})
	}
	disturb(t, "power failures", jobsOf(3, powerAsked), tries, plans)
}

// TestFailedJobs has operations on files fail, one or all from one on: a job ends with a message, or does what it
// should all the same.
func TestFailedJobs(t *testing.T) {
	disturb(t, "faults", jobsOf(1, faultsAsked), asked(t, faultsAsked, someFaults), []faults.Plan{
		{Kind: faults.IO}, {Kind: faults.NoSpace}, {Kind: faults.NoSpace, Lasting: true},
	})
}

// disturb does each job again and again, each time with another operation that meets a fault.
func disturb(t *testing.T, what string, names []string, tries int, plans []faults.Plan) {
	if err := faults.CheckSupport(); err != nil {
		t.Skip(err)
	}
	templateDir(t, "files") // all are made while no other test begins processes, which would hold their stores
	t.Parallel()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := trialOf(t, name)
			survived, tried := 0, 0
			for _, plan := range plans {
				operations := tr.operationsOf(t, plan.Kind, tries)
				if plan.Kind == faults.Power {
					operations = append(operations, tr.countOf(t, plan.Kind)+100) // certainly the end
				}
				for _, at := range operations {
					plan.At = at
					dir := tr.directory(t)
					got := tr.run(t, dir, plan)
					if got.Operation == "" {
						continue // it made fewer operations than the time before
					}
					tried++
					wrong := tr.judge(t, dir, got)
					if len(wrong) == 0 {
						survived++
					}
					for _, text := range wrong {
						t.Errorf("%s (lasting: %v, torn: %d) at operation %d, %s: %s\nthe process said: %s", plan.Kind, plan.Lasting,
							plan.Torn, at, got.Operation, text, got.text)
					}
					must.Do(t, os.RemoveAll(dir))
				}
			}
			reportSurvived(t, what, name, survived, tried)
		})
	}
}

// operationsOf draws operations of the job that a fault of the kind can meet, ascending.
func (tr *trial) operationsOf(t *testing.T, kind faults.Kind, most int) []int64 {
	t.Helper()
	n := tr.countOf(t, kind)
	r := rand.New(rand.NewPCG(uint64(most), uint64(n)))
	var drawn []int64
	for _, at := range r.Perm(int(n))[:min(most, int(n))] {
		drawn = append(drawn, int64(at)+1)
	}
	slices.Sort(drawn)
	return drawn
}

// countOf is the number of operations of the job that a fault of the kind can meet.
func (tr *trial) countOf(t *testing.T, kind faults.Kind) int64 {
	t.Helper()
	if known, ok := tr.counts.Load(kind); ok {
		return known.(int64)
	}
	dir := tr.directory(t)
	// None is so late that it is met.
	counted := tr.run(t, dir, faults.Plan{Kind: kind})
	if err := errors.Join(counted.err, os.RemoveAll(dir)); err != nil {
		t.Fatalf("%v: %s", err, counted.text)
	}
	t.Logf("%s: %d operations", kind, counted.Operations)
	tr.counts.Store(kind, counted.Operations)
	return counted.Operations
}
