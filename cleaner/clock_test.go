package cleaner

import (
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/ops"
)

func TestClock(t *testing.T) {
	var told []ops.Stage
	c, onStage := newClock(func(s ops.Stage) { told = append(told, s) })
	c.began = time.Now().Add(-time.Hour)
	onStage(ops.Stage{Name: "walk", Seconds: 3000})
	c.end(ops.Stage{Name: "first", Columns: 4})
	c.began = c.began.Add(-time.Minute)
	c.end(ops.Stage{Name: "second"})
	for i, want := range []ops.Stage{{Name: "walk", Seconds: 3000}, {Name: "first", Columns: 4, Seconds: 600},
		{Name: "second", Seconds: 60}} {
		got := told[i]
		if took := got.Seconds - want.Seconds; took < 0 || took > 30 {
			t.Errorf("stage %d: got %v seconds, want %v", i, got.Seconds, want.Seconds)
		}
		if got.Seconds = want.Seconds; got != want {
			t.Errorf("stage %d: got %+v, want %+v", i, got, want)
		}
	}
	if none, silent := newClock(nil); none != nil || silent != nil {
		t.Error("nobody is told: got a clock, want none")
	}
}
