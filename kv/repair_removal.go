package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// removals makes the records of removed nodes whole if they are damaged, or are not of as many nodes as were counted. A
// node whose removal nobody knows of any more comes back, without edges and values.
func (r *repair) removals(ctx context.Context, found *recordScan) error {
	tx := r.s.Begin()
	defer tx.Close()
	if tx.err != nil {
		return tx.err
	}
	_, damage := tx.readRemoved()
	if damage == nil && !r.uncounted || damage != nil && !errors.Is(damage, ErrCorrupt) {
		return damage
	}
	set, bad, err := r.findRemoved(ctx, tx)
	if err != nil || damage == nil && set.count == tx.cat.Removed {
		return err
	}
	if damage == nil {
		damage = record.Corrupt(countsKey(), "some removed nodes were not counted")
	}
	if err := r.s.removeAll(bad); err != nil {
		return err
	}
	if err := putRemovedSet(r.s.setRecord, tx.cat.Graph, set.nodes); err != nil {
		return err
	}
	counts := tx.cat.counts
	counts.Removed = set.count
	if err := r.s.setMessage(countsKey(), counts); err != nil {
		return err
	}
	found.damaged[tx.cat.Graph] = true // which nodes have no ids is written again with the ids
	where, done := "removed nodes", fmt.Sprintf("%d are known", set.count)
	if lost := tx.cat.Removed - set.count; lost > 0 && !r.uncounted {
		loss := Loss{Kind: "removal of a node", Count: int64(lost)}
		return r.lose(loss, where, damage.Error(), "%s; the others are there again, without edges and values", done)
	}
	return r.done(where, damage.Error(), "rebuilt: %s", done)
}

// findRemoved returns the nodes that are known to have been removed, and the keys of records that cannot be read.
func (r *repair) findRemoved(ctx context.Context, tx *Tx) (set *removedSet, bad [][]byte, err error) {
	set = &removedSet{nodes: NewNodeSet(tx.cat.Nodes)}
	add := func(v NodeID) {
		if !set.nodes.Has(v) {
			set.nodes.Add(v)
			set.count++
		}
	}
	err = eachRecord(ctx, tx.txn, record.Prefix(record.KindRemoved, tx.cat.Graph),
		func(rec record.Record, damage error) error {
			if damage != nil || tx.addRemoved(set, rec) != nil {
				bad = append(bad, bytes.Clone(rec.Key))
			}
			return nil
		})
	if err != nil {
		return nil, nil, err
	}
	ids := tx.dict().Reader()
	for position := range tx.cat.Nodes {
		if position%contextEvery == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		v, err := tx.dict().NodeAt(position)
		if err != nil || set.nodes.Has(v) { // an error is that of a damaged record, which is repaired later
			continue
		}
		if position >= tx.cat.LoadedNodes {
			var id string
			there, err := snapshot.Find(tx.records(), dict.AddedNodeKey(tx.cat.Graph, v), func(body []byte) error {
				id = string(body)
				return nil
			})
			if !there && err == nil {
				add(v)
			}
			// that node had the id before
			if at, err := tx.dict().Position(id); there && err == nil && 0 <= at && at < tx.cat.LoadedNodes {
				if former, err := tx.dict().NodeAt(at); err == nil {
					add(former)
				}
			}
			continue
		}
		id, err := ids.AtPosition(position)
		if err != nil {
			continue
		}
		if id == "" {
			add(v)
			continue
		}
		if at, err := tx.dict().Position(id); err == nil && at != position { // an added node has the id
			add(v)
		}
	}
	return set, bad, nil
}
