package kv_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// loadManyClasses loads two nodes and so many classes.
func loadManyClasses(t *testing.T, count int) error {
	t.Helper()
	classes := make([]string, count)
	for k := range classes {
		classes[k] = fmt.Sprintf("class %09d", k) // 15 bytes, and one before them
	}
	dir := filepath.Join(t.TempDir(), "store")
	l := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{MemoryBudget: 16 << 20, Classes: classes}))(t)
	for _, id := range []string{"a", "b"} {
		must.Do(t, l.AddNode(kv.Node{ID: id, Label: classes[0]}))
	}
	if _, err := l.Commit(context.Background(), nil); err != nil {
		return errors.Join(err, l.Abort())
	}
	s := must.Get(kv.Open(dir, kv.Options{MemoryBudget: 16 << 20}))(t)
	defer func() { must.Do(t, s.Close()) }()
	return s.View(func(tx *kv.Tx) error {
		if got := len(tx.Classes()); got != count {
			t.Errorf("got %d classes, want %d", got, count)
		}
		return nil
	})
}

// TestMostClasses loads as many classes as the catalogue takes, by what the refusal of too many says, and one more.
func TestMostClasses(t *testing.T) {
	err := loadManyClasses(t, 200_000)
	if !errors.Is(err, kv.ErrCatalogTooBig) || errors.Is(err, kv.ErrTxTooBig) {
		t.Fatalf("200,000 classes: got %v, want ErrCatalogTooBig", err)
	}
	said := regexp.MustCompile(`^kv: too many names: 200000 classes, \d+ columns of nodes and 0 of matrices take (\d+) bytes, and the catalogue takes at most (\d+): `).
		FindStringSubmatch(err.Error())
	if said == nil || len(err.Error()) > 300 {
		t.Fatalf("200,000 classes: got %q, want the numbers", err)
	}
	size := must.Get(strconv.Atoi(said[1]))(t)
	limit := must.Get(strconv.Atoi(said[2]))(t)
	rest := size - 16*200_000
	most := (limit - rest) / 16
	if err := loadManyClasses(t, most); err != nil {
		t.Errorf("%d classes: got %v, want none", most, err)
	}
	if err := loadManyClasses(t, most+1); !errors.Is(err, kv.ErrCatalogTooBig) {
		t.Errorf("%d classes: got %v, want ErrCatalogTooBig", most+1, err)
	}
}
