package shell

import (
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// What is exported without names of columns is imported as the same, whatever order the classes came in.
func TestPredictionsRoundTrip(t *testing.T) {
	for _, c := range []struct {
		name, nodes, predictions string
		later                    string // label that node a is given after the import
		want                     string
	}{
		{
			"columns in another order", "id,label\na,c0\nb,c1\nc,c2\n", "id,c2,c1,c0\na,.125,.25,.625\nb,0,1,0\nc,.5,.25,.25\n", "",
			"id,c0,c1,c2\na,0.625,0.25,0.125\nb,0,1,0\nc,0.25,0.25,0.5\n",
		},
		{
			"numbers", "id,label\na,10\nb,9\nc,-1\n", "id,10,9,-1\na,.75,.25,0\nb,.5,.125,.375\nc,0,0,1\n", "",
			"id,-1,9,10\na,0,0.25,0.75\nb,0.375,0.125,0.5\nc,1,0,0\n",
		},
		{
			"a class of later", "id,label\na,10\nb,9\nc,\n", "id,10,9\na,.75,.25\nb,.5,.5\nc,0,1\n", "2",
			"id,2,9,10\na,0,0.25,0.75\nb,0,0.5,0.5\nc,0,1,0\n",
		},
		{
			"a word of later", "id,label\na,10\nb,9\nc,\n", "id,9,10\na,.25,.75\nb,.5,.5\nc,1,0\n", "1x",
			"id,10,1x,9\na,0.75,0,0.25\nb,0.5,0,0.5\nc,0,0,1\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			writeFiles(t, map[string]string{"nodes.csv": c.nodes, "edges.csv": twoEdges, "p.csv": c.predictions})
			mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv", "--predictions", "p.csv")
			if c.later != "" {
				must.Do(t, withStore("g", kv.Options{MemoryBudget: 1}, func(store *kv.Store) error {
					return store.Update(func(tx *kv.Tx) error {
						v, err := tx.Node("a")
						if err != nil {
							return err
						}
						return tx.SetLabel(v, c.later)
					})
				}))
			}
			exported := func() string { return mustRun(t, "export", "g", "predictions", "--out", "-") }
			if got := exported(); got != c.want {
				t.Errorf("exported as csv: got\n%s\nwant\n%s", got, c.want)
			}
			mustRun(t, "export", "g", "predictions", "--out", "p.npy")
			mustRun(t, "import", "g", "--predictions", "p.npy")
			if got := exported(); got != c.want {
				t.Errorf("exported as .npy and imported: got\n%s\nwant\n%s", got, c.want)
			}
			header, _, _ := strings.Cut(c.want, "\n")
			classes := []string{"id"}
			for _, line := range strings.Split(mustRun(t, "shell", "g", "-c", "classes", "--format", "csv"), "\n")[1:] {
				if name, _, found := strings.Cut(line, ","); found {
					classes = append(classes, name)
				}
			}
			if got := strings.Join(classes, ","); got != header {
				t.Errorf("classes lists %s, want the order of the predictions, %s", got, header)
			}
		})
	}
}
