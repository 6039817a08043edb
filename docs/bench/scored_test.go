package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A scored store holds as many scores of each height as were asked for, indexed, and is asked like one that was
// cleaned.
func TestScoredAndAsk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "scored")
	var out bytes.Buffer
	if code := run([]string{"scored", "--nodes", "9000", "--suspects", "30", "--classes", "5", "--out", dir}, &out,
		os.Stderr); code != 0 {
		t.Fatalf("scored: exit code %d", code)
	}
	store, err := index.Open(dir, kv.Options{MemoryBudget: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	err = store.View(func(tx *kv.Tx) error {
		if tx.NumNodes() != 9000 || len(tx.Classes()) != 5 {
			t.Errorf("got %d nodes and %d classes, want 9000 and 5", tx.NumNodes(), len(tx.Classes()))
		}
		return index.Check(context.Background(), tx, func(p kv.Problem) { t.Errorf("%s", p) })
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for statement, want := range map[string]int{
		"suspects": 30, "suspects where score>0.97": 30, "suspects where score>0.9": 630, "nodes where year is null": 0,
		"nodes where score<=0.9 and source like 'source %'": 9000 - 630,
	} {
		out.Reset()
		if code := run([]string{"ask", dir, statement, "--repeats", "3"}, &out, os.Stderr); code != 0 {
			t.Fatalf("%s: exit code %d", statement, code)
		}
		var report askReport
		if err := json.Unmarshal(out.Bytes(), &report); err != nil {
			t.Fatal(err)
		}
		if report.Rows != want || len(report.AllMS) != 3 || want > 0 &&
			(len(report.FirstMS) != 3 || report.FirstMS[0] > report.AllMS[0]) {
			t.Errorf("%s: got %+v, want %d rows and three times", statement, report, want)
		}
	}
}

func TestScoredRefusesWhatItCannotMake(t *testing.T) {
	for _, args := range [][]string{{"--nodes", "0"}, {"--classes", "1"}, {"--nodes", "100", "--suspects", "5"},
		{"--degree=-1"}} {
		out := filepath.Join(t.TempDir(), "scored")
		if code := run(append([]string{"scored", "--out", out}, args...), new(bytes.Buffer), new(bytes.Buffer)); code != 1 {
			t.Errorf("%v: exit code %d, want 1", args, code)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%v: a store was made", args)
		}
	}
}
