package lsm

import "testing"

// TestLogCount says for how long a count of logs holds.
func TestLogCount(t *testing.T) {
	const memTable = 8 << 20
	for _, c := range []struct {
		count   logCount
		written int64
		want    bool
	}{
		{logCount{}, 0, false},
		{logCount{count: 1}, 0, true},
		{logCount{count: 1, output: 5}, 5 + memTable/recount - 1, true},
		{logCount{count: 1, output: 5}, 5 + memTable/recount, false},
		{logCount{count: 1, output: 5}, 0, false}, // the store was opened anew
		{logCount{count: mostLogs - 1}, 0, false},
	} {
		if got := c.count.enough(c.written, memTable); got != c.want {
			t.Errorf("%+v after %d bytes: got %v, want %v", c.count, c.written, got, c.want)
		}
	}
}
