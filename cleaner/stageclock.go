package cleaner

import (
	"time"

	"github.com/graphcleaner/graphcleaner/ops"
)

// A stageClock puts all of the time of a job into stages. Operators measure theirs themselves. Whatever else the job
// has done since its last stage is the next one that it ends.
type stageClock struct {
	tell  func(ops.Stage)
	began time.Time
	told  float64 // seconds of all stages so far
}

// newStageClock begins now. It returns, too, what operators tell. Both are nil if nobody is told.
func newStageClock(tell func(ops.Stage)) (c *stageClock, onStage func(ops.Stage)) {
	if tell == nil {
		return nil, nil
	}
	c = &stageClock{tell: tell, began: time.Now()}
	return c, c.pass
}

// pass passes on a stage that has measured itself.
func (c *stageClock) pass(s ops.Stage) {
	c.told += s.Seconds
	c.tell(s)
}

// end tells of a stage that ends now. Its seconds are filled in.
func (c *stageClock) end(s ops.Stage) {
	if c == nil {
		return
	}
	s.Seconds = max(0, time.Since(c.began).Seconds()-c.told)
	c.pass(s)
}
