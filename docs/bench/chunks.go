package main

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// writeFile generates a file and says how many bytes it has. A file that fails is removed.
func writeFile(ctx context.Context, path string, file chunkedFile) (size int64, err error) {
	out, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err = errors.Join(err, out.Close()); err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	if _, err := out.Write(file.header); err != nil {
		return 0, err
	}
	if err := writeChunks(ctx, out, file.chunks, file.fill); err != nil {
		return 0, err
	}
	return out.Seek(0, io.SeekCurrent)
}

// writeChunks fills chunks 0, 1, … on all processors and writes them in order. It holds a few chunks at a time.
func writeChunks(ctx context.Context, out io.Writer, chunks int, fill func(dst []byte, chunk int) []byte) error {
	workers := runtime.GOMAXPROCS(0)
	// A worker takes a buffer before it takes a chunk, so the chunks under way are never more than the buffers, and
	// each has a place of its own among the filled.
	free := make(chan []byte, 2*workers)
	filled := make([]chan []byte, 2*workers) // chunk i is at i mod the length
	for i := range filled {
		filled[i] = make(chan []byte, 1)
		free <- nil
	}
	ctx, cancel := context.WithCancel(ctx)
	var next atomic.Int64
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	for range workers {
		wait.Go(func() {
			for {
				var buf []byte
				select {
				case buf = <-free:
				case <-ctx.Done():
					return
				}
				chunk := int(next.Add(1) - 1)
				if chunk >= chunks {
					return
				}
				filled[chunk%len(filled)] <- fill(buf[:0], chunk)
			}
		})
	}
	for chunk := range chunks {
		select {
		case buf := <-filled[chunk%len(filled)]:
			if _, err := out.Write(buf); err != nil {
				return err
			}
			free <- buf
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
