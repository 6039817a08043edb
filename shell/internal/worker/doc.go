// Package worker does single steps of a cleaning for another program, such as an executor of Apache Spark: it reads
// frames from one stream, computes one operation, and writes frames to another. It knows nothing of clusters and files,
// and of stores only that they are not here.
//
// # The stream
//
// A job frame names the operation and its parameters. Frames with data follow. Where the operation works group by
// group, a group frame comes before the frames of each group. An end frame has the number of all frames between the job
// and itself, so that a stream that breaks off is found. The output has frames with results and an end frame. See
// [Frame] for the bytes.
//
// A frame is made once. It may pass through shuffles and files before another worker reads it: its checksum covers the
// whole way.
//
// # Places
//
// Nodes have numbers from 0, cut in ranges. A place in a range is a local row. Frames about nodes cover at most one
// chunk, which is [Job.Chunk] rows of a range. A block is the part of the adjacency between the rows of one range and
// the columns of another.
//
// # The operations
//
//	arcs       sorted edges of a block → the arcs of the block; and its row sums
//	multiply   arcs of blocks of one column range, rows of that range → partial sums of rows
//	add        partial sums of a chunk, in the order of blocks → strengths (degrees), rows of S_k Y, agreement
//	           features, rows for the next hop, or diagonals
//	triangles  arcs of three blocks → partial sums of the diagonal of the third power
//	census     labels and splits of all nodes → splits, the sample of the label model, counts
//	fit        features of the sample → the label model
//	score      features of nodes → scores and suggestions
//
// The mathematics is that of packages ops and cleaner. Job.Memory bounds the memory of a worker.
package worker
