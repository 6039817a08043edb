package shell

import (
	"strings"
	"testing"
)

// An index on split is in step with the splits that an import puts in place of others, and survives what replaces other
// columns and matrices.
func TestImportKeepsIndexes(t *testing.T) {
	writeFiles(t, map[string]string{
		"nodes.csv":  "id,label,split,year\na,P,train,1\nb,Q,val,2\nc,P,test,3\n",
		"edges.csv":  twoEdges,
		"splits.csv": "id,split\na,val\nb,val\nc,train\n",
		"partly.csv": "id,split\nb,test\n",
		"p.csv":      "id,P,Q\na,1,0\nb,0,1\nc,1,0\n",
		"f.csv":      "id,x\na,1\nb,2\nc,3\n",
		"d.csv":      "id,label\na,Q\n",
	})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	mustRun(t, "shell", "g", "-c", "create index on split; create index on year")
	for _, step := range []struct {
		args string
		want string // counts of val, train, test and none
	}{
		{"", "1 1 1 0"},
		{"--splits splits.csv", "2 1 0 0"},
		{"--predictions p.csv", "2 1 0 0"},
		{"--splits partly.csv --features f.csv", "0 0 1 2"},
		{"--splits splits.csv --predictions p.csv", "2 1 0 0"},
		{"--decisions d.csv", "2 1 0 0"},
	} {
		if step.args != "" {
			mustRun(t, append([]string{"import", "g"}, strings.Fields(step.args)...)...)
		}
		for _, property := range []string{"split = 'val'", "year > 2"} {
			if plan := mustRun(t, "shell", "g", "-c", "plan nodes where "+property); !strings.Contains(plan, "index") {
				t.Errorf("after import %s: nodes where %s: got the plan %s\nwant an index", step.args, property, plan)
			}
		}
		if indexes := mustRun(t, "shell", "g", "-c", "stats", "--format", "jsonl"); !strings.Contains(indexes, `"indexes":"label, split, year"`) {
			t.Errorf("after import %s: got %s, want an index on split", step.args, indexes)
		}
		counts := mustRun(t, "shell", "g", "--format", "tsv", "-c",
			"count nodes where split = 'val'; count nodes where split = 'train'; count nodes where split = 'test'; count nodes where split is null")
		if got := strings.Join(strings.Fields(strings.ReplaceAll(counts, "count", "")), " "); got != step.want {
			t.Errorf("after import %s: got %s, want %s", step.args, got, step.want)
		}
		mustRun(t, "check", "g")
	}
}
