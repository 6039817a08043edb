package kv

import (
	"testing"
)

// TestLogsArePinnedByReaders takes the logs that stay for a reader's only where there is one.
func TestLogsArePinnedByReaders(t *testing.T) {
	s := newStore(t, Options{})
	update(t, s, func(*Tx) error {
		if s.isRead() {
			t.Error("an Update alone: its logs are taken to be those of a reader")
		}
		return nil
	})
	tx := s.Begin()
	if !s.isRead() {
		t.Error("beside a snapshot: its logs are taken to wait for the flush")
	}
	tx.Close()
	if s.isRead() {
		t.Error("after a snapshot: logs are taken to be those of a reader")
	}
}
