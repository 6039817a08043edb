package ordeal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/faults"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell"
	"github.com/graphcleaner/graphcleaner/shell/internal/demograph"
)

// A job is the work of a process in a directory while it is disturbed: a command, or the work of a program that
// embeds a store. Given again, it goes on where it was.
type job struct {
	begin string   // the template that it begins with
	args  []string // of a command, or nil
	// to the store g; it acknowledges each step once it is durable
	do   func(store *kv.Store, acknowledge func(int)) error
	db   string // the store that comes of it, if not g
	file string // that comes of it, beside the store
}

const (
	jobVariable = "GRAPHCLEANER_TEST_JOB" // in the process that does a job: its name
	jobMemory   = "--memory=128MiB"
)

var jobs = map[string]job{
	"import": {begin: "files", args: []string{
		"import", "g", "--nodes=nodes.csv", "--edges=edges.csv", "--features=features.csv", jobMemory}},
	"import --replace": {begin: "cleaned", args: []string{
		"import", "g", "--nodes=nodes.csv", "--edges=edges.csv", "--replace", "--yes", jobMemory}},
	"import --features": {begin: "cleaned", args: []string{"import", "g", "--features=features.csv", jobMemory}},
	"predict":           {begin: "cleaned", args: []string{"predict", "g", "--seed=2", jobMemory}},
	"clean":             {begin: "cleaned", args: []string{"clean", "g", "--seed=2", jobMemory}},
	"clean, paper":      {begin: "predicted", args: []string{"clean", "g", "--preset=paper", "--hops=2", jobMemory}},
	"compact":           {begin: "changed", args: []string{"compact", "g", jobMemory}},
	"export": {begin: "cleaned", args: []string{"export", "g", "scores", "--out=scores.csv", jobMemory},
		file: "scores.csv"},
	"backup":  {begin: "cleaned", args: []string{"backup", "g", "new.backup", "--replace", jobMemory}, file: "new.backup"},
	"restore": {begin: "backed up", args: []string{"restore", "g.backup", "r", jobMemory}, db: "r"},
	"import --append": {begin: "appending", args: []string{
		"import", "g", "--append", "--nodes=more.csv", "--edges=more-edges.csv", jobMemory}},
	"import --append, many": {begin: "appending", args: []string{
		"import", "g", "--append", "--nodes=more.csv", "--edges=many-edges.csv", jobMemory}},
	"remove": {begin: "appending", args: []string{"remove", "g", "--nodes=gone.csv", jobMemory}},
	"remove, many": {begin: "appending", args: []string{
		"remove", "g", "--nodes=gone.csv", "--edges=gone-edges.csv", jobMemory}},
	"updates":   {begin: "cleaned", do: updates},
	"decisions": {begin: "cleaned", do: decisions},
}

// updates changes the graph in twelve transactions, each of a label, a value, an edge and a node.
func updates(store *kv.Store, acknowledge func(int)) error {
	const space, key = "steps", "done"
	for {
		done := 0
		err := store.Update(func(tx *kv.Tx) error {
			if err := tx.Documents(space).Get(key, &done); err != nil && !errors.Is(err, kv.ErrNotFound) {
				return err
			}
			if done == 12 {
				return nil
			}
			done++
			v, u := kv.NodeID(3*done), kv.NodeID(5*done+1)
			added, err := tx.AddNode(kv.Node{ID: fmt.Sprint("added", done), Label: "Theory"})
			return errors.Join(err, tx.SetLabel(v, "Databases"), tx.SetValue(v, "year", kv.ValueOf(int64(done))),
				tx.AddEdge(added, u), tx.Documents(space).Put(key, done))
		})
		if err != nil {
			return err
		}
		acknowledge(done)
		if done == 12 {
			return nil
		}
	}
}

// decisions decides on nodes and takes back, in fourteen steps of the history.
func decisions(store *kv.Store, acknowledge func(int)) error {
	ctx, opt := context.Background(), decide.Options{Who: "a person", Why: "seen",
		Time: time.Unix(1e9, 0)}
	kinds := []decide.Kind{decide.Accept, decide.Reject, decide.Relabel, decide.Unlabel, decide.Unsure}
	for {
		step := 0
		err := store.View(func(tx *kv.Tx) error {
			for d, err := range decide.History(ctx, tx, kv.NoNode) {
				if err != nil {
					return err
				}
				step = int(d.Step)
			}
			return nil
		})
		if err != nil {
			return err
		}
		acknowledge(step)
		if step == 14 {
			return nil
		}
		if step%4 == 3 {
			_, err = cleaner.Undo(ctx, store, opt)
		} else {
			var requests []decide.Request
			for i := range 1 + step%3 {
				request := decide.Request{Node: kv.NodeID(4*step + i), Kind: kinds[(step+i)%len(kinds)]}
				if request.Kind == decide.Relabel {
					request.To = demograph.Fields[step%len(demograph.Fields)]
				}
				requests = append(requests, request)
			}
			_, err = decide.Write(ctx, store, requests, opt)
		}
		if err != nil {
			return err
		}
	}
}

// doJob runs the job of a process in its working directory; it returns the exit code.
func doJob(name string) int {
	if err := faults.Begin(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitUsage
	}
	j := jobs[name]
	if j.args != nil {
		return shell.Main(context.Background(), j.args, strings.NewReader(""), os.Stdout, os.Stderr)
	}
	err := withStore("g", kv.Options{MemoryBudget: 1}, func(store *kv.Store) error {
		return j.do(store, func(step int) { fmt.Println(acknowledged, step) })
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	return exitDone
}

// acknowledged begins a line of the output of a job, about a step.
const acknowledged = "acknowledged"

// templates are directories that jobs begin with, each made of the one before by a command.
var templates = struct {
	made  sync.Once
	dir   string
	err   error
	steps []struct {
		name string
		make func(dir string) error
	}
}{steps: []struct {
	name string
	make func(dir string) error
}{
	{"files", func(dir string) error { return demograph.New(64, 1).Write(dir) }},
	{"predicted", func(dir string) error {
		return errors.Join(
			command("import", filepath.Join(dir, "g"), "--nodes="+filepath.Join(dir, "nodes.csv"),
				"--edges="+filepath.Join(dir, "edges.csv"), jobMemory),
			command("predict", filepath.Join(dir, "g"), jobMemory))
	}},
	{"cleaned", func(dir string) error { return command("clean", filepath.Join(dir, "g"), jobMemory) }},
	{"changed", func(dir string) error {
		return withStore(filepath.Join(dir, "g"), kv.Options{MemoryBudget: 1}, func(store *kv.Store) error {
			return updates(store, func(int) {})
		})
	}},
	{"backed up", func(dir string) error {
		return command("backup", filepath.Join(dir, "g"), filepath.Join(dir, "g.backup"), jobMemory)
	}},
	{"appending", writeAppended},
}}

// writeAppended writes files of what is to be added to a store, and removed from it: few rows, and so many that the
// graph is written again.
func writeAppended(dir string) error {
	nodes, err := os.ReadFile(filepath.Join(dir, "nodes.csv"))
	if err != nil {
		return err
	}
	edges, err := os.ReadFile(filepath.Join(dir, "edges.csv"))
	if err != nil {
		return err
	}
	var ids []string
	for _, line := range strings.Split(strings.TrimSpace(string(nodes)), "\n")[1:] {
		id, _, _ := strings.Cut(line, ",")
		ids = append(ids, id)
	}
	firstEdge := strings.Split(string(edges), "\n")[1]
	files := map[string]string{
		"more.csv":       "id,label,note\nnew 1,Theory,a\nnew 2,,b\n" + ids[7] + ",Databases,\n",
		"more-edges.csv": "src,dst\nnew 1," + ids[3] + "\nnew 1,new 2\n" + ids[5] + "," + ids[9] + "\n",
		"many-edges.csv": "src,dst\n" + strings.Repeat("new 1,"+ids[3]+"\n"+ids[5]+",new 2\n", 9000),
		"gone.csv":       "id\n" + ids[2] + "\n" + ids[40] + "\n",
		"gone-edges.csv": "src,dst\n" + strings.Repeat(firstEdge+"\n", 17_000),
	}
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return err
}

// command runs a command line that must succeed.
func command(args ...string) error {
	var out strings.Builder
	if code := shell.Main(context.Background(), args, strings.NewReader(""), io.Discard, &out); code != exitDone {
		return fmt.Errorf("%q: exit code %d: %s", args, code, out.String())
	}
	return nil
}

// templateDir returns the directory of a template, which is not to be changed.
func templateDir(t *testing.T, name string) string {
	t.Helper()
	templates.made.Do(func() {
		if templates.dir, templates.err = os.MkdirTemp("", "templates"); templates.err != nil {
			return
		}
		before := ""
		for _, step := range templates.steps {
			dir := filepath.Join(templates.dir, step.name)
			err := os.Mkdir(dir, 0o755)
			if err == nil && before != "" {
				err = memdir.Copy(before, dir)
			}
			if templates.err = errors.Join(err, step.make(dir)); templates.err != nil {
				return
			}
			before = dir
		}
	})
	if templates.err != nil {
		t.Fatal(templates.err)
	}
	return filepath.Join(templates.dir, name)
}

// A trial is a job and what is known of it when nothing disturbs it.
type trial struct {
	job
	name   string
	states []string // what is in the store after each step that changes it
	output string   // what is in the file
	files  []string // once it is done
	counts sync.Map // by the kind of fault: the operations that it can meet
}

// trials are those of all tests, by the name of the job: each is made once.
var trials sync.Map

// A sharedTrial is made by the first test that wants it.
type sharedTrial struct {
	made sync.Once
	*trial
}

// trialOf is the trial of a job.
func trialOf(t *testing.T, name string) *trial {
	t.Helper()
	found, _ := trials.LoadOrStore(name, &sharedTrial{})
	shared := found.(*sharedTrial)
	shared.made.Do(func() { shared.trial = newTrial(t, name) })
	if shared.trial == nil {
		t.Fatalf("%s fails undisturbed", name)
	}
	return shared.trial
}

// newTrial does a job undisturbed.
func newTrial(t *testing.T, name string) *trial {
	t.Helper()
	tr := &trial{job: jobs[name], name: name}
	if tr.db == "" {
		tr.db = "g"
	}
	dir := tr.directory(t)
	tr.states = append(tr.states, contents(t, filepath.Join(dir, tr.db)))
	if tr.do != nil {
		must.Do(t, withFreeStore(filepath.Join(dir, tr.db), kv.Options{MemoryBudget: 1}, func(store *kv.Store) error {
			return tr.do(store, func(int) {
				if state := storeContents(t, store); state != tr.states[len(tr.states)-1] {
					tr.states = append(tr.states, state)
				}
			})
		}))
		dir = tr.directory(t)
	}
	got := tr.run(t, dir, faults.Plan{})
	if got.err != nil {
		t.Fatalf("undisturbed: %v\n%s", got.err, got.text)
	}
	last := contents(t, filepath.Join(dir, tr.db))
	if tr.do == nil && last != tr.states[0] {
		tr.states = append(tr.states, last)
	}
	tr.output = tr.made(t, dir)
	if want := tr.states[len(tr.states)-1]; last != want {
		t.Fatalf("%s in another process: %s", name, firstDifference(last, want))
	}
	tr.files = filesIn(t, dir)
	return tr
}

// directory is a new one with what the job begins with.
func (tr *trial) directory(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = memdir.Copy(templateDir(t, tr.begin), dir)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "tmp"), 0o755)
	}
	must.Do(t, err)
	return dir
}

// made is the content of the file of the job; empty where it is not there.
func (tr *trial) made(t *testing.T, dir string) string {
	t.Helper()
	if tr.file == "" {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(dir, tr.file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// A try is how the process of a job ended.
type try struct {
	faults.Outcome
	err   error // of the process
	text  string
	steps int // the last that was acknowledged
}

// run does the job in a process of its own, with a fault where the plan has a kind.
func (tr *trial) run(t *testing.T, dir string, plan faults.Plan) (got try) {
	t.Helper()
	for range lockTries {
		got = tr.runOnce(t, dir, plan)
		if got.err == nil || !strings.Contains(got.text, lockWords) {
			break
		}
		time.Sleep(lockWait)
	}
	return got
}

func (tr *trial) runOnce(t *testing.T, dir string, plan faults.Plan) try {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Dir = dir
	child.Env = append(os.Environ(), jobVariable+"="+tr.name, "TMPDIR="+filepath.Join(dir, "tmp"))
	var out strings.Builder
	child.Stdout, child.Stderr = &out, &out
	var got try
	if plan.Kind == "" {
		got.err = child.Run()
	} else {
		plan.Dir = dir
		outcome := must.Get(faults.Run(child, plan))(t)
		got.Outcome, got.err = outcome, outcome.Err
	}
	got.text = out.String()
	for line := range strings.Lines(got.text) {
		if number, ok := strings.CutPrefix(strings.TrimSpace(line), acknowledged+" "); ok {
			var err error
			if got.steps, err = strconv.Atoi(number); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		}
	}
	return got
}

// judge says what is wrong with what a disturbed job left in dir, and with what the same job makes of it; the files
// that a job of the same name goes on with may be there between.
func (tr *trial) judge(t *testing.T, dir string, got try) (wrong []string) {
	t.Helper()
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	code := -1
	if exit, ok := errors.AsType[*exec.ExitError](got.err); ok {
		code = exit.ExitCode()
	} else if got.err == nil {
		code = exitDone
	}
	killed := code == -1 && !errors.Is(got.err, faults.ErrHung)
	for _, sign := range []string{"panic", "fatal error", "goroutine ", "SIGBUS", "unexpected fault"} {
		if strings.Contains(got.text, sign) {
			complain("it panicked")
			break
		}
	}
	switch {
	case errors.Is(got.err, faults.ErrHung):
		complain("it hung")
	case code > exitFailed:
		complain("exit code %d", code)
	case code == exitFailed && strings.TrimSpace(got.text) == "":
		complain("no message")
	}
	ended := strings.HasSuffix(got.Operation, "/DISCARD") && strings.Contains(got.text, "DISCARD") // by Badger, at once
	if code == exitFailed && !ended {
		for _, name := range filesIn(t, dir) {
			if !tr.expects(t, name) {
				complain("left over: %s", name)
			}
		}
	}
	db := filepath.Join(dir, tr.db)
	state := slices.Index(tr.states, contents(t, db))
	last := len(tr.states) - 1
	switch {
	case state < 0:
		complain("another content: %s", firstDifference(contents(t, db), tr.states[last]))
	case state < got.steps, code == exitDone && state != last:
		complain("lost: step %d was acknowledged, exit code %d, and the store is at step %d of %d", got.steps, code,
			state, last)
	case tr.do != nil && state > got.steps+1:
		complain("step %d was acknowledged, and the store is at step %d", got.steps, state)
	}
	if state >= 0 && tr.states[state] != noStore {
		if found := problems(t, db); found != "" {
			complain("check: %s", found)
		}
	}
	if made := tr.made(t, dir); made != tr.output && (made != "" || code == exitDone) {
		complain("half of %s, or another", tr.file)
	}
	if state == last && last > 0 { // done, and not to be done again
		return wrong
	}
	if again := tr.run(t, dir, faults.Plan{}); again.err != nil {
		complain("again: %v: %s", again.err, again.text)
		return wrong
	}
	if state := contents(t, db); state != tr.states[last] {
		complain("another content after it was done again: %s", firstDifference(state, tr.states[last]))
	}
	if found := problems(t, db); found != "" {
		complain("check, after it was done again: %s", found)
	}
	if made := tr.made(t, dir); made != tr.output {
		complain("another %s after it was done again", tr.file)
	}
	if files := filesIn(t, dir); !slices.Equal(files, tr.files) {
		complain("files after it was done again: got %v, want %v (killed: %v)", files, tr.files, killed)
	}
	return wrong
}

// expects says whether a job that failed may have left a file: those that were there, that it makes, or goes on with.
// Of a store whose writing failed its file LOCK may stay, and its packs may have the names of an open store. The next
// open takes them over.
func (tr *trial) expects(t *testing.T, name string) bool {
	t.Helper()
	return slices.Contains(tr.files, name) || slices.Contains(filesIn(t, templateDir(t, tr.begin)), name) ||
		name == tr.db+"/LOCK" || strings.HasPrefix(name, tr.db+".loading/") || strings.HasPrefix(name, tr.db+"/work/")
}

// filesIn are the names of the files under a directory, except those of Badger and packs in stores, of which there may
// be any number, and the digits that name a run.
func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		switch filepath.Ext(name) {
		case ".sst", ".vlog", ".mem", ".pack":
			return err
		}
		names = append(names, filepath.ToSlash(name))
		return err
	}))
	return names
}

// noStore is the contents of a store that is not there.
const noStore = "no store"

// contents is all that a store holds, as text, except the times in it.
func contents(t *testing.T, db string) (text string) {
	t.Helper()
	if _, err := os.Stat(db); errors.Is(err, fs.ErrNotExist) {
		return noStore
	}
	read := func(store *kv.Store) error {
		text = storeContents(t, store)
		return nil
	}
	err := withFreeStore(db, kv.Options{MemoryBudget: 1, ReadOnly: true}, read)
	if errors.Is(err, kv.ErrCrashed) {
		err = withFreeStore(db, kv.Options{MemoryBudget: 1}, read)
	}
	if err != nil {
		return "cannot be opened: " + err.Error()
	}
	return text
}

// withFreeStore is withStore once nobody holds the store: a process that another test has just forked holds all that is
// open in this one until it begins its program.
func withFreeStore(db string, opt kv.Options, fn func(*kv.Store) error) (err error) {
	for range lockTries {
		if err = withStore(db, opt, fn); !errors.Is(err, kv.ErrLocked) {
			return err
		}
		time.Sleep(lockWait)
	}
	return err
}

const (
	lockTries = 200
	lockWait  = 20 * time.Millisecond
	lockWords = " is in use by " // of an ErrLocked
)

// problems is the output of the command check if it finds any problem.
func problems(t *testing.T, db string) string {
	t.Helper()
	var checked outcome
	for range lockTries {
		checked = run(t, "check", db, jobMemory)
		if checked.code == exitDone {
			return ""
		}
		if !strings.Contains(checked.err, lockWords) {
			break
		}
		time.Sleep(lockWait)
	}
	return checked.out + checked.err
}

func storeContents(t *testing.T, store *kv.Store) string {
	t.Helper()
	var b strings.Builder
	err := store.View(func(tx *kv.Tx) error {
		fmt.Fprintln(&b, tx.NumNodes(), tx.Shape().Edges, tx.Classes())
		for v, err := range tx.InFileOrder() {
			if err != nil {
				return err
			}
			id, err := tx.ID(v)
			if err != nil {
				return err
			}
			fmt.Fprint(&b, v, " ", id)
			for _, column := range tx.Columns() {
				value, err := tx.Value(v, column.Name)
				if err != nil {
					return err
				}
				fmt.Fprint(&b, " ", column.Name, "=", value)
			}
			fmt.Fprintln(&b)
		}
		blocks, err := tx.AdjacencyBlocks()
		if err != nil {
			return err
		}
		var lists kv.Adjacency
		for _, r := range blocks {
			if err := tx.ReadAdjacency(r, &lists); err != nil {
				return err
			}
			fmt.Fprintln(&b, lists.Offsets, lists.Neighbors)
		}
		for _, name := range tx.Matrices() {
			m, err := tx.Matrix(name)
			if err != nil {
				return err
			}
			width := len(m.Columns())
			rows := make([]float32, tx.NumNodes()*width)
			if err := m.Read(kv.Range{End: kv.NodeID(tx.NumNodes())}, 0, width, rows); err != nil {
				return err
			}
			for row := range slices.Chunk(rows, width) {
				fmt.Fprintln(&b, name, row)
			}
		}
		return errors.Join(runContents(&b, tx), modelContents(&b, tx))
	})
	if err != nil {
		return "cannot be read: " + err.Error()
	}
	return b.String()
}

// runContents writes what each run found, and all decisions.
func runContents(w io.Writer, tx *kv.Tx) error {
	runs, err := cleaner.Runs(tx)
	for _, run := range runs {
		fmt.Fprintln(w, "run", run.ID, run.Seed, run.Preset, run.Scored, run.Suspects, run.Threshold, run.MislabelRate)
	}
	if err != nil {
		return err
	}
	for d, err := range decide.History(context.Background(), tx, kv.NoNode) {
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "decision %+v\n", d)
	}
	return nil
}

// modelContents writes what the model of the last run makes of the last node, which the kept classifier predicts if it
// was added, and how many scores are older than changes.
func modelContents(w io.Writer, tx *kv.Tx) error {
	run, err := cleaner.LastRun(tx)
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	stale, err := cleaner.CountStale(context.Background(), tx, run, tx.NumNodes())
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "stale", stale)
	last := []kv.NodeID{kv.NodeID(tx.NumNodes() - 1)}
	scores, err := cleaner.Score(context.Background(), tx, last, ops.Options{MemoryBudget: 64 << 20, Workers: 1})
	if errors.Is(err, kv.ErrNotFound) || errors.Is(err, cleaner.ErrNoModel) {
		fmt.Fprintln(w, err)
		return nil
	}
	fmt.Fprintln(w, "score", scores)
	return err
}

// reportSurvived logs how many of the tries of a job were survived, as the table of durability collects it.
func reportSurvived(t *testing.T, what, name string, survived, tried int) {
	t.Helper()
	t.Logf("durability: %s: %s: %d of %d", what, name, survived, tried)
}

// asked is the number in a variable of the environment, or another without it.
func asked(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// jobsOf are the names of the jobs that one of four tests disturbs: all of them at length, or where the variable says
// how often. Otherwise each job has one of the tests, so that every job is disturbed, and every test has jobs of all
// kinds.
func jobsOf(test int, variable string) (names []string) {
	for i, name := range slices.Sorted(maps.Keys(jobs)) {
		if longtest.Asked() || os.Getenv(variable) != "" || i%4 == test {
			names = append(names, name)
		}
	}
	return names
}

func TestMain(m *testing.M) {
	if name := os.Getenv(jobVariable); name != "" {
		debug.SetGCPercent(400)
		os.Exit(doJob(name))
	}
	os.Exit(memdir.Tests(withTemplates{m}).Run())
}

// withTemplates runs tests, and removes after them the directory that they copy.
type withTemplates struct{ *testing.M }

func (m withTemplates) Run() int {
	defer func() {
		if templates.dir != "" {
			_ = os.RemoveAll(templates.dir) // the tests are over
		}
	}()
	return m.M.Run()
}

// Exit codes of shell.Main.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// An outcome has the exit code and the output of one run of the program.
type outcome struct {
	code     int
	out, err string
}

// run runs a command line.
func run(t *testing.T, args ...string) outcome {
	t.Helper()
	var out, errOut strings.Builder
	code := shell.Main(t.Context(), args, strings.NewReader(""), &out, &errOut)
	return outcome{code, out.String(), errOut.String()}
}

// withStore opens a store, runs fn, and closes it.
func withStore(dir string, opt kv.Options, fn func(*kv.Store) error) (err error) {
	store, err := index.Open(dir, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return fn(store)
}

// firstDifference shows the first lines in which two texts differ.
func firstDifference(got, want string) string {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			return fmt.Sprintf("line %d: got %q, want %q", i+1, gotLines[i], wantLines[i])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(gotLines), len(wantLines))
}
