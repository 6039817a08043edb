package main

import (
	"math"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/docs/detection/cells"
)

func TestOracle(t *testing.T) {
	of := &cells.Store{
		Wrong:  []bool{true, false, true, true, false, false, false},
		Scores: []float64{0.9, 0.8, 0.7, 0.6, 0.5, 0.4, math.NaN()},
	}
	for _, c := range []struct {
		promise      cleaner.Promise
		labels, good int
	}{
		{cleaner.Promise{Kind: cleaner.ListSuspects, Share: 0.1}, 1, 1},
		{cleaner.Promise{Kind: cleaner.ListSuspects, Share: 0.3}, 4, 3},
		{cleaner.Promise{Kind: cleaner.ListTrusted, Share: 0.1}, 2, 2},
		{cleaner.Promise{Kind: cleaner.ListTrusted, Share: 0.5}, 6, 3},
	} {
		if labels, good := oracle(of, c.promise); labels != c.labels || good != c.good {
			t.Errorf("%v: %d labels, %d good, want %d and %d", c.promise, labels, good, c.labels, c.good)
		}
	}
}

func TestResult(t *testing.T) {
	p := cleaner.Promise{Kind: cleaner.ListSuspects, Share: 0.1}
	run := list{Audit: 50, Draws: 24, Kind: p.Kind, Share: p.Share, IsKept: true, Labels: 100, Good: 90,
		Oracle: 200, Most: 180}
	broken, failed, other := run, run, run
	broken.Good = 80
	failed.IsKept = false
	other.Audit = 100
	r := resultOf([]list{run, broken, failed, other}, design{audit: 50}, p)
	if want := (cellResult{kept: 2. / 3, broken: 1. / 3, power: (90. + 80) / 180 / 3, draws: 24,
		hasOracle: true}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
}
