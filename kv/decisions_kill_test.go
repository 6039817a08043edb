package kv

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/faults"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
)

// killedDecisionsVariable is set in the process that is killed, which decides in the store "store" of its working
// directory.
const killedDecisionsVariable = "GRAPHCLEANER_TEST_KILLED_DECISIONS"

const decisionReturned = "returned"

// TestKilledDecisions kills processes that decide, in place of operations on files. A decision that had returned is
// there, also without Badger's log; and one of which the sync of decisions.log, or of Badger's log, fails has not
// returned.
func TestKilledDecisions(t *testing.T) {
	if os.Getenv(killedDecisionsVariable) != "" {
		s := openStore(t, "store", Options{})
		must.Do(t, faults.Begin())
		for i := 10; i < 12; i++ {
			decide(t, s, i, i+1)
			fmt.Println(decisionReturned)
		}
		os.Exit(0)
	}
	if err := faults.CheckSupport(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	old, _, _ := agedStore(t)
	run := func(plan faults.Plan) (outcome faults.Outcome, dir string, returned int) {
		t.Helper()
		parent := filepath.Dir(copyStore(t, old))
		dir = filepath.Join(parent, "store")
		must.Do(t, os.Rename(filepath.Join(parent, "copy"), dir))
		child := exec.Command(os.Args[0], "-test.run=^TestKilledDecisions$")
		var out bytes.Buffer
		child.Dir, child.Stdout, child.Env = parent, &out, append(os.Environ(), killedDecisionsVariable+"=1")
		plan.Dir = parent
		outcome = must.Get(faults.Run(child, plan))(t)
		return outcome, dir, strings.Count(out.String(), decisionReturned)
	}
	counted, _, returned := run(faults.Plan{Kind: faults.Count})
	if counted.Err != nil || counted.Operations < 5 || returned != 2 {
		t.Fatalf("%v after %d operations, %d decisions", counted.Err, counted.Operations, returned)
	}
	needed := map[string]int{} // syncs without which no decision returns; of Badger's log the file is not known
	for at := int64(1); at <= counted.Operations; at++ {
		killed, dir, returned := run(faults.Plan{Kind: faults.Kill, At: at})
		where := fmt.Sprintf("killed at %d, %s, after %d decisions", at, killed.Operation, returned)
		if operation, file, _ := strings.Cut(killed.Operation, " "); strings.Contains(operation, "sync") {
			if _, _, returnedOf := run(faults.Plan{Kind: faults.IO, At: at}); returnedOf == returned { // and no more
				needed[filepath.Base(file)]++
			}
		}
		without := copyStore(t, dir)
		if got := decided(t, dir, 0, 10+returned); got != 10+returned {
			t.Errorf("%s: got %d decisions", where, got)
		}
		must.Do(t, os.Remove(onlyLog(t, without)))
		if got := decided(t, without, 0, 10+returned); got != 10+returned {
			t.Errorf("%s, without the log: got %d decisions", where, got)
		}
	}
	if needed[decisions.FileName] != 2 || needed["."] != 2 {
		t.Errorf("got syncs %v, want two of decisions.log and of Badger's log", needed)
	}
}
