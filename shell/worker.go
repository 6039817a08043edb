package shell

import (
	"context"
	"fmt"

	"github.com/graphcleaner/graphcleaner/shell/internal/worker"
)

// workerCommand does steps of a cleaning for another program.
type workerCommand struct{}

func (*workerCommand) Help() string {
	return `Reads a job and its data from standard input, and writes the results to standard output. Both are frames: blocks of bytes with a version and a checksum. ` +
		`The executors of Apache Spark run it: see interop/spark. It opens no store and no network connection.`
}

func (*workerCommand) Run(ctx context.Context, s *streams) error {
	if err := worker.Run(ctx, build(), s.in, s.out); err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	return nil
}
