package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/cleaner"
)

// A drawn is what a method says of the nodes under test in one draw of noise.
type drawn struct {
	Scores       []float64 `json:"scores"`
	Wrong        []bool    `json:"wrong"` // the node is mislabelled
	MislabelRate float64   `json:"mislabel_rate"`
}

func newDrawn(m cleaner.Measurement) *drawn {
	d := &drawn{MislabelRate: m.MislabelRate}
	for _, v := range m.Nodes {
		d.Scores, d.Wrong = append(d.Scores, m.Scores[v]), append(d.Wrong, m.Truth[v] != m.Labels[v])
	}
	return d
}

// kept is a directory of finished draws, by method, for one build of the program only.
type kept string

// openKept makes the directory.
func openKept() (kept, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	build, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(build)
	dir := filepath.Join(cache, "graphcleaner-detection", "guarantees", hex.EncodeToString(digest[:6]))
	return kept(dir), os.MkdirAll(dir, 0o777)
}

func (k kept) path(dataset, noise string, seed uint64) string {
	return filepath.Join(string(k), fmt.Sprintf("%s-%s-%d.json", dataset, noise, seed))
}

// load returns nil where the draw is not kept.
func (k kept) load(dataset, noise string, seed uint64) (byMethod map[string]*drawn, err error) {
	text, err := os.ReadFile(k.path(dataset, noise, seed))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return byMethod, json.Unmarshal(text, &byMethod)
}

// save keeps a draw, whole or not at all.
func (k kept) save(dataset, noise string, seed uint64, byMethod map[string]*drawn) error {
	text, err := json.Marshal(byMethod)
	if err != nil {
		return err
	}
	path := k.path(dataset, noise, seed)
	if err := os.WriteFile(path+".part", text, 0o666); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}
