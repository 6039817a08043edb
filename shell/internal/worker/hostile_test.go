package worker

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"strings"
	"testing"
)

// runHostile runs a worker on frames that no Spark sends, and returns its error.
func runHostile(t *testing.T, frames ...Frame) error {
	t.Helper()
	return Run(context.Background(), testVersion, bytes.NewReader(stream(t, frames...)), io.Discard)
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
}

// TestRowsBeyondMemory wants an error where a few bytes ask for rows that the memory of the job does not hold.
func TestRowsBeyondMemory(t *testing.T) {
	job := smallJob()
	job.Chunk, job.Ranges, job.Classes = mostChunk, []uint64{0, mostChunk, mostChunk + 1<<31}, mostClasses
	zeros := func(width int) []byte { return make([]byte, bitmapBytes(width)) }
	sums := Frame{Kind: KindSums, Count: 1, Width: mostClasses, Payload: zeros(mostClasses)}
	hop := job
	hop.Mode, hop.Hop, hop.Of = modeHop, 2, ofLabels
	wantError(t, runHostile(t, jobFrame(t, Add, hop), sums), "the chunk of range 0 from row 0 on has 1048576 rows of "+
		"1048576 columns, which take 17592186044416 bytes, more than")

	slice := job
	slice.Mode, slice.Ranges, slice.Classes = modeSlice, []uint64{0, 1, 1 + 1<<31}, 2
	row := Frame{Kind: KindSlice, Count: 1, Width: 2, Payload: make([]byte, 8)}
	arcs := Frame{Kind: KindArcs, Row: 1, Count: 1 << 31, Payload: []byte{2, 0, 0, 0, 0, 0}}
	wantError(t, runHostile(t, jobFrame(t, Multiply, slice), row, arcs), "2147483648 rows are not in one chunk of 1048576")

	job.Chunk = 2 * mostChunk
	wantError(t, runHostile(t, jobFrame(t, Strength, job)), "chunks of 2097152 rows, want at most 1048576")
}

// TestRowsBeyondNumbers wants an error where rows × columns is more than a number holds.
func TestRowsBeyondNumbers(t *testing.T) {
	job := smallJob()
	hop := job
	hop.Mode, hop.Hop, hop.Of = modeHop, 2, ofLabels
	empty := Frame{Kind: KindLabels, Count: 1 << 31, Width: 1 << 31}
	wantError(t, runHostile(t, jobFrame(t, Fit, job), empty),
		"labels of range 0 from row 0 on: 0 bytes for 2147483648 rows, want 8589934592 for each")
	empty.Kind = KindMembers
	wantError(t, runHostile(t, jobFrame(t, Add, hop), empty),
		"members of range 0 from row 0 on: 0 bytes for 2147483648 rows, want 8589934592 for each")
}

// TestValuesBeyondMemory wants an error where JSON has many values of a few bytes, each of which takes more in memory.
func TestValuesBeyondMemory(t *testing.T) {
	const values = mostPayload/valueBytes + 1
	many := func(value string) string { return "[" + strings.Repeat(value+",", values) + value + "]" }
	job := func(field string) Frame {
		text := `{"op":"census","memory":16777216,"chunk":4,"ranges":[0,4],"classes":0,"hops":1,` + field + "}"
		return Frame{Operation: Census, Kind: KindJob, Payload: []byte(text)}
	}
	const want = "more than 699050 values, which take more than the memory of 16777216 bytes"
	for field, value := range map[string]string{"names": `""`, "ranges": "0", "verdicts": "{}", "bins": "0",
		"census": "[]"} {
		wantError(t, runHostile(t, job(`"`+field+`":`+many(value))), "job: "+want)
	}
	wantError(t, runHostile(t, job(`"drawn":false`), Frame{Kind: KindVerdicts, Payload: []byte(many("{}"))}),
		"verdicts: "+want)
	err := runHostile(t, job(`"version":"`+strings.Repeat(`\",[`, mostText/5)+`"`))
	wantError(t, err, "use one version of graphcleaner everywhere") // a text is one value
}

// TestLongValues wants errors for texts and numbers that no job has. They quote little of them.
func TestLongValues(t *testing.T) {
	const tooLong = "want texts of at most 1048576 and numbers of at most 1024"
	long, digits := strings.Repeat("x", mostText), strings.Repeat("1", 2*mostNumber)
	for field, want := range map[string]string{
		`"version":"` + long + `"`:                        tooLong,
		`"names":["a", "` + long + `"]`:                   tooLong,
		`"unknown":{"` + long + `":1}`:                    tooLong,
		`"hop":` + digits:                                 tooLong,
		`"memory": ` + digits:                             tooLong,
		`"census":{"counts":[` + digits + `]}`:            tooLong,
		`"version":"` + long[5:] + `"`:                    "use one version of graphcleaner everywhere",
		`"names":["` + long[5:] + `","` + long[5:] + `"]`: "classes 0 and 1 have the name",
		`"of":"` + long[5:] + `","hop":2,"mode":"hop"`:    "hop 2 of",
		`"mode":"` + long[5:] + `"`:                       "mode ",
		`"ranges":[1` + strings.Repeat(",1", 1000) + "]":  "where the others begin",
	} {
		op := Add
		if strings.HasPrefix(field, `"names"`) {
			op = Census
		}
		text := `{"op":"` + op.String() + `","memory":16777216,"chunk":4,"ranges":[0,4],"classes":2,"hops":3,` + field + "}"
		err := runHostile(t, Frame{Operation: op, Kind: KindJob, Payload: []byte(text)})
		wantError(t, err, want)
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%.40s: the error has %d bytes", field, len(err.Error()))
		}
	}
}

// TestFramesTwice wants an error where a frame comes again, and not the values of the last.
func TestFramesTwice(t *testing.T) {
	job := smallJob()
	frames := map[Kind]Frame{}
	for _, f := range rightFrames(job) {
		frames[f.Kind] = f
	}
	census := []byte(`{"census":{"Names":["a","b"],"Counts":[3,2]}}`)
	hop := job
	hop.Mode, hop.Hop, hop.Of = modeHop, 2, ofLabels
	noise := job
	noise.Mode, noise.Census = modeThresholds, census
	reach := job
	reach.Mode, reach.Most = modeReach, 2
	for _, c := range []struct {
		op   Operation
		job  Job
		kind Kind
		want string
	}{
		{Strength, job, KindLabels, "labels of range 1 from row 0 on, part 0, comes twice"},
		{Noise, noise, KindPredictions, "comes twice"},
		{Noise, noise, KindSplits, "comes twice"},
		{Add, hop, KindMembers, "comes twice"},
		{Add, hop, KindTested, "comes twice"},
		{Fit, job, KindLabels, "comes twice"},
		{Fit, job, KindBallots, "comes twice"},
		{Fit, job, KindSample, "comes twice"},
		{Pack, reach, KindStrength, "after 4 rows: want every row once"},
	} {
		t.Run(c.op.String()+" "+c.kind.String(), func(t *testing.T) {
			group := Frame{Kind: KindGroup, Row: 1}
			wantError(t, runHostile(t, jobFrame(t, c.op, c.job), group, frames[c.kind], frames[c.kind]), c.want)
		})
	}
}

// TestNumbersThatAreNone wants an error for values that no sum and no classifier gives.
func TestNumbersThatAreNone(t *testing.T) {
	job := smallJob()
	job.Mode, job.Census = modeThresholds, []byte(`{"census":{"Names":["a","b"],"Counts":[3,2]}}`)
	right := map[Kind]Frame{}
	for _, f := range rightFrames(job) {
		right[f.Kind] = f
	}
	group := Frame{Kind: KindGroup, Row: 1}
	none := float32(math.NaN())
	for _, row := range [][]float32{{2, 0}, {-5, 1}, {float32(math.Inf(1)), 0}, {none, 1}, {0, none}} {
		predictions := right[KindPredictions]
		predictions.Payload = appendVector(nil, append([]float32{1, 0, 0, 1, none, none}, row...))
		wantError(t, runHostile(t, jobFrame(t, Noise, job), group, predictions), "predictions of range 1 from row 0 on: row 3 has the prediction")
		multiply := job
		multiply.Mode = modePredictions
		wantError(t, runHostile(t, jobFrame(t, Multiply, multiply), group, right[KindStrength], predictions), "row 3 has the prediction")
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), -1} {
		strengths := right[KindStrength]
		strengths.Payload = appendVector(nil, []float64{1, 2, x, 1})
		multiply := job
		multiply.Mode = modeFirst
		wantError(t, runHostile(t, jobFrame(t, Multiply, multiply), group, strengths), "want a finite number from 0 on")
	}
	job.Names = []string{"a", "a"}
	wantError(t, runHostile(t, jobFrame(t, Census, job)), `classes 0 and 1 have the name "a"`)
	job.Names = []string{"a", ""}
	wantError(t, runHostile(t, jobFrame(t, Census, job)), "class 1 has no name")
}

// TestReportsThatAreMissing wants an error that says so, of a job without what an operation before has reported.
func TestReportsThatAreMissing(t *testing.T) {
	job := smallJob()
	job.Mode, job.Census = modeJoint, []byte(`{}`)
	wantError(t, runHostile(t, jobFrame(t, Noise, job)), "noise: bad frame: the job has no census")
	job.Census, job.Thresholds = []byte(`{"census":{"Names":["a","b"],"Counts":[3,2]}}`), []byte(`{"sums":[1],"counts":[2,2]}`)
	err := runHostile(t, jobFrame(t, Noise, job))
	wantError(t, err, "thresholds: sums of 1 classes and counts of 2, want 2")
	if strings.Contains(err.Error(), "%!") {
		t.Error(err)
	}
}

// TestTornHeaders wants the frame before one whose header breaks off.
func TestTornHeaders(t *testing.T) {
	job := smallJob()
	whole := stream(t, jobFrame(t, Strength, job), rightFrames(job)[0])
	err := Run(context.Background(), testVersion, bytes.NewReader(whole[:len(whole)-7]), io.Discard)
	wantError(t, err, "frame 3 breaks off after 33 bytes of its header, behind labels of range 1 from row 0 on")
}

// TestMembersOfAnotherChunk wants an error for members of a chunk that the group is not about.
func TestMembersOfAnotherChunk(t *testing.T) {
	job := smallJob()
	job.Ranges, job.Mode, job.Hop, job.Of = []uint64{0, 8}, modeHop, 2, ofLabels
	labels := Frame{Kind: KindLabels, Count: 4, Payload: make([]byte, 16)}
	members := Frame{Kind: KindMembers, First: 4, Count: 1, Payload: appendVector(nil, []uint32{7})}
	wantError(t, runHostile(t, jobFrame(t, Add, job), labels, members), "members of range 0 from row 4 on in the group of range 0 from row 0 on")
	members.First, members.Payload = 8, nil
	wantError(t, runHostile(t, jobFrame(t, Add, job), members), "members of range 0 from row 8 on: the range has 8 rows")
}

// TestArcsLeaveNoFiles breaks the input off when arcs lie on the disk, and wants the file gone.
func TestArcsLeaveNoFiles(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	job := smallJob()
	job.Ranges = []uint64{0, 1 << 31}
	edges := make([][2]uint64, mostChunk)
	for i := range edges {
		edges[i] = [2]uint64{uint64(i) * 2654435761 % (1 << 31), uint64(i)}
	}
	whole := stream(t, jobFrame(t, Arcs, job), edgesFrame(edges...), edgesFrame(edges...))
	spilled := false
	in := io.MultiReader(bytes.NewReader(whole[:len(whole)-headerBytes]), readerFunc(func([]byte) (int, error) {
		names, err := os.ReadDir(folder)
		spilled = len(names) > 0
		if err == nil {
			err = io.EOF
		}
		return 0, err
	}))
	wantError(t, Run(context.Background(), testVersion, in, io.Discard), "the input ends without an end frame")
	if names, err := os.ReadDir(folder); err != nil || !spilled || len(names) > 0 {
		t.Errorf("spilled: %t, left: %v (%v), want arcs on the disk, and nothing left", spilled, names, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
