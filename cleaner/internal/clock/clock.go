// Package clock puts all of the time of a job into stages. It knows no job.
package clock

import (
	"time"

	"github.com/graphcleaner/graphcleaner/ops"
)

// A Clock puts all of the time of a job into stages. Operators measure theirs themselves. Whatever else the job
// has done since its last stage is the next one that it ends.
type Clock struct {
	tell  func(ops.Stage)
	began time.Time
	told  float64 // seconds of all stages so far
}

// New begins now. It returns, too, the OnStage of operators. Both are nil if nobody is told.
func New(tell func(ops.Stage)) (c *Clock, onStage func(ops.Stage)) {
	if tell == nil {
		return nil, nil
	}
	c = &Clock{tell: tell, began: time.Now()}
	return c, c.pass
}

// pass passes on a stage that has measured itself.
func (c *Clock) pass(s ops.Stage) {
	c.told += s.Seconds
	c.tell(s)
}

// End tells of a stage that ends now. Its seconds are filled in.
func (c *Clock) End(s ops.Stage) {
	if c == nil {
		return
	}
	s.Seconds = max(0, time.Since(c.began).Seconds()-c.told)
	c.pass(s)
}
